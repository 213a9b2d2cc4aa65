"""Text files of other agents: recognized, consolidated, and restored to the byte."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest
import readme
from agents_files import RECORDED, SAMPLES, consolidate
from cli_calls import Cli
from disturbed import assert_kills_leave_all_or_nothing
from model_nights import SMOKE, latest_port, served
from model_server import answering, approval
from nights import of_one_thing, picture, unchanged
from places import FORMATS

from slowwave.extensions.formats.known_formats import own_formats, recognised
from slowwave.store.file import create_file

# The text of two duplicates in each of them.
DUPLICATE = {
    "mcp-server-memory": "Billing listens on port 8080",
    "hermes": "Billing listens on port 8080",
    "markdown": "User prefers dark mode in every editor",
}

# What its agent adds.
ADDED: dict[str, Callable[[str], str]] = {
    "mcp-server-memory": lambda text: text.replace(
        '"Is allergic to celery"', '"Is allergic to celery","Plays the tuba"'
    ),
    "hermes": lambda text: f"{text}\n§\nPlays the tuba",
    "markdown": lambda text: text.replace("- Works from", "- Plays the tuba\n- Works from"),
}


@pytest.fixture(params=SAMPLES)
def name(request: pytest.FixtureRequest) -> str:
    """Provide the name of a format."""
    return str(request.param)


@pytest.fixture
def path(name: str, tmp_path: Path) -> Path:
    """Provide a file of the format in a folder of its own."""
    shutil.copytree(FORMATS / name, tmp_path / "agent")
    return tmp_path / "agent" / SAMPLES[name]


def of(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a test for files of these formats only."""
    return pytest.mark.parametrize("name", names)


def state_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.slowwave.db")


@pytest.mark.parametrize("content", [b"", b"\n", b"\x89PNG\r\n\x1a\n\0\0", b"[1, 2]\n", b"{}\n"])
def test_no_format_recognizes_other_files(tmp_path: Path, content: bytes) -> None:
    for name in ("memory.jsonl", "MEMORY.md", "notes.txt"):
        (tmp_path / name).write_bytes(content)
        assert recognised(tmp_path / name) == []
    assert recognised(tmp_path) == []
    create_file(tmp_path / "own.db")
    assert recognised(tmp_path / "own.db") == []


def test_the_first_run_that_writes_must_name_the_format(name: str, path: Path, cli: Cli) -> None:
    with unchanged(path.read_bytes):
        cli("maintain", path).ends(2, f"--format {name}")
    assert not state_of(path).exists()


def test_only_lines_of_memories_are_removed(name: str, path: Path, cli: Cli) -> None:
    before = path.read_text()
    consolidate(cli, name, path)
    after = path.read_text()
    if name == "markdown":
        gone = set(before.splitlines()) - set(after.splitlines())
        assert all(line[:2] in ("- ", "* ") for line in gone)
        assert before[before.index("- The ledger") :] == after[after.index("- The ledger") :]
        assert "- Billing listens on port 8080. <!-- importance: 8 -->\n" in after
    if name == "mcp-server-memory":
        assert before.splitlines()[3] == after.splitlines()[3]
        assert "Is allergic to celery" in after
    assert "9090" in after and "8080" in after


@of("mcp-server-memory")
def test_nothing_is_merged_across_tenants(name: str, path: Path, cli: Cli) -> None:
    consolidate(cli, name, path)
    graph = [json.loads(line) for line in path.read_text().splitlines()]
    prefers = [item["name"] for item in graph[:3] if "Prefers morning meetings" in str(item)]
    assert prefers == ["Helvi", "Aino"]


@of("markdown")
def test_without_dates_a_later_line_is_not_newer(name: str, path: Path, cli: Cli) -> None:
    with served(answering(latest_port, approval)) as model:
        done = cli("maintain", path, "--format", name, "--json", *model).json
    assert "update" not in {proposal["operation"] for proposal in done["proposals"]}
    assert "1970" not in path.read_text()
    assert {"8080", "9090"} in [set(conflict["values"]) for conflict in done["conflicts"]]


