"""A run as it is recorded in the file: its beginning, its findings and its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.entities import delete_found_names, keep_entities, keep_scans
from slowwave.store.file import Identity, MemoryFile, open_reading, open_writing
from slowwave.store.ledger import Decision, has_run, read_decision
from slowwave.store.records import new_id
from slowwave.store.vectors import keep_vectors

from .apply import RunContext
from .preflight import Preflight
from .run_record import RunRecord, Verdict

# The number of memories whose names one transaction writes.
_BATCH = 500


class RunInFile:
    """A run that begins with its first write, so that a no-op night leaves no trace."""

    def __init__(
        self,
        path: Path,
        embedder: Embedder,
        writer: Writer,
        now: datetime,
        options: Mapping[str, Any],
        preflight: Preflight,
    ) -> None:
        """Take what the rows of this run record about it."""
        self.path = path
        self.embedder = embedder
        self.writer = writer
        self.preflight = preflight
        self._options = options
        self._begun = False
        # The file in which it began, to detect a replacement.
        self._file: Identity | None = None
        self.context = RunContext(
            run_id=new_id(),
            now=now,
            model=writer.model,
            model_key=writer.key,
            embedding_model=embedder.name,
        )
        self._record = RunRecord(self.context.run_id, now)

    @property
    def run_id(self) -> str | None:
        """The run's id; None until something was written."""
        return self.context.run_id if self._begun else None

    def keep_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob) in a transaction of its own."""
        with self.writing() as file, file.transaction():
            keep_vectors(file, self.embedder.name, vectors, self.context.run_id)

    def keep_names(self, tenant: str, scans: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Keep (memory id, content hash, names), in short transactions."""
        with self.writing() as file:
            for start in range(0, len(scans), _BATCH):
                part = scans[start : start + _BATCH]
                with file.transaction():
                    delete_found_names(
                        file, (memory_id for memory_id, _, _ in part), self.context.run_id
                    )
                    mentions = [(memory_id, names) for memory_id, _, names in part]
                    keep_entities(file, tenant, mentions, self.context.run_id)
                    keep_scans(
                        file, [(memory_id, of) for memory_id, of, _ in part], self.context.run_id
                    )

    def has_begun(self) -> bool:
        """Look up whether the run began, which an interruption may have hidden."""
        if self._begun:
            with open_reading(self.path) as file:
                self._begun = has_run(file, self.context.run_id)
        return self._begun

    def find_decisions(self, keys: Iterable[str]) -> dict[str, Decision]:
        """Look up this run's decisions by the ids of proposals.

        An interruption may come between a commit and its report.
        """
        if not self.has_begun():
            return {}
        with open_reading(self.path) as file:
            found = ((key, read_decision(file, self.context.run_id, key)) for key in keys)
            return {key: decision for key, decision in found if decision is not None}

    def end_early(self) -> bool:
        """Record that the run was interrupted before it applied anything.

        Returns whether it had written anything.
        """
        begun = self.has_begun()
        self.end("interrupted", None, {})
        return begun

    def end(self, verdict: Verdict, plan: str | None, report: dict[str, Any]) -> None:
        """Record how the run ended, if it wrote anything."""
        if self._begun:
            with self.writing() as file:
                self._record.end(file, verdict, report, plan)

    @contextmanager
    def writing(self) -> Iterator[MemoryFile]:
        """Open the file for writing; the first time, back it up and begin the run."""
        self.preflight.check_and_back_up()
        with open_writing(self.path, self._file) as file:
            self._file = file.identity
            if not self._begun:
                options = {**self._options, **self.preflight.as_option()}
                # Set first: if this is interrupted, `has_begun` looks it up.
                self._begun = True
                self._record.begin(file, options)
            yield file
