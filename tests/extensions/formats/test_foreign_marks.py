"""What an agent noted about a memory goes to the one that stands for it, and back with an undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from agents_files import consolidated, content
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


def proposals(cli: Cli, path: Path, run: str) -> list[str]:
    return [proposal["id"] for proposal in cli("log", path, run, "--json").json["proposals"]]


@pytest.fixture
def promoted(tmp_path: Path) -> Path:
    """Provide a MEMORY.md with OpenClaw's marks."""
    path = tmp_path / "MEMORY.md"
    path.write_text(PROMOTED)
    return path


def test_the_bullet_that_stays_has_the_marks_of_those_that_went(promoted: Path, cli: Cli) -> None:
    run = consolidated(cli, "markdown", promoted)
    assert promoted.read_text() == CONSOLIDATED
    assert cli("maintain", promoted, "--json").json["proposals"] == []
    assert promoted.read_text() == CONSOLIDATED
    assert cli("undo", promoted, run).code == 0
    assert promoted.read_text() == PROMOTED


def test_undo_in_any_order_moves_marks(tmp_path: Path, cli: Cli, scripted: tuple[str, ...]) -> None:
    path = tmp_path / "MEMORY.md"
    marks = [" <!-- trigger: pager -->", "", "", " <!-- importance: 6 -->", "", "", "", ""]
    bullets = zip(of_one_thing(), marks, strict=True)
    told = "".join(f"- {text}{mark}\n" for text, mark in bullets)
    path.write_text(told)
    run = consolidated(cli, "markdown", path, *scripted)
    (line,) = path.read_text().splitlines()
    assert line.endswith(" <!-- importance: 6 --> <!-- trigger: pager -->")
    for proposal in reversed(proposals(cli, path, run)):
        assert cli("undo", path, proposal).code == 0
    assert path.read_text() == told


@pytest.mark.parametrize("latest_first", [True, False])
def test_marks_return_night_by_night(tmp_path: Path, cli: Cli, latest_first: bool) -> None:
    path = tmp_path / "MEMORY.md"
    told = (
        "- Billing listens on port 8080. <!-- importance: 7 --> <!-- trigger: billing -->\n"
        "- Billing listens on port 8080\n"
        "* Billing listens on port 8080! <!-- importance: 9 -->\n"
        "- The billing listens on port 8080. <!-- trigger: port -->\n"
    )
    again = "- Billing listens on port 8080. <!-- importance: 10 --> <!-- trigger: listens -->\n"
    path.write_text(told)
    first = consolidated(cli, "markdown", path)
    once = path.read_text()
    path.write_text(once + again)
    second = consolidated(cli, "markdown", path)
    (line,) = path.read_text().splitlines()
    assert "importance: 10" in line
    assert all(word in line for word in ("port,", "billing,", "listens -->"))
    runs = [second, first] if latest_first else [first, second]
    assert cli("undo", path, runs[0]).code == 0
    if latest_first:
        assert path.read_text() == once + again
    assert cli("undo", path, runs[1]).code == 0
    assert sorted(path.read_text().splitlines()) == sorted((told + again).splitlines())


def test_what_dreaming_promoted_on_several_nights_is_told_once(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "MEMORY.md"
    nights = [
        f"## Promoted From Short-Term Memory (2026-04-0{day})\n\n"
        f"<!-- openclaw-memory-promotion:memory:memory/2026-04-0{day}.md:5:7 -->\n"
        f"- Billing listens on port 8080{end} [score=0.8{day} source=memory/day.md:5-7]\n"
        for day, end in ((3, "."), (4, ""))
    ]
    before = "# Long-Term Memory\n\n## Notes\n\n- Billing listens on port 8080\n\n" + "\n".join(
        nights
    )
    path.write_text(before)
    run = consolidated(cli, "markdown", path)
    after = path.read_text()
    assert after.count("Billing listens on port 8080") == 2
    assert after.count("openclaw-memory-promotion") == after.count("## Promoted") == 2
    assert after.startswith(
        "# Long-Term Memory\n\n## Notes\n\n- Billing listens on port 8080\n\n## "
    )
    assert cli("undo", path, run).code == 0
    assert path.read_text() == before


def test_marks_that_the_agent_changed_since_are_left_as_they_are(promoted: Path, cli: Cli) -> None:
    run = consolidated(cli, "markdown", promoted)
    promoted.write_text(promoted.read_text().replace("importance: 8", "importance: 10"))
    assert cli("undo", promoted, run).code == 0
    now = promoted.read_text()
    assert now.count("Billing listens on port 8080") == 2
    assert now.count("importance: 10") == 1
    assert now.splitlines()[-3:] == PROMOTED.splitlines()[-3:]


def test_restore_brings_a_bullet_back_with_its_marks_to_its_place(promoted: Path, cli: Cli) -> None:
    consolidated(cli, "markdown", promoted)
    for gone in cli("list", promoted, "--status", "superseded", "--json").json["memories"]:
        assert cli("undo", promoted, gone["id"]).code == 0
    assert promoted.read_text() == PROMOTED


def test_a_kill_moves_all_once(promoted: Path, cli: Cli, rounds: Callable[[int, int], int]) -> None:
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
    """Provide a memory folder of Claude Code's, the last file with a key of somebody's own."""
    path = tmp_path / "memory"
    path.mkdir()
    for day, (name, body) in enumerate(FILES.items(), start=1):
        own = "owner: Helvi\n" if name.startswith("tabs") else ""
        (path / f"{name}.md").write_text(
            f"---\nname: {name}\ndescription: a rule\n{own}metadata:\n  type: feedback\n"
            f"  modified: 2026-02-0{day}T09:00:00.000Z\n---\n\n{body}\n"
        )
    listed = "".join(f"- [{name}]({name}.md) — a rule\n" for name in FILES)
    (path / "MEMORY.md").write_text(listed)
    return path


def test_equal_facts_with_other_reasons_are_left_to_a_model(folder: Path, cli: Cli) -> None:
    with unchanged(content, folder):
        consolidated(cli, "claude-code", folder)


def test_a_file_with_a_key_of_somebodys_own_stays(folder: Path, cli: Cli) -> None:
    consolidated(cli, "claude-code", folder)
    assert {"tabs.md", "tabs-2.md"} < content(folder).keys()
