"""Facts that only the index or a description contains are kept when files are merged."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from agents_files import bytes_of, mirrored, modes_of, write_note
from builders import NOW, a_decision, a_run, changing, decide
from cli_calls import Cli
from hypothesis import given
from hypothesis import strategies as st
from model_nights import served
from model_server import Answer, Asked, answering, approval, group, groups
from nights import rows, unchanged

from slowwave.extensions.formats.claude_code_carried import revised
from slowwave.extensions.formats.claude_code_files import says
from slowwave.extensions.formats.mirror.mirror import Mirror, default_state
from slowwave.store.file import open_reading, open_writing
from slowwave.store.memories import read_memories
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import timestamp
from slowwave.store.undo.undo import undo_runs

BILLING = "Billing is deployed with make ship-billing from port 8080."
# Descriptions and lines, with and without what the text says.
WORDS = (
    "deployed with make ship-billing",
    "make ship-billing; ask Tove at extension 4417 first",
    'who to ask: "call Ann"',
    "Never on Sundays. Billing is on port 8080.",
    "",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "memory"
    path.mkdir(parents=True)
    return path


def test_the_line_of_a_removed_file_moves_to_the_kept_one(folder: Path, cli: Cli) -> None:
    write_note(folder, "pager", 1, "Helvi has the pager.", "Helvi has the pager; backup is Ann")
    write_note(folder, "pager_old", 2, "Helvi has the pager.", "the pager")
    (folder / "MEMORY.md").write_text("# Index\n\n- [Pager](pager.md) — who has the pager")
    with unchanged(bytes_of, folder):
        cli("maintain", folder, "--format", "claude-code").ends(0)
        assert not (folder / "pager.md").exists()
        line = "- [Pager](pager_old.md) — Helvi has the pager; backup is Ann"
        assert (folder / "MEMORY.md").read_text() == f"# Index\n\n{line}"
        assert "nothing to do" in cli("maintain", folder).out
        assert cli("undo", folder).code == 0


def test_an_update_keeps_facts_of_lines_and_marks_replaced_ones(folder: Path, cli: Cli) -> None:
    now = f"{BILLING.replace('8080.', '9090')} now."
    write_note(folder, "ports", 1, "Billing is on port 8080.", "port 8080, firewall rule 77")
    write_note(folder, "billing", 2, now, "make ship-billing; ask Tove at extension 4417 first")
    (folder / "MEMORY.md").write_text(
        "- [Billing](billing.md) — ship-billing from port 8080, ask Tove at extension 4417\n"
        "- [Billing](billing.md) — deployed with make ship-billing\n"
        "- [Billing](billing.md) — deployed with make ship-billing\n"
        "- [Ports](ports.md) — Billing is on port 8080"
    )
    new = "Billing is deployed with make ship-billing from port 9090."

    def joining(asked: Asked) -> Answer:
        return groups(group("update", asked.memories, new))

    with unchanged(bytes_of, folder):
        with served(answering(joining, approval)) as options:
            cli("maintain", folder, "--format", "claude-code", *options).ends(0)
        (survivor,) = set(bytes_of(folder)) - {"MEMORY.md"}
        named = rows(default_state(folder), "SELECT source FROM memories WHERE status = 'active'")
        assert named == [{"source": survivor}]  # so the next run has nothing to write
        index = (folder / "MEMORY.md").read_text().splitlines()
        assert index[0].endswith(
            f"{new} Before - ship-billing from port 8080, ask Tove at extension 4417"
        )
        # It is still true, and is not shortened.
        assert index[1].endswith("— deployed with make ship-billing")
        assert all(f"({survivor})" in line for line in index)
        assert len(set(index)) == len(index)
        rest = "\n".join(index) + (folder / survivor).read_text()
        assert "4417 first" in rest and "firewall rule 77" in rest
        assert cli("undo", folder).code == 0


def merged(folder: Path, lines: str, body: str = BILLING) -> Mirror:
    """Merge a.md into b.md, which has the text."""
    write_note(folder, "a", 1, "Billing is on port 8080.", "Ask Tove at extension 4417")
    write_note(folder, "b", 2, body, "the service")
    (folder / "MEMORY.md").write_bytes(lines.encode())
    mirror = mirrored(folder)
    merge(mirror, "b.md", ["a.md"])
    return mirror


@pytest.mark.parametrize("own", ["", "- [Billing](b.md) — on port 8080\n"])
def test_forget_deletes_what_was_moved_to_another_line(own: str, folder: Path, cli: Cli) -> None:
    mirror = merged(folder, f"{own}- [Build](a.md) — Password is hunter2-xyz.\n")
    index = (folder / "MEMORY.md").read_text()
    assert "hunter2-xyz" in index and "4417" in index
    with open_reading(mirror.state) as file:
        (gone,) = (memory for memory in read_memories(file) if memory.status != "active")
    assert cli("forget", folder, gone.id, "--yes").code == 0
    index = (folder / "MEMORY.md").read_text()
    assert "hunter2-xyz" not in index and "4417" not in index and index.count("(b.md)") == 1
    assert not any(b"hunter2-xyz" in path.read_bytes() for path in folder.parent.glob("*.db*"))


def test_a_merge_and_a_later_correction_can_be_undone_in_order(folder: Path, cli: Cli) -> None:
    lines = "# Index\n\n- [Billing](b.md) — the service\n- [Build](a.md) — ask Ola first\n"
    mirror = merged(folder, lines)
    with open_reading(mirror.state) as file:
        (fact,) = read_memories(file, status="active")
    done = cli("correct", folder, fact.id, "--text", "Billing is on port 9090.", "--json").ends(0)
    for run in (done.json["run"], "run-1"):
        undo(mirror, run)
    assert (folder / "MEMORY.md").read_text() == lines


@pytest.mark.parametrize(
    ("line", "carried"),
    [
        ("[Build](a.md) — Do not deploy on Fridays.", "Do not deploy on Fridays."),
        ("[Never restart runner-9; ask Ola](a.md) — port 8080", "Never restart runner-9; ask Ola"),
    ],
)
def test_a_line_that_no_sentence_contains_is_kept(line: str, carried: str, folder: Path) -> None:
    body = "Deploy on Fridays is allowed for hotfixes. Do not restart db-1. Billing has port 8080."
    merged(folder, f"- [Billing](b.md) — the service\n- {line}\n", body)
    assert carried in (folder / "MEMORY.md").read_text()


def test_a_line_does_not_repeat_what_the_description_says(folder: Path) -> None:
    merged(folder, "- [Billing](b.md) — the service\n- [Build](a.md) — ask Tove\n")
    line = (folder / "MEMORY.md").read_text().splitlines()[1]
    assert line == "- [Build](b.md) — Ask Tove at extension 4417"


def test_a_moved_line_does_not_name_the_removed_file(folder: Path) -> None:
    merged(folder, "- [Billing](b.md) — the service\n- [a.md](a.md) — ask Ola first\n")
    line = (folder / "MEMORY.md").read_text().splitlines()[1]
    assert line == "- [Billing](b.md) — ask Ola first; Ask Tove at extension 4417"


def test_a_line_that_repeats_its_removed_file_goes(folder: Path) -> None:
    stated = "when a skill runs, read files in the base directory of the header"
    text = "When a skill runs, the header has its base directory. Read files there."
    write_note(folder, "paths", 1, text, stated)
    write_note(folder, "skills", 2, "Skills have a directory each, as the header shows.", "skills")
    lines = f"- [Skills](skills.md) — where skills are\n- [Paths](paths.md) — {stated}\n"
    (folder / "MEMORY.md").write_text(lines)
    mirror = mirrored(folder)
    merge(mirror, "skills.md", ["paths.md"])
    assert (folder / "MEMORY.md").read_text() == "- [Skills](skills.md) — where skills are\n"
    undo(mirror, "run-1")
    assert (folder / "MEMORY.md").read_text() == lines


@pytest.mark.parametrize("appended", ["", "- [D](d.md) — the kettle\n"])
def test_undo_restores_the_line_end_of_an_index(appended: str, folder: Path, cli: Cli) -> None:
    write_note(folder, "b", 1, "Billing is on port 8080.")
    index = folder / "MEMORY.md"
    index.write_text("# Index\n- [C](c.md) — it")
    before = bytes_of(folder)
    mirror = mirrored(folder)
    with open_reading(mirror.state) as file:
        (memory,) = read_memories(file)
    text = ("--text", "Billing is on port 9090.")
    done = cli("correct", folder, memory.id, *text, "--json").ends(0)
    assert "(b.md)" in index.read_text()
    if appended:
        index.write_text(f"{index.read_text().rstrip()}\n{appended}")
    undo(mirror, done.json["run"])
    assert index.read_text().endswith(appended)
    assert appended or bytes_of(folder) == before


def test_repeated_corrections_mark_a_replaced_value_once() -> None:
    ports = [f"Billing is on port {port}" for port in (8080, 9090, 7070, 6060)]
    text = "Billing is on port 8080, ask Tove"
    for old, new in pairwise(ports):
        text = revised(text, old, new)
    assert text == f"{ports[-1]} Before - Billing is on port 8080, ask Tove"


def test_a_moved_line_keeps_its_sign_and_its_line_ending(folder: Path) -> None:
    merged(folder, "# Index\r\n\r\n- [Billing](b.md) — it\r\n- [Build](a.md) — -5 degrees at most")
    lines = (folder / "MEMORY.md").read_bytes().decode().split("\n")
    assert lines[-1] == "- [Build](b.md) — -5 degrees at most; Ask Tove at extension 4417"
    assert all(line.endswith("\r") for line in lines[:-1])
    assert len(lines) == 4


LISTED = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(WORDS)), min_size=1, max_size=6)


MODES = st.lists(st.sampled_from([0o400, 0o600, 0o644, 0o664]), min_size=4, max_size=4)


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=3), LISTED, st.booleans(), MODES)
def test_a_merge_loses_no_word_and_its_undo_no_byte_and_no_mode(
    descriptions: Sequence[str],
    listed: Sequence[tuple[str, str]],
    is_ended: bool,
    modes: Sequence[int],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "memory"
        folder.mkdir()
        for day, (file, words) in enumerate(zip("abc", descriptions, strict=True), start=1):
            write_note(folder, file, day, BILLING, words)
        lines = [f"- [{file.upper()}]({file}.md) — {words}" for file, words in listed]
        (folder / "MEMORY.md").write_text("\n".join(["# Index", *lines]) + "\n" * is_ended)
        for path, mode in zip(folder.iterdir(), modes, strict=True):
            path.chmod(mode)
        with unchanged(bytes_of, folder), unchanged(modes_of, folder):
            mirror = mirrored(folder)
            merge(mirror, "b.md", ["a.md", "c.md"])
            after = bytes_of(folder)
            assert after.keys() == {"MEMORY.md", "b.md"}
            assert "(b.md)" in after["MEMORY.md"].decode()
            everything = "\n".join(text.decode() for text in after.values())
            assert all(says(everything, words) for words in (*descriptions, *dict(listed).values()))
            undo(mirror, "run-1")


def merge(mirror: Mirror, survivor: str, leaving: Sequence[str]) -> None:
    """Merge memories of files, as run-1."""
    with open_reading(mirror.state) as file:
        by_file = {memory.source: memory for memory in read_memories(file)}
    a_run(mirror.state)
    with changing(mirror.state) as file:
        changes = ProposalChanges(file, "run-1", "proposal-1", timestamp(NOW))
        changes.supersede([by_file[name] for name in leaving], by_file[survivor].id)
    sources = tuple(by_file[name].id for name in (*leaving, survivor))
    decision = a_decision(sources=sources, survivor=sources[-1], tenant="project")
    decide(mirror.state, decision)
    mirror.settle(NOW)


def undo(mirror: Mirror, run: str) -> None:
    with open_writing(mirror.state) as file:
        undo_runs(file, [run], timestamp(NOW + timedelta(hours=1)))
    mirror.settle(NOW)
