"""An agent's marks of a memory move to its successor, and back with an undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from agents_files import consolidate, content, write_note
from cli_calls import Cli
from disturbed import assert_kills_leave_all_or_nothing
from nights import of_one_thing, unchanged

# As OpenClaw's dreaming writes it.
PROMOTED = """\
# Long-Term Memory

## Promoted From Short-Term Memory (2026-04-05)

<!-- openclaw-memory-promotion:memory:memory/2026-04-03.md:5:7 -->
- Billing listens on port 8080. [score=0.856 recalls=0 avg=0.620 source=memory/2026-04-03.md:5-7]
<!-- openclaw-memory-lineage:a1 -->
<!-- openclaw-memory-promotion:memory:memory/2026-04-04.md:1:2 -->
- Billing listens on port 8080 <!-- trigger: billing, port --> <!-- importance: 8 -->
- Refunds need a second signature. <!-- importance: 9 --> <!-- project: shop -->
- Refunds need a second signature <!-- importance: 3 -->

## About the user

- User prefers dark mode in every editor <!-- trigger: editor -->
- User prefers dark mode in every editor. <!-- importance: 4 --> <!-- trigger: theme; editor -->
- Works from Tampere on Mondays
"""
CONSOLIDATED = """\
# Long-Term Memory

## Promoted From Short-Term Memory (2026-04-05)

<!-- openclaw-memory-lineage:a1 -->
<!-- openclaw-memory-promotion:memory:memory/2026-04-04.md:1:2 -->
<!-- openclaw-memory-promotion:memory:memory/2026-04-03.md:5:7 -->
- Billing listens on port 8080. [score=0.856 recalls=0 avg=0.620 source=memory/2026-04-03.md:5-7] \
<!-- importance: 8 --> <!-- trigger: billing, port -->
- Refunds need a second signature. <!-- importance: 9 --> <!-- project: shop -->

## About the user

- User prefers dark mode in every editor <!-- trigger: editor, theme --> <!-- importance: 4 -->
- Works from Tampere on Mondays
"""


@pytest.fixture
def promoted(tmp_path: Path) -> Path:
    """Provide a MEMORY.md with OpenClaw's marks."""
    path = tmp_path / "MEMORY.md"
    path.write_text(PROMOTED)
    return path


def test_the_kept_bullet_has_the_marks_of_removed_ones(promoted: Path, cli: Cli) -> None:
    run = consolidate(cli, "markdown", promoted)
    assert promoted.read_text() == CONSOLIDATED
    assert cli("maintain", promoted, "--json").json["proposals"] == []
    assert promoted.read_text() == CONSOLIDATED
    assert cli("undo", promoted, run).code == 0
    assert promoted.read_text() == PROMOTED


def test_undo_in_any_order_moves_marks(tmp_path: Path, cli: Cli, scripted: tuple[str, ...]) -> None:
    path = tmp_path / "MEMORY.md"
    marks = [" <!-- trigger: pager -->", "", "", " <!-- importance: 6 -->", "", "", "", ""]
    bullets = zip(of_one_thing(), marks, strict=True)
    text = "".join(f"- {fact}{mark}\n" for fact, mark in bullets)
    path.write_text(text)
    run = consolidate(cli, "markdown", path, *scripted)
    (line,) = path.read_text().splitlines()
    assert line.endswith(" <!-- importance: 6 --> <!-- trigger: pager -->")
    for proposal in reversed(cli("log", path, run, "--json").json["proposals"]):
        assert cli("undo", path, proposal["id"]).code == 0
    assert path.read_text() == text


@pytest.mark.parametrize("latest_first", [True, False])
def test_marks_return_night_by_night(tmp_path: Path, cli: Cli, latest_first: bool) -> None:
    path = tmp_path / "MEMORY.md"
    text = (
        "- Billing listens on port 8080. <!-- importance: 7 --> <!-- trigger: billing -->\n"
        "- Billing listens on port 8080\n"
        "* Billing listens on port 8080! <!-- importance: 9 -->\n"
        "- billing listens on port 8080. <!-- trigger: port -->\n"
    )
    again = "- Billing listens on port 8080. <!-- importance: 10 --> <!-- trigger: listens -->\n"
    path.write_text(text)
    first = consolidate(cli, "markdown", path)
    once = path.read_text()
    path.write_text(once + again)
    second = consolidate(cli, "markdown", path)
    (line,) = path.read_text().splitlines()
    assert "importance: 10" in line
    assert all(word in line for word in ("port,", "billing,", "listens -->"))
    runs = [second, first] if latest_first else [first, second]
    assert cli("undo", path, runs[0]).code == 0
    if latest_first:
        assert path.read_text() == once + again
    assert cli("undo", path, runs[1]).code == 0
    assert sorted(path.read_text().splitlines()) == sorted((text + again).splitlines())


