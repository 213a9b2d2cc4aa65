"""Maintain one file of a fleet: `night(item) -> receipt`, the same on every engine.

The file is maintained as by `slowwave maintain`. The outcome is then read from the file's `runs`,
never taken from what the run returned: an engine may end a worker after its changes are in the
file, and have another one repeat it, which then finds nothing to do.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from slowwave.cli.terminal.exits import describe_defect
from slowwave.cli.terminal.interpreter import keep_libraries_quiet, tune_interpreter
from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.running.memory_limit import NoRoom
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.running.run_in_file import NightInputs
from slowwave.consolidation.running.survey import idle_marks
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.runtime.threads import use_cores
from slowwave.consolidation.snapshot.idle import IdleMarks
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.fleet.store.disk import refuse_shared_log, version_of
from slowwave.extensions.fleet.store.receipt import Became, Receipt
from slowwave.extensions.formats.vector_model import EmbeddingModel
from slowwave.extensions.postgres.format import Tenants
from slowwave.extensions.postgres.mirror import TenantMirror
from slowwave.store.errors import NotFound, StoreError
from slowwave.store.file import needs_migration
from slowwave.store.opening import is_database
from slowwave.store.records import timestamp
from slowwave.store.sidecar import file_size
from slowwave.store.validate import is_foreign_file

from .budget_owners import SharedMeter
from .fleet_job import GONE, FleetJob, Item
from .receipt_from_file import became_of, receipt_of

# Libraries that multiply matrices read these when they are loaded: one thread each.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def begin_worker(job: FleetJob) -> Worker:
    """Begin one of several workers of a machine in its own process, with one thread."""
    os.environ.update(ONE_THREAD)
    keep_libraries_quiet()
    tune_interpreter()
    # Ctrl-C at a terminal goes to all processes; their parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_cores(1)
    return Worker(job)


class Worker:
    """Maintains files one after the other; its model is loaded once."""

    def __init__(self, job: FleetJob, interruption: Interruption | None = None) -> None:
        """Load nothing before a file needs it."""
        self._job = job
        self._interruption = interruption or Interruption()
        self.embedder = SentenceEmbedder(job.embedder)

    def night(self, item: Item) -> Receipt:
        """Maintain a file, and return its receipt, which also has the errors of this file.

        Raises `ConsolidationError` if no file can be maintained, such as without the model.
        """
        began, now = time.monotonic(), datetime.now(UTC)
        try:
            receipt = self._receipt(item, now)
        except ConsolidationError:
            raise
        except Exception as error:  # noqa: BLE001 - must not end the other files' runs
            receipt = Receipt(item.key, "defect", describe_defect(error), last_run=item.last_run)
        seconds = round(time.monotonic() - began, 4)
        return replace(receipt, seconds=seconds, at=timestamp(now))

    def _receipt(self, item: Item, now: datetime) -> Receipt:
        if self._job.in_bucket:
            from .objects import night_of_object

            return night_of_object(self, self._job, item, now)
        if self._job.database is not None:
            return self._night_of_tenant(self._job.database, item, now)
        return self.in_place(item, self._job.path_of(item.key), now)

    def in_place(
        self, item: Item, path: Path, now: datetime, options: CycleOptions | None = None
    ) -> Receipt:
        """Maintain a file on the disk, and read its outcome from it.

        options: those of this file; by default the job's.
        """
        receipt = self._in_place(item, path, now, options or self._job.options)
        why = receipt.why
        for name in (str(path.resolve()), str(path)):
            why = why and why.replace(name, "FILE")  # so that many files have one reason
        return replace(receipt, why=why)

    def _in_place(self, item: Item, path: Path, now: datetime, options: CycleOptions) -> Receipt:
        if not path.exists():
            return Receipt(item.key, "gone", GONE, last_run=item.last_run)
        # The run reports an empty one.
        if file_size(path) and is_foreign_file(path):
            return self._foreign(item, path, now, options)
        became: Became
        why: str | None
        outcome: Outcome | None = None
        try:
            refuse_shared_log(path)
        except StoreError as error:
            return _refused(item, error)
        try:
            if self._job.dry_run and needs_migration(path):
                return Receipt(item.key, "planned", "not yet migrated", last_run=item.last_run)
            outcome = self._maintained(path, now, options)
            became, why = _outcome_of(outcome)
        except NoRoom as error:
            return _refused(item, error)
        except StoreError as error:
            became, why = became_of(error), error.message
        except KeyboardInterrupt:
            became, why = "interrupted", "the run was interrupted"
        why = None if why is None else without_secrets(why)
        if outcome is not None and self._job.dry_run:
            return _dry_run_receipt(item, outcome)
        return receipt_of(item, path, became, why, outcome, self.idle_marks(path, now, options))

    def _night_of_tenant(self, database: Tenants, item: Item, now: datetime) -> Receipt:
        """Maintain a tenant's mirror, and write it with the tenant's rows at the end.

        If that fails, the run is lost, and the receipt has none.
        """
        url, options = database.url.of(item.key), self._job.options
        mirror = TenantMirror.of(url, database.format)
        mirror.format.model = EmbeddingModel(self.embedder.name, self.embedder.encode)
        used = Receipt(item.key, "nothing")
        try:
            if mirror.format.no_new_texts_reason(url) is not None:
                options = options.without_new_texts()
            if self._job.dry_run:
                with mirror.picture(now) as copy:
                    return self.in_place(item, copy.state, now, options)
            with mirror.held(now):
                used = self.in_place(item, mirror.state, now, options)
                mirror.settle(now)
                receipt = used
                if used.runs:  # settling may have undone what was stale
                    marks = self.idle_marks(mirror.state, now, options)
                    receipt = receipt_of(item, mirror.state, used.became, used.why, None, marks)
                return replace(receipt, version=mirror.lease.version)
        except NotFound:
            return Receipt(item.key, "gone", "the tenant no longer exists")
        except StoreError as error:
            why = f"{error.message} {error.hint}".strip().replace(str(url), "FILE")
            receipt = Receipt(item.key, became_of(error), why, last_run=item.last_run)
            return receipt.with_usage_of(used)

    def _foreign(self, item: Item, path: Path, now: datetime, options: CycleOptions) -> Receipt:
        if item.last_run is not None:
            why = "it was a memory file when it was last maintained, but is not one now"
            return Receipt(item.key, "unusable", why, last_run=item.last_run)
        if not is_database(path):  # such as a memory file that was overwritten
            return Receipt(item.key, "unusable", "it is not a SQLite database")
        # With a basis it is not opened again before it changes.
        basis = self.idle_marks(path, now, options).key
        why = "it is not a slowwave memory file"
        return Receipt(item.key, "foreign", why, version_of(path), basis)

    def idle_marks(self, path: Path, now: datetime, options: CycleOptions) -> IdleMarks:
        """Return what tells whether anything is left to do in a file."""
        job = self._job
        writer = job.make_writer(job.budget, None)
        night = NightInputs(
            path=path, options=options, embedder=self.embedder, writer=writer, now=now
        )
        return idle_marks(night)

    def _maintained(self, path: Path, now: datetime, options: CycleOptions) -> Outcome:
        job = self._job
        writer = job.make_writer(job.budget_now(), job.owner)
        self._interruption.open()
        try:
            night = NightInputs(
                path=path,
                options=options,
                embedder=self.embedder,
                writer=writer,
                now=now,
                dry_run=job.dry_run,
                workers=job.workers,
                interruption=self._interruption,
            )
            return run_cycle(night)
        finally:
            self._interruption.close()
            if isinstance(writer, ModelWriter) and isinstance(writer.meter, SharedMeter):
                writer.meter.give_back()


def _refused(item: Item, error: StoreError) -> Receipt:
    refusal = f"{error.message} {error.hint}".strip()
    return Receipt(item.key, "refused", refusal, last_run=item.last_run)


def _outcome_of(outcome: Outcome) -> tuple[Became, str | None]:
    """Return the outcome of a file, and why if something went wrong."""
    if outcome.verdict == "done":
        return "done" if outcome.last_run else "nothing", None
    whys = [None if outcome.broken_off is None else outcome.broken_off.message]
    whys += [window.why for window in outcome.asked if window.state in ("failed", "skipped")]
    whys += [
        result.why
        for result in outcome.results
        if result.state in ("failed", "skipped", "rejected")
    ]
    return outcome.verdict, next(filter(None, [*whys, outcome.queued_parts.why]), None)


def _dry_run_receipt(item: Item, outcome: Outcome) -> Receipt:
    """Return the receipt of a dry run, the only one that is not read from the file."""
    planned = sum(result.state in ("planned", "pending") for result in outcome.results)
    return Receipt(
        item.key,
        "planned" if planned or outcome.asked or outcome.queued_parts.would_be_read else "nothing",
        last_run=item.last_run,
        memories_before=outcome.before.active,
        memories_after=outcome.after.active,
        tokens_before=outcome.before.tokens,
        tokens_after=outcome.after.tokens,
        planned=planned,
    )
