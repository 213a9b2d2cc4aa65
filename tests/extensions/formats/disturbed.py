"""Runs over another agent's file that are killed at a step, or while its agent writes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from agents_files import chosen_steps, killed
from cli_calls import Cli

Rounds = Callable[[int, int], int]


def undo_all(cli: Cli, path: Path, except_run: str = "") -> None:
    """Undo each run that applied something, the latest first, except for one: `except_run`."""
    for run in reversed(cli("log", path, "--json").json["runs"]):
        if "applied" in run["states"] and run["id"] != except_run:
            cli("undo", path, run["id"]).ends(0)


def assert_kills_leave_all_or_nothing(
    cli: Cli,
    command: list[str],
    path: Path,
    content: Callable[[], object],
    rounds: Rounds,
    except_run: str = "",
) -> None:
    """Kill a command at steps: the file stays intact, and the next command completes the work.

    path: the file, in a folder with nothing else in it. content: returns what must be equal.
    except_run: the id of an earlier run.
    """
    folder = path.parent
    fresh = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    before = content()
    steps = int(killed(0, command).stderr.split()[-1])
    after = content()
    assert after != before
    for step in chosen_steps(steps, rounds):
        for file in [file for file in folder.rglob("*") if file.is_file()]:
            file.unlink()
        for file, data in fresh.items():
            file.write_bytes(data)
        assert killed(step, command).returncode == 9
        # The files of a folder are written individually.
        assert path.is_dir() or content() in (before, after)
        # An approval that was done exits 1: nothing is pending.
        assert cli(*command).code in ((0, 1) if "approve" in command else (0,))
        assert content() == after
        undo_all(cli, path, except_run)
        assert content() == before


def run_concurrent_nights(
    tell: Callable[[], object],
    cli: Cli,
    *night: object,
    is_there: Callable[[], object] = lambda: True,
) -> None:
    """Run nights as long as a program writes, then one more.

    is_there: whether there is a file yet.
    """
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(tell)
        while not writer.done():
            if is_there():
                assert cli(*night).code in (0, 3, 11)
            wait([writer], 0.05)
        writer.result()
    assert cli(*night).code == 0