def test_text_that_dreaming_promoted_twice_is_merged(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "MEMORY.md"
    nights = [
        f"## Promoted From Short-Term Memory (2026-04-0{day})\n\n"
        f"<!-- openclaw-memory-promotion:memory:memory/2026-04-0{day}.md:5:7 -->\n"
        f"- Billing listens on port 8080{end} [score=0.8{day} source=memory/day.md:5-7]\n"
        for day, end in ((3, "."), (4, ""))
    ]
    notes = "# Long-Term Memory\n\n## Notes\n\n- Billing listens on port 8080\n\n"
    path.write_text(notes + "\n".join(nights))
    with unchanged(path.read_text):
        run = consolidate(cli, "markdown", path)
        after = path.read_text()
        assert after.count("Billing listens on port 8080") == 2
        assert after.count("openclaw-memory-promotion") == after.count("## Promoted") == 2
        assert after.startswith(f"{notes}## ")
        assert cli("undo", path, run).code == 0


def test_undo_leaves_marks_that_the_agent_changed_since(promoted: Path, cli: Cli) -> None:
    run = consolidate(cli, "markdown", promoted)
    promoted.write_text(promoted.read_text().replace("importance: 8", "importance: 10"))
    assert cli("undo", promoted, run).code == 0
    now = promoted.read_text()
    assert now.count("Billing listens on port 8080") == 2
    assert now.count("importance: 10") == 1
    assert now.splitlines()[-3:] == PROMOTED.splitlines()[-3:]


def test_undo_of_a_memory_restores_its_marks_and_place(promoted: Path, cli: Cli) -> None:
    consolidate(cli, "markdown", promoted)
    for gone in cli("list", promoted, "--status", "superseded", "--json").json["memories"]:
        assert cli("undo", promoted, gone["id"]).code == 0
    assert promoted.read_text() == PROMOTED


def test_a_kill_moves_no_half(promoted: Path, cli: Cli, rounds: Callable[[int, int], int]) -> None:
    command = ["maintain", str(promoted), "--format", "markdown", "--json"]
    assert_kills_leave_all_or_nothing(cli, command, promoted, promoted.read_text, rounds)


# A memory of Claude Code's, with reasons below the fact.
FILES = {
    "reader": "Have a second person read changes to the pricing tables.\n\n"
    "**Why:** A wrong price was live for a day.\n**How to apply:** Ask before each merge.",
    "reader-2": "Have a second person read changes to the pricing tables\n\n"
    "**Why:** Helvi found two wrong prices.\n**How to apply:** Ask before each merge.",
    "reader-3": "Have a second person read changes to the pricing tables!",
    "tabs": "Use tabs in Makefiles.",
    "tabs-2": "Use tabs in Makefiles",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide a memory folder of Claude Code, the last files with a key of the user's own."""
    path = tmp_path / "memory"
    path.mkdir()
    for day, (name, body) in enumerate(FILES.items(), start=1):
        own = "owner: Helvi\n" if name.startswith("tabs") else ""
        write_note(path, name, day, body, "a rule", own)
    listed = "".join(f"- [{name}]({name}.md) — a rule\n" for name in FILES)
    (path / "MEMORY.md").write_text(listed)
    return path


def test_equal_facts_with_different_reasons_are_left_to_a_model(folder: Path, cli: Cli) -> None:
    with unchanged(content, folder):
        consolidate(cli, "claude-code", folder)


def test_a_file_with_a_key_of_the_users_own_stays(folder: Path, cli: Cli) -> None:
    consolidate(cli, "claude-code", folder)
    assert {"tabs.md", "tabs-2.md"} < content(folder).keys()