def test_each_proposal_can_be_undone_alone(name: str, path: Path, cli: Cli) -> None:
    before, mode = path.read_bytes(), path.stat().st_mode
    run = consolidate(cli, name, path)
    after = path.read_bytes()
    assert cli("undo", path, run, "--dry-run").code == 0
    assert path.read_bytes() == after != before
    proposals = cli("log", path, run, "--json").json["proposals"]
    for number, item in enumerate(proposals, start=1):
        assert cli("undo", path, item["id"]).code == 0
        assert (path.read_bytes() == before) == (number == len(proposals))
    assert path.stat().st_mode == mode


def test_undo_leaves_what_the_agent_added_since(name: str, path: Path, cli: Cli) -> None:
    before = path.read_text()
    run = consolidate(cli, name, path)
    path.write_text(ADDED[name](path.read_text()))
    assert cli("undo", path, run).code == 0
    assert path.read_text() == ADDED[name](before)


def test_undo_leaves_what_the_agent_changed_since(name: str, path: Path, cli: Cli) -> None:
    run = consolidate(cli, name, path)
    edited = f"{DUPLICATE[name]}, mostly"
    path.write_text(path.read_text().replace(DUPLICATE[name], edited, 1))
    assert cli("undo", path, run).code == 0
    assert path.read_text().count(edited) == 1
    assert path.read_text().count(DUPLICATE[name]) >= 2


def test_undo_keeps_an_edited_text(tmp_path: Path, cli: Cli, scripted: tuple[str, ...]) -> None:
    path = tmp_path / "memory.jsonl"
    entity = {"type": "entity", "name": "on call", "entityType": "team"}
    path.write_text(json.dumps(entity | {"observations": of_one_thing()}))
    run = consolidate(cli, "mcp-server-memory", path, *scripted)
    (derived,) = json.loads(path.read_text())["observations"]
    path.write_text(json.dumps(entity | {"observations": [derived.replace("the", "a")]}))
    with unchanged(path.read_bytes):
        refused = cli("undo", path, run).ends(1, "was changed after the run: its agent edited")
    assert f"'{derived[:20]}" in refused.err
    assert "archived" not in refused.err


def test_duplicates_written_again_are_merged_again(name: str, path: Path, cli: Cli) -> None:
    consolidate(cli, name, path)
    short = path.read_bytes()
    path.write_bytes((FORMATS / name / SAMPLES[name]).read_bytes())
    done = cli("maintain", path, "--json").json
    assert done["proposals"]
    assert sorted(path.read_text()) == sorted(short.decode())


def test_undo_of_each_memory_restores_the_file(name: str, path: Path, cli: Cli) -> None:
    with unchanged(path.read_bytes):
        consolidate(cli, name, path)
        for gone in cli("list", path, "--status", "superseded", "--json").json["memories"]:
            assert cli("undo", path, gone["id"]).code == 0


@of("markdown")
def test_an_error_about_a_memory_names_the_agents_file(path: Path, cli: Cli) -> None:
    for command in (["show"], ["show", "--lineage"], ["log"], ["log", "--diff"]):
        cli(*command, path, "01234567").ends(1, f"in {path}.")


@of("markdown")
def test_reading_commands_see_the_latest_text(name: str, path: Path, cli: Cli) -> None:
    run = consolidate(cli, name, path)
    path.write_text(ADDED[name](path.read_text()))
    with unchanged(picture, state_of(path)):
        for command in ("list", "export"):
            assert "Plays the tuba" in cli(command, path).out
        (memory,) = cli("list", path, "--contains", "tuba", "--json").json["memories"]
        for reading in (
            *(["log", "--stats"], ["check"], ["conflicts"], ["log"], ["log", "--diff", run]),
            *(["log", run], ["show", "--lineage", memory["id"]], ["show", memory["id"]]),
        ):
            assert cli(*reading[:1], path, *reading[1:]).code == 0


