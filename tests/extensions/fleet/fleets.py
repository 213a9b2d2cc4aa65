"""Fleets for tests: folders of small memory files, their receipts, and workers that go wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from nights import TWINS, daily, fill, of_one_thing, rows

from slowwave.consolidation.model.usage_limits import UsageLimits
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer
from slowwave.extensions.fleet.budget_owners import BudgetOwner
from slowwave.extensions.fleet.fleet import Fleet
from slowwave.extensions.fleet.fleet_job import OPTION, FleetJob, MakeWriter
from slowwave.extensions.fleet.local_engine import LocalEngine
from slowwave.extensions.fleet.store.archive import Archive
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.fleet.store.sources import source_of
from slowwave.extensions.fleet.totals import Totals
from slowwave.store.file import create_file

RECEIPTS = ".slowwave-receipts"


def agent_file(path: Path, number: int = 0) -> Path:
    """Make a memory file of an agent with duplicates, and with more of them in every third file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    create_file(path)
    port = str(8080 + number)
    fill(path, daily([text.replace("8080", port) for text in TWINS], "twin"))
    if number % 3 == 0:
        fill(path, daily(of_one_thing(), "oncall"))
    return path


def fleet_of(folder: Path, count: int) -> list[Path]:
    """Make agents' files in a folder, some of them in subfolders."""
    return [
        agent_file(folder / (f"team/agent-{n}.db" if n % 2 else f"agent-{n}.db"), n)
        for n in range(count)
    ]


def applied(path: Path) -> list[str]:
    """Return the keys of the proposals that were applied in a file, with repetitions."""
    proposals = rows(path, "SELECT key FROM proposals WHERE state = 'applied' ORDER BY key")
    return [row["key"] for row in proposals]


def runs_of(path: Path) -> list[str]:
    """Return the ids of the runs in a file."""
    return [row["id"] for row in rows(path, "SELECT id FROM runs ORDER BY id")]


def all_receipts(place: Path | str) -> list[Receipt]:
    """Return the receipts of all nights, the earliest first."""
    archive = Archive(str(place))
    return [receipt for night in reversed(archive.nights()) for receipt in archive.receipts(night)]


def receipt_runs(place: Path | str) -> dict[str, list[str]]:
    """Return the runs of each file that the receipts of all nights name."""
    runs: dict[str, list[str]] = {}
    for receipt in all_receipts(place):
        runs.setdefault(receipt.key, []).extend(receipt.runs)
    return runs


def job_of(
    source: Path | str,
    make_writer: MakeWriter,
    workers: int = 1,
    budget: UsageLimits | None = None,
    owner: BudgetOwner | None = None,
) -> FleetJob:
    """Return a job as the command makes it, with a writer of the test's own."""
    opened = source_of(str(source))
    return FleetJob(
        CycleOptions(shown={OPTION: "of a test"}),
        DEFAULT_MODEL,
        make_writer,
        opened.base,
        opened.in_bucket,
        False,
        budget or UsageLimits(),
        None,
        workers,
        owner,
    )


def nightly(source: Path | str, make_writer: MakeWriter, workers: int = 1) -> Totals:
    """Maintain a fleet as the command does, with a writer of the test's own."""
    opened = source_of(str(source))
    engine = LocalEngine(workers)
    job = job_of(source, make_writer, workers)
    fleet = Fleet(opened, job, engine, Archive(opened.receipts))
    return fleet.night(datetime.now(UTC), Progress(), Interruption())


# A night makes a writer before it begins, and another once it is done, to see what is left to do.
_CALLS_OF_A_NIGHT = 2
_calls = 0


def built_in(budget: UsageLimits, owner: BudgetOwner | None) -> Writer:
    """Return the writer that asks no model."""
    return BuiltInWriter()


def deadly_writer(folder: Path, times: int, spared: int = 0) -> MakeWriter:
    """Return a writer that kills its worker `times` times, after a run and before its receipt.

    spared: how many runs go well before.
    """
    (folder / "driver").write_text(str(os.getpid()))
    return partial(_made_deadly, folder, times, spared)


def _made_deadly(
    folder: Path,
    times: int,
    spared: int,
    budget: UsageLimits,
    owner: BudgetOwner | None,
) -> Writer:
    global _calls
    _calls += 1
    if _calls % _CALLS_OF_A_NIGHT == 0 and os.getpid() != int((folder / "driver").read_text()):
        well, killed = (len(list(folder.glob(f"{name}-*"))) for name in ("well", "killed"))
        if well < spared:
            (folder / f"well-{well}-{os.getpid()}").touch()
        elif killed < times:
            (folder / f"killed-{killed}-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return BuiltInWriter()


def meddling_writer(meddle: Callable[[], None]) -> MakeWriter:
    """Return a writer that meddles after a run and before its upload, in this process."""
    calls = 0

    def make_writer(budget: UsageLimits, owner: BudgetOwner | None) -> Writer:
        nonlocal calls
        calls += 1
        # The first call of all asks what the options are, for no file.
        if calls > 1 and calls % _CALLS_OF_A_NIGHT:
            meddle()
        return BuiltInWriter()

    return make_writer
