"""A night of a fleet: which files are due, their nights on an engine, and the receipts kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.run_in_file import NightInputs
from slowwave.consolidation.running.survey import idle_marks
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.fleet.store.archive import Archive, ReceiptWriter, Shard
from slowwave.extensions.fleet.store.object_store import Listed
from slowwave.extensions.fleet.store.receipt import Known, Receipt, unchanged
from slowwave.extensions.fleet.store.sources import NOT_THERE, FileSource
from slowwave.store.records import timestamp

from .fleet_job import Engine, FleetJob, Item
from .shares import falls_to
from .totals import Totals


@dataclass(frozen=True)
class Fleet:
    """The files of a run, and the job to do with each."""

    source: FileSource
    job: FleetJob
    engine: Engine
    # None: no receipts are kept, nor looked at.
    archive: Archive | None
    shard: Shard = field(default_factory=Shard)

    def night(self, began: datetime, progress: Progress, interruption: Interruption) -> Totals:
        """Do the nights of all files of this shard that are due, and return what became of them.

        Raises `StoreError` and `ConsolidationError` if there is nothing that could be done at all,
        and KeyboardInterrupt, each with the receipts kept that were there by then.
        """
        everything = list(self.source.listing())
        listed = [file for file in everything if falls_to(file.key, self.shard)]
        known, unreadable = self._known(listed)
        totals = Totals(unreadable=unreadable)
        totals.elsewhere = len(everything) - len(listed)
        written = _Written(self.archive, began, self.shard, self.job.dry_run)
        complete = False
        # From here on a signal is heard between two receipts, and never while one is written.
        interruption.close()
        try:
            due = []
            basis = self._basis(began)
            for file in listed:
                seen = known.get(file.key)
                if file.version == NOT_THERE:
                    totals.add(written.add(_missing(file.key, seen, timestamp(began))))
                elif seen is not None and seen.stands(file.version, basis, timestamp(began)):
                    totals.add(written.add(unchanged(file.key, seen, timestamp(began))))
                else:
                    due.append(_item(file, seen))
            for receipt in self.engine.receipts(self.job, iter(due), interruption):
                totals.add(written.add(receipt))
                progress.stage("maintaining", totals.files, len(listed))
            complete = True
        except KeyboardInterrupt:
            totals.interrupted = True
        finally:
            totals.complete = complete
            written.end(self.job.clock(), complete, self.source.mark)
        totals.night = written.name
        return totals

    def _known(self, listed: Sequence[Listed]) -> tuple[dict[str, Known], list[str]]:
        """Return what earlier receipts say of files, and which of them cannot be read."""
        if self.archive is None:
            return {}, []
        keys = (file.key for file in listed)
        return self.archive.manifest(keys, self.source.marks_of_wider)

    def _basis(self, now: datetime) -> str:
        """Return what has to be the same for a file to rest: options, model, our own rules."""
        job = self.job
        writer = job.make_writer(job.budget, None)
        embedder = SentenceEmbedder(job.embedder)
        return idle_marks(NightInputs(Path(), job.options, embedder, writer, now)).key


def _missing(key: str, known: Known | None, at: str) -> Receipt:
    why = "it is listed, but does not exist"
    return Receipt(key, "missing", why, last_run=known and known.last_run, tries=0, at=at)


def _item(listed: Listed, known: Known | None) -> Item:
    return Item(listed.key, None if known is None else known.last_run)


class _Written:
    """Keeps receipts, if they are kept at all: not in a dry run."""

    def __init__(self, archive: Archive | None, began: datetime, shard: Shard, dry: bool) -> None:
        self._writer: ReceiptWriter | None = None
        if archive is not None and not dry:
            self._writer = archive.begin(began, shard)

    @property
    def name(self) -> str | None:
        """The name of the night's folder."""
        return None if self._writer is None else self._writer.name

    def add(self, receipt: Receipt) -> Receipt:
        """Keep a receipt, and give it back."""
        if self._writer is not None:
            self._writer.add(receipt)
        return receipt

    def end(self, now: datetime, complete: bool, source: str) -> None:
        """Keep what is left."""
        if self._writer is not None:
            self._writer.end(now, complete, source=source)
