"""One run's place in the file: when it began, what it found out, and how it ended."""

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

# How many memories' names are written by one transaction: a moment's work.
_PORTION = 500


class RunInFile:
    """One run's place in the file: it begins with the first thing that is written.

    A night in which nothing happened leaves no trace at all.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder,
        writer: Writer,
        now: datetime,
        options: Mapping[str, Any],
        preflight: Preflight,
    ) -> None:
        """Take what the rows of this run will say about it."""
        self.path = path
        self.embedder = embedder
        self.writer = writer
        self.preflight = preflight
        self._options = options
        self._begun = False
        # The file that it began in: what came in its place since is another's.
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
        """The run's id; None as long as nothing was written."""
        return self.context.run_id if self._begun else None

    def keep_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob) in a transaction of its own."""
        with self.writing() as file, file.transaction():
            keep_vectors(file, self.embedder.name, vectors, self.context.run_id)

    def keep_names(self, tenant: str, scans: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Keep (memory id, content hash, names), in short transactions."""
        with self.writing() as file:
            for start in range(0, len(scans), _PORTION):
                part = scans[start : start + _PORTION]
                with file.transaction():
                    delete_found_names(file, (one for one, _, _ in part), self.context.run_id)
                    mentions = [(one, names) for one, _, names in part]
                    keep_entities(file, tenant, mentions, self.context.run_id)
                    keep_scans(file, [(one, of) for one, of, _ in part], self.context.run_id)

    def look_up_begin(self) -> bool:
        """Look up in the file whether it began: an interruption may hide that, and return it."""
        if self._begun:
            with open_reading(self.path) as file:
                self._begun = has_run(file, self.context.run_id)
        return self._begun

    def find_decisions(self, keys: Iterable[str]) -> dict[str, Decision]:
        """Look up what this run decided about proposals, by their keys, as far as the file says.

        An interruption may come between a commit and the note that is taken of it here.
        """
        if not self.look_up_begin():
            return {}
        with open_reading(self.path) as file:
            found = ((key, read_decision(file, self.context.run_id, key)) for key in keys)
            return {key: decision for key, decision in found if decision is not None}

    def end_early(self) -> bool:
        """Write down that the run was interrupted before it applied anything.

        Returns whether it had written anything at all.
        """
        self.look_up_begin()
        self.end("interrupted", None, {})
        return self._begun

    def end(self, verdict: Verdict, plan: str | None, report: dict[str, Any]) -> None:
        """Write down how the run ended, if it wrote anything."""
        if self._begun:
            with self.writing() as file:
                self._record.end(file, verdict, report, plan)

    @contextmanager
    def writing(self) -> Iterator[MemoryFile]:
        """Open the file for writing; the first time the run begins, and backs up what is there."""
        self.preflight.check_and_back_up()
        with open_writing(self.path, self._file) as file:
            self._file = file.identity
            if not self._begun:
                options = {**self._options, **self.preflight.as_option()}
                # Before it is true: if this is interrupted, the file is asked.
                self._begun = True
                self._record.begin(file, options)
            yield file
