"""A night of a fleet: find the files that are due, maintain them on an engine, keep receipts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.extensions.fleet.store.archive import Archive, Shard
from slowwave.extensions.fleet.store.object_store import Listed
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.fleet.store.sources import NOT_THERE, FileSource
from slowwave.store.records import timestamp

from .fleet_job import Engine, FleetJob, Item
from .totals import Totals
from .worker import Worker


@dataclass(frozen=True)
class Fleet:
    """The files of a run, and the job to do with each."""

    source: FileSource
    job: FleetJob
    engine: Engine
    # None: receipts are neither read nor written.
    archive: Archive | None
    shard: Shard = field(default_factory=Shard)
    # Returns the receipt of a file that must not be maintained, by its key; None for others.
    skipped: Callable[[str], Receipt | None] = lambda _: None

    def night(self, began: datetime, progress: Progress, interruption: Interruption) -> Totals:
        """Maintain all files of this shard that are due, and return what became of them.

        Raises `StoreError` and `ConsolidationError` if no file can be maintained at all; the
        receipts so far are kept.
        """
        everything = list(self.source.listing())
        listed = [file for file in everything if self.shard.has(file.key)]
        earlier: Mapping[str, Receipt] = {}
        unreadable: list[str] = []
        if self.archive is not None:
            keys = (file.key for file in listed)
            earlier, unreadable = self.archive.manifest(keys, self.source.mark)
        writer = None
        # The source of a run without files is probably wrong, or not mounted: no receipts.
        if self.archive is not None and everything and not self.job.dry_run:
            writer = self.archive.begin(began, self.shard)
        totals = Totals(None if writer is None else writer.name, unreadable=unreadable)
        totals.elsewhere = len(everything) - len(listed)
        totals.complete = False
        # From here on signals interrupt between two receipts, never while one is written.
        interruption.close()
        try:
            for receipt in self._receipts(listed, earlier, began, interruption):
                if writer is not None:
                    writer.add(receipt)
                totals.add(receipt)
                if receipt.became != "unchanged":
                    progress.stage("maintaining", totals.files, len(listed))
            totals.complete = bool(everything)
        except KeyboardInterrupt:
            totals.interrupted = True
        finally:
            if writer is not None:
                writer.end(datetime.now(UTC), totals.complete, self.source.mark)
        return totals

    def _receipts(
        self,
        listed: Sequence[Listed],
        earlier: Mapping[str, Receipt],
        began: datetime,
        interruption: Interruption,
    ) -> Iterator[Receipt]:
        """Yield the receipts of files that are not due, then those of the others."""
        due, now = [], timestamp(began)
        # What must stay the same for a file to stay idle: options, model, our own rules.
        basis = Worker(self.job).idle_marks(Path(), began, self.job.options).key
        for file in listed:
            receipt = earlier.get(file.key)
            last_run = None if receipt is None else receipt.last_run
            if file.version == NOT_THERE:
                why = "it is listed, but does not exist"
                yield Receipt(file.key, "missing", why, last_run=last_run, tries=0, at=now)
            elif (skipped := self.skipped(file.key)) is not None:
                yield replace(skipped, last_run=last_run, at=now)
            elif receipt is not None and receipt.is_current(file.version, basis, now):
                yield receipt.unchanged(now)
            else:
                due.append(Item(file.key, last_run))
        yield from self.engine.receipts(self.job, iter(due), interruption)
