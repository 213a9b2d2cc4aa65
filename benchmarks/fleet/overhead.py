"""What a fleet adds to the night of a file, measured file by file in one process.

The night by itself (`run_cycle`, as `slowwave maintain` calls it) and the fleet's
(`Worker.night`) are done on equal copies of a file, one right after the other, which of them
first by chance; before both an unmeasured one, so that each finds what the process remembers of
the texts. The differences of two such neighbors tell more than those of two long runs, between
which the load of the machine changes. Beside that stands what was taken outside of the cycle: a
difference below that is noise.
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
from .trial import Found, Trial

# The most that was wished for, in ms a file.
IN_PLACE_MS, IN_BUCKET_MS = 15, 25
# The first nights load the model, and are not counted.
_LOADING = 2
_SEED = 20


def in_place(trial: Trial) -> Found:
    """Measure files in a folder."""
    place = trial.copy("overhead-fleet")
    return _measured(trial, str(place), IN_PLACE_MS)


def in_bucket(trial: Trial) -> Found:
    """Measure objects on loopback; what their server uses itself is not counted."""
    with bucket("overhead") as there:
        there.fill(paths_in(trial.files))
        return _measured(trial, there.address, IN_BUCKET_MS)


def _measured(trial: Trial, source: str, most: int) -> Found:
    if len(paths_in(trial.files)) < _LOADING + 2:
        raise Failed(f"what a fleet adds is measured on {_LOADING + 2} files at the least")
    tune_interpreter()
    use_cores(1)
    pairs = _Pairs(trial, source)
    figures: dict[str, Any] = {}
    rounds = {"first night": 1, "at rest": trial.repeats}
    for name, times in rounds.items():
        pairs.clear()
        for _ in range(times):
            pairs.go_round()
        figures |= {f"{name}, {what}": value for what, value in pairs.figures(most).items()}
    figures["listing and receipts, ms a file"] = round(_driving(source, pairs.receipts), 2)
    return Found(figures, pairs.faults)


class _TimedWorker(Worker):
    """A worker that tells what of its last night was the cycle itself."""

    cycle = (0.0, 0.0)

    def _maintained(self, path: Path, now: datetime, options: CycleOptions) -> Outcome:
        begun = _clocks()
        try:
            return super()._maintained(path, now, options)
        finally:
            self.cycle = _since(begun)


@dataclass
class _Pairs:
    """The nights of each file, by itself and in a fleet, side by side; times in seconds."""

    trial: Trial
    source: str
    receipts: dict[str, Receipt] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _alone: list[float] = field(default_factory=list)
    _fleet: list[float] = field(default_factory=list)
    # The part of the fleet's nights outside of the cycle, in processor time and by the clock.
    _outside: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._warm, self._single = (self.trial.copy(f"overhead-{name}") for name in ("warm", "one"))
        self._worker = _TimedWorker(_job(source_of(self.source)))
        self._chance = random.Random(_SEED)  # noqa: S311 - an order, no secret

    def clear(self) -> None:
        """Forget what was measured."""
        for some in (self._alone, self._fleet, self._outside):
            some.clear()

    def go_round(self) -> None:
        """Do a night of each file in both ways."""
        for number, path in enumerate(paths_in(self.trial.files)):
            self._by_itself(self._warm / path.name)
            nights: dict[str, Callable[[], None]] = {
                "alone": partial(self._by_itself, self._single / path.name),
                "fleet": partial(self._in_fleet, path.name),
            }
            order = self._chance.sample(sorted(nights), 2)
            took = {name: _took(nights[name]) for name in order}
            if number >= _LOADING:
                self._alone.append(took["alone"][0])
                self._fleet.append(took["fleet"][0])
                outside = np.subtract(took["fleet"], self._worker.cycle)
                self._outside.append((float(outside[0]), float(outside[1])))

    def figures(self, most: int) -> dict[str, Any]:
        """Return what was measured, in ms, beside what was wished for."""
        more = np.subtract(self._fleet, self._alone)
        low, high = _interval(more)
        outside, by_the_clock = np.median(self._outside, axis=0) * 1000
        return {
            "nights": len(more),
            "ms by itself": _ms(self._alone),
            "ms more in a fleet": f"{_ms(more)} (95%: {low} to {high}; wished for: {most})",
            "ms outside of the cycle": f"{outside:.1f}, by the clock {by_the_clock:.1f}",
        }

    def _by_itself(self, path: Path) -> None:
        run_cycle(path, CycleOptions(), self._worker.embedder, BuiltInWriter(), utc_now())

    def _in_fleet(self, key: str) -> None:
        before = self.receipts.get(key)
        receipt = self._worker.night(Item(key, None if before is None else before.last_run))
        self.receipts[key] = receipt
        if not receipt.is_well:
            self.faults.append(f"{key}: {receipt.became}: {receipt.why}")


@dataclass(frozen=True)
class _Given:
    """An engine that has the receipts already."""

    receipts_by_key: dict[str, Receipt]

    def receipts(
        self, job: FleetJob, items: Iterator[Item], interruption: Interruption
    ) -> Iterator[Receipt]:
        """Yield them."""
        for item in items:
            yield self.receipts_by_key[item.key]


def _driving(source: str, receipts: dict[str, Receipt]) -> float:
    """Return what the driver takes for a file besides its night, in ms."""
    found = source_of(source)
    with tempfile.TemporaryDirectory() as folder:

        def drive(name: str) -> None:
            archive = Archive(str(Path(folder) / name))
            Fleet(found, _job(found), _Given(receipts), archive).night(
                utc_now(), Progress(), Interruption()
            )

        drive("once, to load what writes receipts")
        return 1000 * _took(partial(drive, "again"))[0] / len(receipts)


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


def _took(night: Callable[[], None]) -> tuple[float, float]:
    begun = _clocks()
    night()
    return _since(begun)


def _clocks() -> tuple[float, float]:
    """Return the time of this process' processor, all threads of it, and of the clock."""
    return time.process_time(), time.perf_counter()


def _since(begun: tuple[float, float]) -> tuple[float, float]:
    now = _clocks()
    return now[0] - begun[0], now[1] - begun[1]


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return between what the median lies with 95%, in ms."""
    found = bootstrap(
        (values,), np.median, method="percentile", rng=np.random.default_rng(_SEED)
    ).confidence_interval
    return round(1000 * float(found.low), 1), round(1000 * float(found.high), 1)


def _ms(seconds: Any) -> float:
    return round(1000 * float(np.median(seconds)), 1)
