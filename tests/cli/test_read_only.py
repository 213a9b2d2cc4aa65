"""Commands on a file in a read-only folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_calls import Ended
from nights import TWINS, daily, fill
from places import FIXTURES
from reliability.crashing import Job, run


@pytest.fixture
def read_only(memory_file: Path) -> Iterator[Path]:
    """Provide a memory file in a folder that the command cannot write to."""
    fill(memory_file, daily(TWINS, "twin"))
    rest = [path for path in memory_file.parent.iterdir() if path != memory_file]
    assert rest == []
    memory_file.chmod(0o444)
    memory_file.parent.chmod(0o555)
    yield memory_file
    memory_file.parent.chmod(0o755)


def slowwave(*arguments: object) -> Ended:
    """Run a command that respects permissions."""
    return run(Job(tuple(map(str, arguments)), unprivileged=True))


@pytest.mark.parametrize(
    "command",
    [
        *("maintain", "maintain --phase expire", "maintain --phase purge", "maintain --phase all"),
        *("add Said.", "ingest CHAT", "experience compress"),
        *("experience add TRACES", "shared admit ann --human --author ann"),
    ],
)
def test_writing_commands_report_that_they_cannot_write(command: str, read_only: Path) -> None:
    before = read_only.read_bytes()
    paths = {"CHAT": "conversations/team-chat.txt", "TRACES": "experience.jsonl"}
    words = [str(FIXTURES / paths[each]) if each in paths else each for each in command.split()]
    verb = 2 if words[0] in ("experience", "shared") else 1
    ended = slowwave(*words[:verb], read_only, *words[verb:])
    # A run has no lock there; what needs none finds that the file cannot be written.
    needs_none = words[0] in ("add", "shared") or "add" in words
    ended.ends(1)
    assert ("its folder is read-only" in ended.err) is needs_none
    assert "cannot" in ended.err.casefold()
    assert read_only.read_bytes() == before


def test_a_dry_undo_works_in_a_read_only_folder(memory_file: Path) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    done = slowwave("maintain", memory_file, "--json").json
    before = memory_file.read_bytes()
    memory_file.chmod(0o444)
    memory_file.parent.chmod(0o555)
    try:
        beside = {path.name for path in memory_file.parent.iterdir()}
        rehearsed = slowwave("undo", memory_file, done["run"], "--dry-run")
        nothing = slowwave("undo", memory_file, "no-such-run", "--dry-run")
        assert {path.name for path in memory_file.parent.iterdir()} == beside
    finally:
        memory_file.parent.chmod(0o755)
    assert (rehearsed.code, rehearsed.err) == (0, "")
    assert "nothing prevents undoing" in rehearsed.out
    assert f"in {memory_file}." in nothing.err
    assert memory_file.read_bytes() == before
