"""A memory folder of Claude Code: files, their index, and their times."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agents_files import bytes_of, consolidate, content, mirrored, recorded, texts_in
from builders import NOW, a_decision, a_memory, a_run, changing, decide
from cli_calls import Cli
from model_nights import latest_port, served
from model_server import answering, approval
from nights import unchanged
from places import FORMATS

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.formats.known_formats import recognised
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import timestamp
from slowwave.store.vectors import to_blob

SAMPLE = FORMATS / "claude-code" / "memory"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide a folder as Claude Code writes it."""
    (tmp_path / "project").mkdir()
    return recorded("claude-code", tmp_path / "project" / "memory")


@pytest.fixture
def model() -> Iterator[tuple[str, ...]]:
    """Provide the options that name a model which knows the latest port of billing."""
    with served(answering(latest_port, approval)) as options:
        yield options


def index(folder: Path) -> list[str]:
    return (folder / "MEMORY.md").read_text().splitlines()


def test_only_a_folder_of_claude_code_is_recognized(folder: Path, tmp_path: Path) -> None:
    assert [item.name for item in recognised(folder)] == ["claude-code"]
    assert recognised(tmp_path) == []


@pytest.mark.parametrize(("mark", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n")])
def test_a_byte_order_mark_and_crlf_stay_as_they_were(
    mark: bytes, end: bytes, folder: Path, tmp_path: Path, cli: Cli, model: tuple[str, ...]
) -> None:
    plain = recorded("claude-code", tmp_path / "plain")
    for file in folder.glob("*.md"):
        file.write_bytes(mark + file.read_bytes().replace(b"\n", end))
    before = bytes_of(folder)
    assert texts_in("claude-code", folder) == texts_in("claude-code", plain)
    consolidate(cli, "claude-code", folder, *model)
    consolidate(cli, "claude-code", plain, *model)
    assert bytes_of(folder) == {
        name: mark + text.replace(b"\n", end) for name, text in bytes_of(plain).items()
    }
    assert bytes_of(folder).keys() < before.keys()
    cli("undo", folder).ends(0)
    assert bytes_of(folder) == before


def test_the_index_has_a_line_per_memory(folder: Path, cli: Cli, model: tuple[str, ...]) -> None:
    consolidate(cli, "claude-code", folder, *model)
    files = {item.name for item in folder.glob("*.md")} - {"MEMORY.md", "notes.md"}
    assert len(files) == len(index(folder)) == 6
    assert all(any(f"({name})" in line for line in index(folder)) for name in files)
    note = next(item for item in folder.glob("*.md") if "slowwave: true" in item.read_text())
    before = (SAMPLE / note.name).read_text()
    assert note.name == "billing-port-9090.md"
    front, _, text = before.rpartition("\n---\n\n")
    new = text.replace("9090 now.", "9090.")
    assert note.read_text() == f"{front}\n  slowwave: true\n---\n\n{new}"
    # Its line is still true.
    line = "- [Billing port 9090](billing-port-9090.md) — Billing listens on port 9090 now."
    assert line in index(folder)


def test_notes_about_the_user_with_reasons_or_with_links_stay(folder: Path, cli: Cli) -> None:
    before = content(folder)
    consolidate(cli, "claude-code", folder)
    after = content(folder)
    for name in ("dark-mode.md", "dark-mode-again.md", "second-reader.md", "refunds.md"):
        assert after[name] == before[name]
    assert after["notes.md"] == before["notes.md"]


def test_memories_are_shown_with_their_files(folder: Path, cli: Cli) -> None:
    shutil.copy(folder / "second-reader.md", folder / "copied.md")
    planned = cli("maintain", folder, "--format", "claude-code", "--dry-run")
    assert " refunds-2.md: Refunds need a second signature" in planned.out
    done = cli("maintain", folder, "--format", "claude-code", "--json").json
    gone = {name for name in done["files"].values() if not (folder / name).exists()}
    assert gone >= {"refunds-2.md"} and len(gone & {"second-reader.md", "copied.md"}) == 1
    section = planned.out.partition("Left unchanged:")[2].partition("\n\n")[0]
    assert "1 of several lines" in section and not any(name in section for name in gone)
    assert "refunds.md: Refunds need" in cli("list", folder).out
    assert cli("show", folder, "refunds-2.md", "--json").json["memory"]["status"] == "superseded"
    assert cli("show", folder, "refunds", "--json").json["memory"]["source"] == "refunds.md"


def test_undo_restores_files_and_times(folder: Path, cli: Cli, model: tuple[str, ...]) -> None:
    with unchanged(content, folder):
        before = content(folder)
        run = consolidate(cli, "claude-code", folder, *model)
        assert content(folder) != before
        assert cli("undo", folder, run).code == 0


def test_each_proposal_can_be_undone_alone(folder: Path, cli: Cli, model: tuple[str, ...]) -> None:
    before = content(folder)
    run = consolidate(cli, "claude-code", folder, *model)
    for proposal in cli("log", folder, run, "--json").json["proposals"]:
        assert cli("undo", folder, proposal["id"]).code == 0
    after = content(folder)
    assert sorted(index(folder)) == sorted((SAMPLE / "MEMORY.md").read_text().splitlines())
    assert {**after, "MEMORY.md": 0} == {**before, "MEMORY.md": 0}


def test_undo_restores_the_place_of_a_line(folder: Path, cli: Cli, model: tuple[str, ...]) -> None:
    before = index(folder)
    run = consolidate(cli, "claude-code", folder, *model)
    for gone in cli("list", folder, "--status", "superseded", "--json").json["memories"]:
        assert cli("undo", folder, gone["id"]).code == 0
        assert [item for item in index(folder) if item in before] == [
            item for item in before if item in index(folder)
        ]
    assert cli("undo", folder, run).code == 0
    assert index(folder) == before


def test_a_new_file_with_the_same_name_prevents_undo(folder: Path, cli: Cli) -> None:
    run = consolidate(cli, "claude-code", folder)
    name = next(item for item in SAMPLE.glob("*.md") if not (folder / item.name).exists()).name
    front = (SAMPLE / name).read_text().split("---\n")[1]
    (folder / name).write_text(f"---\n{front}---\n\nBilling has moved to Oulu.\n")
    cli("undo", folder, run).ends(1, name)
    assert "Oulu" in (folder / name).read_text()


@pytest.mark.parametrize(
    ("file", "link"),
    [
        ("notes.md", "See [[port-of-billing]]."),
        ("notes.md", "See [the port](port-of-billing.md#why)."),
        ("runbook.md", "It stands in ~/.claude/projects/wiki/memory/port-of-billing.md, too."),
        ("MEMORY.md", "Everything about ports: [[port-of-billing]]"),
    ],
)
def test_linked_memories_are_kept_and_named(folder: Path, cli: Cli, file: str, link: str) -> None:
    linking = folder / file
    linking.write_text(f"{linking.read_text().rstrip()}\n{link}\n")
    before = content(folder)
    ended = cli("maintain", folder, "--format", "claude-code").ends(0)
    (line,) = [line for line in ended.out.splitlines() if "that other files link to" in line]
    assert "port-of-billing.md" in line
    assert content(folder)["port-of-billing.md"] == before["port-of-billing.md"]
    assert "billing-port.md" not in content(folder)


def test_undo_may_exceed_the_session_limit(folder: Path, cli: Cli, model: tuple[str, ...]) -> None:
    run = consolidate(cli, "claude-code", folder, *model)
    lines = (folder / "MEMORY.md").read_text()
    added = "".join(f"- [Note {number}](elsewhere-{number}.md) — a note\n" for number in range(194))
    (folder / "MEMORY.md").write_text(lines + added)
    assert len(index(folder)) == 200
    cli("undo", folder, run).ends(0)
    assert len(index(folder)) > 200
    assert (folder / "port-of-billing.md").exists()


def test_a_line_above_the_session_limit_is_undone(folder: Path, embedder: SentenceEmbedder) -> None:
    lines = (folder / "MEMORY.md").read_text().splitlines(keepends=True)
    more = [f"- [Note {n}](elsewhere-{n}.md) — a note\n" for n in range(200 - len(lines))]
    (folder / "MEMORY.md").write_text("".join([*lines, *more]))
    with unchanged(content, folder):
        mirror = mirrored(folder)
        write_rule(mirror.state, embedder)
        stale = mirror.settle(NOW)
        assert list(stale) == ["proposal-1"]
        assert "the limit of its agent is 200" in stale["proposal-1"]
    assert mirror.settle(NOW) == {}


def write_rule(state: Path, embedder: SentenceEmbedder) -> None:
    """Add a rule to a mirror, as run-1, that replaces nothing."""
    a_run(state)
    with changing(state) as file:
        changes = ProposalChanges(file, "run-1", "proposal-1", timestamp(NOW))
        rule = a_memory("rule", "Ask before each release.", tenant="feedback", generation=1)
        changes.insert_memory(rule, "m", to_blob(embedder.encode([rule.content])[0]))
    decide(state, a_decision(operation="extract", derived="rule", tenant="feedback"))


def with_another_front(folder: Path) -> None:
    for item in folder.glob("*.md"):
        if item.name != "MEMORY.md":
            item.write_text(item.read_text().replace("  type: ", "  kind: "))


OTHER_VERSIONS: dict[str, tuple[Callable[[Path], object], str]] = {
    "front matter": (with_another_front, "billing-port-9090.md"),
    "index of titles": (
        lambda folder: (folder / "MEMORY.md").write_text("# Memory\n\n- Billing port: 8080\n"),
        "MEMORY.md does not list memories",
    ),
    "index as a table": (
        lambda folder: (folder / "MEMORY.md").write_text(
            "| file | what |\n|---|---|\n| billing-port | 8080 |\n"
        ),
        "MEMORY.md does not list memories",
    ),
}


@pytest.mark.parametrize("what", OTHER_VERSIONS)
def test_a_folder_of_another_version_is_refused(what: str, folder: Path, cli: Cli) -> None:
    make, sentence = OTHER_VERSIONS[what]
    make(folder)
    before = content(folder)
    for more in ((), ("--dry-run",)):
        cli("maintain", folder, "--format", "claude-code", *more).ends(10, sentence, "2.1.330")
        assert content(folder) == before


@pytest.mark.parametrize(
    ("key", "new"), [("  type: project", "  type: decision"), ("name: ", "weight: 3\nname: ")]
)
def test_a_file_of_another_version_is_kept(key: str, new: str, folder: Path, cli: Cli) -> None:
    path = folder / "port-of-billing.md"
    path.write_text(path.read_text().replace(key, new, 1))
    before = content(folder)["port-of-billing.md"]
    ended = cli("maintain", folder, "--format", "claude-code").ends(0)
    section = ended.out.partition("Left unchanged:")[2].partition("\n\n")[0]
    (line,) = [line for line in section.splitlines() if "port-of-billing.md" in line]
    assert "2.1.330" in line
    assert content(folder)["port-of-billing.md"] == before


def test_undo_deletes_an_index_that_a_run_created(folder: Path, cli: Cli) -> None:
    (folder / "MEMORY.md").unlink()
    with unchanged(bytes_of, folder):
        run = consolidate(cli, "claude-code", folder)
        assert cli("undo", folder, run).code == 0


def test_an_undo_names_dangling_links(folder: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    mirror = mirrored(folder)
    write_rule(mirror.state, embedder)
    mirror.settle(NOW)
    name = "ask-before-each-release"
    linking = f"See [[{name}]] and [[nowhere]].\n"
    (folder / "notes.md").write_text(linking)
    assert "now: nowhere" not in cli("undo", folder).ends(0, f"is broken now: {name}\n").err
    assert (folder / "notes.md").read_text() == linking


def test_a_file_of_the_folder_is_refused_with_a_hint(folder: Path, cli: Cli) -> None:
    for name in ("MEMORY.md", "refunds.md"):
        ended = cli("maintain", folder / name, "--dry-run").ends(2)
        assert f"Specify the folder: {folder}" in " ".join(ended.err.split())
