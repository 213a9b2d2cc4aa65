"""Runs over another agent's file that are killed at a step, or beside which its agent writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from agents_files import chosen_steps, killed
from cli_calls import Cli

Rounds = Callable[[int, int], int]


def undo_all(cli: Cli, path: Path) -> None:
    """Undo each run that applied something, the latest first."""
    for run in reversed(cli("log", path, "--json").json["runs"]):
        if "applied" in run["states"]:
            cli("undo", path, run["id"]).ends(0)


def assert_kills_leave_all_or_nothing(
    cli: Cli, command: list[str], path: Path, content: Callable[[], object], rounds: Rounds
) -> None:
    """Kill a command at steps: a whole file is left, and the next command ends as if unkilled.

    path: the file, in a folder with nothing else in it. content: returns what must be equal.
    """
    folder = path.parent
    fresh = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    before = content()
    steps = int(killed(0, command).stderr.split()[-1])
    after = content()
    assert after != before
    for at in chosen_steps(steps, rounds):
        for file in [file for file in folder.rglob("*") if file.is_file()]:
            file.unlink()
        for file, data in fresh.items():
            file.write_bytes(data)
        assert killed(at, command).returncode == 9
        assert content() in (before, after)
        # Where all was done, nothing is left for an approval: 1.
        assert cli(*command).code in ((0, 1) if "approve" in command else (0,))
        assert content() == after
        undo_all(cli, path)
        assert content() == before


def run_nights_beside(
    tell: Callable[[], object],
    cli: Cli,
    *night: object,
    is_there: Callable[[], object] = lambda: True,
) -> None:
    """Run nights all the while a program writes, then one more.

    is_there: whether there is anything yet to run them on.
    """
    failed: list[BaseException] = []

    def write() -> None:
        try:
            tell()
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        if is_there():
            assert cli(*night).code in (0, 3, 11)
        writer.join(0.05)
    assert failed == []
    assert cli(*night).code == 0
