"""The inputs of a run, and the run as the file records it: its backup, beginning and end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store import check
from slowwave.store.backup import back_up
from slowwave.store.cache import read_change_counts
from slowwave.store.file import (
    Identity,
    MemoryFile,
    migrate_file,
    needs_migration,
    open_any_version,
    open_writing,
    schema_version,
)
from slowwave.store.ledger import begin_run, end_run
from slowwave.store.memories import Counts
from slowwave.store.records import new_id, timestamp
from slowwave.store.vectors import store_vectors

# How a run ended, as stored in the ledger.
Verdict = Literal["done", "partial", "failed", "interrupted"]


@dataclass(frozen=True)
class NightInputs:
    """The inputs of a night: the file, the options, and its embedder and writer."""

    path: Path
    options: CycleOptions
    embedder: Embedder
    writer: Writer
    # The time of the whole night.
    now: datetime
    progress: Progress = field(default_factory=Progress)
    # Whether to return what a night would do, and to write nothing.
    dry_run: bool = False
    # How many runs share this machine.
    workers: int = 1
    interruption: Interruption = field(default_factory=Interruption)


def run_report(
    before: Counts, after: Counts, states: Iterable[str], usage: Usage
) -> dict[str, Any]:
    """Return the report of a run, as `log` and `stats` read it.

    states: of each proposal or candidate of the run.
    """
    return {
        "before": asdict(before),
        "after": asdict(after),
        "states": dict(sorted(Counter(states).items())),
        "model": asdict(usage),
    }


class Preflight:
    """Checks and backs up the file before the first change of a run, if there is one."""

    def __init__(self, path: Path, keep_backups: int | None, now: datetime) -> None:
        """keep_backups: the number of backups to keep; None makes no backup."""
        self.path = path
        self.now = now
        self._keep_backups = keep_backups
        self._checked = False
        self._ready = False
        # The backup, once it was made.
        self.backup: Path | None = None
        # The older version of the schema that it had, once it was migrated.
        self.migrated_from: int | None = None

    def refuse_damaged(self) -> None:
        """Refuse a damaged file; only the first call checks. Raises `UnusableFile`."""
        if not self._checked:
            with open_any_version(self.path) as file:
                check.refuse_damaged(file)
            self._checked = True

    def check_and_back_up(self) -> None:
        """Refuse a damaged file and make the backup; only the first call does anything.

        Raises `UnusableFile`, and `StoreError` if the backup fails.
        """
        if self._ready:
            return
        self.refuse_damaged()
        if self._keep_backups is not None:
            if not needs_migration(self.path):
                with open_writing(self.path) as file, file.transaction():
                    pass  # a file that cannot be written needs no backup, night after night
            self.backup = back_up(self.path, self.now, self._keep_backups)
        self._ready = True

    def migrate(self) -> None:
        """Migrate an older schema."""
        if needs_migration(self.path):
            self.check_and_back_up()
            with open_any_version(self.path) as file:
                old_version = schema_version(file)
            migrate_file(self.path)
            self.migrated_from = old_version

    def as_option(self) -> dict[str, Any]:
        """Return the backup's name for the record of a run; {} if there is none."""
        return {"backup": self.backup.name} if self.backup else {}


@dataclass(frozen=True)
class RunRecord:
    """The row of one run in the ledger of a file that is open for writing."""

    run_id: str
    now: datetime

    def begin(self, file: MemoryFile, options: Mapping[str, Any]) -> None:
        """Record that the run has begun, and its options."""
        now, made_by = timestamp(self.now), version("slowwave")
        begin_run(file, self.run_id, now, version=made_by, options=dict(options))

    def end(
        self, file: MemoryFile, verdict: Verdict, report: Mapping[str, Any], plan: str | None = None
    ) -> None:
        """Record how the run ended. plan: the digest of its plan, if it had one."""
        now = timestamp(self.now)
        end_run(file, self.run_id, now=now, outcome=verdict, plan=plan, report=dict(report))

    @contextmanager
    def begun(
        self,
        file: MemoryFile,
        options: Mapping[str, Any],
        report_so_far: Callable[[], Mapping[str, Any]] = dict,
    ) -> Iterator[None]:
        """Begin the run for a block that ends it.

        If the block raises, record the run as failed or interrupted, with the report so far.
        """
        self.begin(file, options)
        try:
            yield
        except BaseException as error:
            is_interrupt = isinstance(error, KeyboardInterrupt)
            self.end(file, "interrupted" if is_interrupt else "failed", report_so_far())
            raise


class RunInFile:
    """A run that starts with its first write, so that a no-op night leaves no trace."""

    def __init__(
        self,
        preflight: Preflight,
        embedder: Embedder,
        options: Mapping[str, Any],
        interruption: Interruption,
    ) -> None:
        """options: recorded with the run."""
        self.preflight = preflight
        self.embedder = embedder
        self._options = options
        self._interruption = interruption
        self._begun = False
        # The file in which it began, to detect a replacement.
        self._file: Identity | None = None
        self.record = RunRecord(new_id(), preflight.now)
        # The changes that it made, by tenant, on which a plan depends.
        self.changes: Counter[str] = Counter()

    @property
    def run_id(self) -> str | None:
        """The run's id; None until something was written."""
        return self.record.run_id if self._begun else None

    def store_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob) in a transaction of its own."""
        with self.writing() as file, self.changing(file):
            store_vectors(file, self.embedder.name, vectors, self.record.run_id)

    def end(self, verdict: Verdict, plan: str | None, report: dict[str, Any]) -> None:
        """Record how the run ended, if it wrote anything."""
        if self._begun:
            with self.writing() as file:
                self.record.end(file, verdict, report, plan)

    @contextmanager
    def changing(self, file: MemoryFile) -> Iterator[None]:
        """Run a block as one transaction, and count its changes."""
        with file.transaction():
            before = Counter(read_change_counts(file))
            yield
            changes = Counter(read_change_counts(file)) - before
        self.changes += changes

    @contextmanager
    def writing(self) -> Iterator[MemoryFile]:
        """Open the file for writing; the first time, back it up and begin the run."""
        self.preflight.check_and_back_up()
        with open_writing(self.preflight.path, self._file) as file:
            self._file = file.identity
            if not self._begun:
                with self._interruption.deferred():
                    self.record.begin(file, {**self._options, **self.preflight.as_option()})
                    self._begun = True
            yield file