@of("markdown")
def test_an_approval_that_is_killed_can_be_repeated(
    name: str, path: Path, cli: Cli, rounds: Callable[[int, int], int]
) -> None:
    cli("maintain", path, "--format", name, "--review", "always")
    command = ["review", "approve", str(path), "--all", "--json"]
    assert_kills_leave_all_or_nothing(cli, command, path, path.read_bytes, rounds)


@of("hermes")
def test_maintain_exits_11_for_a_locked_file(
    name: str, path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowwave.extensions.formats.hermes._SECONDS", 0.2)
    with unchanged(path.read_bytes), filelock.FileLock(f"{path}.lock"):
        cli("maintain", path, "--format", name).ends(11, "locked by its agent")


@pytest.mark.parametrize(
    ("format", "file", "content", "message"),
    [
        ("hermes", "MEMORY.md", "one\n§\n two", "not in Hermes' format"),
        ("hermes", "MEMORY.md", "\udcff", "UTF-8"),
        ("markdown", "CLAUDE.md", "- Use tabs.\n- Use tabs\n", "instructions"),
        ("markdown", "AGENTS.md", "- Use tabs.\n- Use tabs\n", "instructions"),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, cli: Cli, format: str, file: str, content: str, message: str
) -> None:
    path = tmp_path / file
    path.write_bytes(content.encode(errors="surrogateescape"))
    with unchanged(path.read_bytes):
        cli("maintain", path, "--format", format).ends(10, message)
    # So that the right format can still be named.
    assert not state_of(path).exists()


def test_the_wrong_format_is_refused(name: str, path: Path, tmp_path: Path, cli: Cli) -> None:
    with unchanged(path.read_bytes):
        for item in sorted({*own_formats()} - {name}):
            ended = cli("maintain", path, "--format", item).ends(2)
            assert name in ended.err or "read-only" in ended.err
            assert cli("import", tmp_path / "own.db", path, "--from", item).code == 2
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    assert not (tmp_path / "own.db").exists()
    cli("maintain", path, "--format", "frob").ends(1, "mcp-server-memory")
    consolidate(cli, name, path)


@of("hermes")
def test_the_mirror_may_be_elsewhere(name: str, path: Path, tmp_path: Path, cli: Cli) -> None:
    files = {item.name for item in path.parent.iterdir()} | {f"{path.name}.lock"}
    state = tmp_path / "elsewhere.db"
    with unchanged(path.read_bytes):
        ended = cli("maintain", path, "--format", name, "--state", state, "--json").ends(0)
        assert {item.name for item in path.parent.iterdir()} <= files
        assert cli("undo", path, ended.json["run"], "--state", state).code == 0


def test_only_its_own_format_recognizes_a_file(name: str, path: Path, cli: Cli) -> None:
    assert {*RECORDED} == {*own_formats()}
    listed = {format["name"] for format in cli("formats", "--json").json["formats"]}
    assert listed == {*RECORDED, "table"}
    assert [format["name"] for format in cli("formats", path, "--json").json["formats"]] == [name]


def test_formats_has_a_command_for_an_unknown_file(tmp_path: Path, cli: Cli) -> None:
    notes = tmp_path / "NOTES.md"
    notes.write_text("- Helvi settles the invoices.\n- helvi settles the invoices\n")
    command = f"slowwave maintain {notes} --format markdown --dry-run"
    assert cli("formats", notes).ends(10, command).out == ""
    assert cli(*command.split()[1:]).code == 0
    assert f"slowwave formats {notes}" in cli("add", notes, "A text.").err
    assert cli("maintain", notes, "--format", "markdown").code == 0
    assert "mirrored as markdown. This command takes only" in cli("add", notes, "A text.").err
    latin = tmp_path / "latin.md"
    latin.write_text("- Zoë settles the invoices.\n", "latin-1")
    cli("formats", latin).ends(10, "is not valid UTF-8", "save it as UTF-8")


def test_formats_explains_that_a_memory_file_takes_no_format(memory_file: Path, cli: Cli) -> None:
    cli("formats", memory_file).ends(0).says("does not take --format")
    cli("formats", memory_file.with_name("missing.db")).ends(10, "There is no file")
    cli("formats", "x" * 300).ends(10, "File name too long")


def test_hints_name_no_command_that_only_memory_files_accept(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "MEMORY.md").write_text("- The bakery opens at seven.\n")
    ended = cli("rules", tmp_path / "MEMORY.md")
    assert "contains no rules" in ended.err and "slowwave add" not in ended.err


DIST = "lines-0.1.dist-info"


def test_a_package_adds_a_format(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code, _ = readme.example("plugin").split("```")
    package = tmp_path / "package"
    (package / DIST).mkdir(parents=True)
    (package / "lines_format.py").write_text(code.removeprefix("python\n"))
    (package / DIST / "METADATA").write_text("Name: lines\nVersion: 0.1\n")
    declared = "[slowwave.formats]\nlines = lines_format:Lines\n"
    (package / DIST / "entry_points.txt").write_text(declared)
    monkeypatch.syspath_prepend(package)
    path = tmp_path / "notes.txt"
    path.write_text("Billing listens on port 8080.\nBilling listens on port 8080\n9090 is free\n")
    assert "lines" in cli("formats").out
    _, trial, _ = readme.example("trial").split("```")
    variables: dict[str, object] = {"path": path}
    exec(f"{code.removeprefix('python')}\n{trial.removeprefix('python')}", variables)  # noqa: S102 - our own page
    with unchanged(path.read_text):
        run = consolidate(cli, "lines", path)
        assert path.read_text() == "Billing listens on port 8080\n9090 is free\n"
        assert cli("undo", path, run).code == 0


@of("hermes", "markdown")
def test_the_report_compares_the_size_with_the_limit(name: str, path: Path, cli: Cli) -> None:
    done = cli("maintain", path, "--format", name, "--json").json
    budget = done["budget"]
    assert budget["used"] < budget["before"] < budget["most"]
    unit, most = {"hermes": ("characters", 2_200), "markdown": ("lines", 200)}[name]
    assert (budget["unit"], budget["most"]) == (unit, most)
    assert (
        f"The limit of the agent is {most:,} {unit} of MEMORY.md, which has"
        in cli("maintain", path).out
    )


def test_a_foreign_file_can_be_imported(name: str, path: Path, tmp_path: Path, cli: Cli) -> None:
    with unchanged(path.read_bytes):
        ended = cli("import", tmp_path / "own.db", path, "--from", name, "--json").ends(0)
        memories = cli("list", tmp_path / "own.db", "--json").json
        assert ended.json["imported"] == memories["count"] > 3
    assert not state_of(path).exists()


def test_add_and_import_refuse_an_agents_file(name: str, path: Path, cli: Cli) -> None:
    with unchanged(path.read_bytes):
        for command in (["add", path, "Plays the tuba"], ["import", path, SMOKE]):
            cli(*command).ends(2, name)


@of("markdown")
def test_a_link_to_a_file_stays_a_link(name: str, path: Path, tmp_path: Path, cli: Cli) -> None:
    linked = tmp_path / "linked.md"
    linked.symlink_to(path)
    with unchanged(path.read_bytes):
        run = consolidate(cli, name, path)
        assert cli("maintain", linked, "--json").json["proposals"] == []
        assert linked.is_symlink()
        assert cli("undo", linked, run).code == 0
    assert linked.is_symlink()


@pytest.mark.parametrize("more", [(), ("--format", "markdown")])
def test_a_pipe_is_not_a_file(more: tuple[str, ...], tmp_path: Path, cli: Cli) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        cli("maintain", path, "--dry-run", *more).ends(10, "not a file")
