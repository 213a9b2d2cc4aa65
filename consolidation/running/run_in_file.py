"""The inputs of a run, and the run as the file records it: its backup, beginning and end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Usage
from slowwave.consolidation.runtime.interruption import Interruption, OutOfTime
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store import check
from slowwave.store.backup import back_up
from slowwave.store.cache import read_change_counts
from slowwave.store.errors import SlowwaveError, StoreError
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
from slowwave.store.memories import Counts, count_memories
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
        # The file that was opened, to detect a replacement.
        self._file: Identity | None = None
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

    @contextmanager
    def writing(self) -> Iterator[MemoryFile]:
        """Open the file for writing, after the checks and the backup.

        Raises `UnusableFile` if it was replaced since the last time.
        """
        self.check_and_back_up()
        with open_writing(self.path, self._file) as file:
            self._file = file.identity
            yield file

    def as_option(self) -> dict[str, Any]:
        """Return the backup's name for the record of a run; {} if there is none."""
        return {"backup": self.backup.name} if self.backup else {}


class RunInFile:
    """A run that starts with its first write, so that a no-op night leaves no trace."""

    def __init__(
        self,
        place: Preflight | MemoryFile,
        now: datetime,
        options: Mapping[str, Any],
        interruption: Interruption | None = None,
    ) -> None:
        """place: the file, open for writing; or what checks and opens it.

        options: recorded with the run.
        """
        self.id = new_id()
        self.now = now
        self._place = place
        self._options = options
        self._interruption = interruption or Interruption()
        self._begun = False
        # Whether it changed what must be reported even if an error follows.
        self.has_results = False
        self.interrupted = False
        # Why it could not go on, after its first results.
        self.broken_off: SlowwaveError | None = None
        # The changes that it made, by tenant, on which a plan depends.
        self.changes: Counter[str] = Counter()

    @property
    def recorded_id(self) -> str | None:
        """The run's id; None until something was written."""
        return self.id if self._begun else None

    @contextmanager
    def writing(self) -> Iterator[MemoryFile]:
        """Open the file for writing; the first time, begin the run."""
        place = self._place
        with place.writing() if isinstance(place, Preflight) else nullcontext(place) as file:
            if not self._begun:
                backup = place.as_option() if isinstance(place, Preflight) else {}
                options = {**self._options, **backup}
                with self._interruption.deferred(), self._interruption.limited():
                    now, made_by = timestamp(self.now), version("slowwave")
                    begin_run(file, self.id, now, version=made_by, options=options)
                    self._begun = True
            yield file

    @contextmanager
    def changing(self, file: MemoryFile) -> Iterator[None]:
        """Run a block as one transaction, and count its changes."""
        with file.transaction():
            before = Counter(read_change_counts(file))
            yield
            changes = Counter(read_change_counts(file)) - before
        self.changes += changes

    def store_vectors(self, model: str, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob) in a transaction of its own."""
        with self.writing() as file, self.changing(file):
            store_vectors(file, model, vectors, self.id)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run a block that an interruption ends; nothing interrupts what follows.

        Sets `interrupted`; or `broken_off`, if an error follows results. Other errors are recorded
        and raised.
        """
        try:
            yield
            self._interruption.close()
        except (KeyboardInterrupt, OutOfTime):
            self._interruption.close()
            self.interrupted = True
        except Exception as error:
            self._interruption.close()
            if not (self.has_results and isinstance(error, SlowwaveError)):
                self.fail(error)
                raise
            self.broken_off = error

    @contextmanager
    def recorded(
        self, tenants: Sequence[str], states: Sequence[str], plan: str | None = None
    ) -> Iterator[MemoryFile]:
        """Run a block that writes, and record what it did to the memories of these tenants.

        states, plan: as in `run_report` and `end`.
        """
        with self.writing() as file:
            try:
                before = count_memories(file, tenants, count_tokens)
                yield file
                after = count_memories(file, tenants, count_tokens)
                self.end("done", run_report(before, after, states, Usage()), plan)
            except BaseException as error:
                self.fail(error)
                raise

    def end(self, verdict: Verdict, report: Mapping[str, Any], plan: str | None = None) -> None:
        """Record how the run ended, if it wrote anything.

        plan: the digest of its plan, if it had one. Raises `StoreError`, and `OutOfTime`.
        """
        if self._begun:
            with self._interruption.limited(), self.writing() as file:
                now = timestamp(self.now)
                end_run(file, self.id, now=now, outcome=verdict, plan=plan, report=dict(report))

    def try_to_end(
        self, verdict: Verdict, report: Mapping[str, Any], plan: str | None = None
    ) -> str:
        """Record how the run ended, or return why the ledger will show it as interrupted."""
        try:
            self.end(verdict, report, plan)
        except (OutOfTime, StoreError) as error:
            return f"the end of the run was not recorded: {error.message}"
        return ""

    def fail(self, error: BaseException) -> None:
        """Record that an error or an interruption ended the run."""
        self._interruption.close()
        is_interruption = isinstance(error, KeyboardInterrupt)
        why = {"why": getattr(error, "message", type(error).__name__)}
        self.try_to_end("interrupted" if is_interruption else "failed", why)
