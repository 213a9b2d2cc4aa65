"""Measure the time that a fleet adds to the night of a file, in one process.

A plain night (`run_cycle`, as `slowwave maintain` calls it) and a night of a fleet (`Worker.night`)
run on copies of the same file right after each other, in random order, so that the load of the
machine affects both alike. A night that is not measured runs before them to fill the caches. The
time of a fleet's night outside of the cycle is printed, too: a smaller difference is noise.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

from slowwave.cli.terminal.interpreter import tune_interpreter
from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.model.usage_limits import UsageLimits
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.runtime.threads import use_cores
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL
from slowwave.consolidation.writing.writer import BuiltInWriter
from slowwave.extensions.fleet.commands.worker import utc_now, writer_of
from slowwave.extensions.fleet.fleet import Fleet
from slowwave.extensions.fleet.fleet_job import OPTION, FleetJob, Item
from slowwave.extensions.fleet.store.archive import Archive
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.fleet.store.sources import FileSource, source_of
from slowwave.extensions.fleet.worker import Worker

from .bucket import bucket
from .commands import Failed
from .files import paths_in
from .trial import Result, Trial

# The goals, in ms per file.
_FOLDER_MS, _BUCKET_MS = 15, 25
# The first nights load the model and are not measured.
_WARMUP = 2
_SEED = 20


def in_place(trial: Trial) -> Result:
    """Measure files in a folder."""
    return _measure(trial, str(trial.copy("overhead-fleet")), _FOLDER_MS)


def in_bucket(trial: Trial) -> Result:
    """Measure objects on loopback, without the processor time of their server."""
    with bucket("overhead") as remote:
        remote.upload(paths_in(trial.files))
        return _measure(trial, remote.address, _BUCKET_MS)


def _measure(trial: Trial, source: str, goal: int) -> Result:
    if trial.count < _WARMUP + 2:
        raise Failed(f"The overhead of a fleet needs at least {_WARMUP + 2} files.")
    tune_interpreter()
    use_cores(1)
    pairs = _Pairs(trial, source)
    figures: dict[str, Any] = {}
    rounds = {"first night": 1, "idle": trial.repeats}
    for name, times in rounds.items():
        pairs.clear()
        for _ in range(times):
            pairs.run()
        figures |= {f"{name}, {figure}": value for figure, value in pairs.figures(goal).items()}
    figures["listing and receipts, ms per file"] = round(_driver_ms(source, pairs.receipts), 2)
    return Result(figures, pairs.faults)


class _TimedWorker(Worker):
    """A worker that measures the cycle of its last night."""

    cycle = (0.0, 0.0)

    def _maintained(self, path: Path, now: datetime, options: CycleOptions) -> Outcome:
        start = _clocks()
        try:
            return super()._maintained(path, now, options)
        finally:
            self.cycle = _since(start)


@dataclass
class _Pairs:
    """The plain night and the fleet's night of each file, in seconds of processor time."""

    trial: Trial
    source: str
    receipts: dict[str, Receipt] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _plain: list[float] = field(default_factory=list)
    _fleet: list[float] = field(default_factory=list)
    # The part of the fleet's nights outside of the cycle: processor time and wall clock.
    _outside: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._warm, self._single = (self.trial.copy(f"overhead-{name}") for name in ("warm", "one"))
        self._worker = _TimedWorker(_job(source_of(self.source)))
        self._dice = random.Random(_SEED)  # noqa: S311 - an order, not a secret

    def clear(self) -> None:
        """Discard the measurements."""
        self._plain.clear()
        self._fleet.clear()
        self._outside.clear()

    def run(self) -> None:
        """Run both nights of each file."""
        for number, path in enumerate(paths_in(self.trial.files)):
            self._run_plain(self._warm / path.name)
            nights: dict[str, Callable[[], None]] = {
                "plain": partial(self._run_plain, self._single / path.name),
                "fleet": partial(self._run_in_fleet, path.name),
            }
            order = self._dice.sample(sorted(nights), 2)
            times = {name: _time(nights[name]) for name in order}
            if number >= _WARMUP:
                self._plain.append(times["plain"][0])
                self._fleet.append(times["fleet"][0])
                outside = np.subtract(times["fleet"], self._worker.cycle)
                self._outside.append((float(outside[0]), float(outside[1])))

    def figures(self, goal: int) -> dict[str, Any]:
        """Return the figures, in ms; goal: the maximum overhead."""
        overhead = np.subtract(self._fleet, self._plain)
        low, high = _interval(overhead)
        outside, wall_clock = np.median(self._outside, axis=0) * 1000
        return {
            "nights": len(overhead),
            "ms without a fleet": _ms(self._plain),
            "ms added by a fleet": f"{_ms(overhead)} (95%: {low} to {high}; goal: {goal})",
            "ms outside of the cycle": f"{outside:.1f}, {wall_clock:.1f} of wall clock",
        }

    def _run_plain(self, path: Path) -> None:
        run_cycle(path, CycleOptions(), self._worker.embedder, BuiltInWriter(), utc_now())

    def _run_in_fleet(self, key: str) -> None:
        before = self.receipts.get(key)
        receipt = self._worker.night(Item(key, None if before is None else before.last_run))
        self.receipts[key] = receipt
        if not receipt.is_well:
            self.faults.append(f"{key}: {receipt.became}: {receipt.why}")


@dataclass(frozen=True)
class _StoredReceipts:
    """An engine that returns existing receipts."""

    receipts_by_key: dict[str, Receipt]

    def receipts(
        self, job: FleetJob, items: Iterator[Item], interruption: Interruption
    ) -> Iterator[Receipt]:
        """Yield the receipt of each item."""
        for item in items:
            yield self.receipts_by_key[item.key]


def _driver_ms(source: str, receipts: dict[str, Receipt]) -> float:
    """Return the processor time of the driver per file without its night, in ms."""
    files = source_of(source)
    with tempfile.TemporaryDirectory() as folder:

        def drive(name: str) -> None:
            archive = Archive(str(Path(folder) / name))
            Fleet(files, _job(files), _StoredReceipts(receipts), archive).night(
                utc_now(), Progress(), Interruption()
            )

        drive("warm-up")
        return 1000 * _time(partial(drive, "measured"))[0] / len(receipts)


def _job(source: FileSource) -> FleetJob:
    return FleetJob(
        options=CycleOptions(shown={OPTION: "of a benchmark"}),
        embedder=DEFAULT_MODEL,
        make_writer=partial(writer_of, None, None, None, 1),
        base=source.base,
        in_bucket=source.in_bucket,
        dry_run=False,
        budget=UsageLimits(),
        deadline=None,
        clock=utc_now,
        workers=1,
    )


def _time(action: Callable[[], None]) -> tuple[float, float]:
    """Return the processor time and the wall clock of an action, in seconds."""
    start = _clocks()
    action()
    return _since(start)


def _clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _since(start: tuple[float, float]) -> tuple[float, float]:
    processor, wall_clock = _clocks()
    return processor - start[0], wall_clock - start[1]


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95% confidence interval of the median, in ms."""
    interval = bootstrap(
        (values,), np.median, method="percentile", rng=np.random.default_rng(_SEED)
    ).confidence_interval
    return round(1000 * float(interval.low), 1), round(1000 * float(interval.high), 1)


def _ms(seconds: Any) -> float:
    return round(1000 * float(np.median(seconds)), 1)
