"""A run of `slowwave ingest`, and the conversations that it reads: files, or a folder of logs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from slowwave.cli.terminal.exits import OF_VERDICT, Code, report_late_failures
from slowwave.cli.terminal.output import Output
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.ingest import as_json, as_text
from slowwave.cli.views.problems import report_problems
from slowwave.store.errors import FileHeld, StoreError, file_errors
from slowwave.store.opening import open_text
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.consolidation.ingest.ingest_outcome import IngestOutcome
    from slowwave.consolidation.ingest.options import IngestOptions
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.conversations.messages import Conversation, SkippedLine

_ENDINGS = frozenset({".jsonl", ".json", ".txt", ".md", ".log"})
# The state of a file: its size, its time of change, and its inode.
_State = tuple[int, int, int]


@dataclass(frozen=True)
class IngestRun:
    """How conversations are read into one file and reported."""

    file: Path
    options: IngestOptions
    embedder: Embedder
    # Creates a writer for each run: budgets are per run.
    writer: Callable[[], Writer]
    recordings: Recordings | None
    dry_run: bool
    # The format of the conversations; None detects it.
    format: str | None
    # When messages without a time were said; None takes the time of the file.
    said_at: str | None
    skips_invalid: bool
    output: Output
    skipped: list[SkippedLine] = field(default_factory=list)

    def read(self, paths: Sequence[Path]) -> int:
        """Read the conversations in files, report the outcome, and return the exit code."""
        conversations = []
        for path in paths:
            new = self._conversations_in(path)
            if not new:
                self.output.note(f"{path} contains no message of a user or an assistant.")
            conversations += new
        writer = self.writer()
        return self._report(self._run(conversations, writer), writer)

    def watch(self, folder: Path, interval_s: float) -> NoReturn:
        """Read each log in a folder, and below, once it has been quiet, until interrupted.

        interval_s: how often to look, and how long a log must be quiet. The memory file records
        which messages were read, so that the next watch continues where this one ends.
        """
        if not folder.is_dir():
            raise typer.BadParameter(f"--watch takes a folder, and {folder} is not one.")
        signals = signals_of_this_command()
        states: dict[Path, _State] = {}
        while True:
            for path, state in _quiet(folder, interval_s):
                if states.get(path) != state and self._is_read(path):
                    states[path] = state
                if signals.requested:
                    raise typer.Exit(signals.code or Code.INTERRUPTED)
                # A signal that ends a run must also end the wait for the next one.
                signals.open()
            time.sleep(interval_s)

    def _is_read(self, path: Path) -> bool:
        """Read a log, and report what is new; return whether it can wait until it changes."""
        try:
            conversations = self._conversations_in(path)
        except StoreError as error:
            self.output.note(f"{path} is skipped: {error.message}")
            return True
        try:
            if conversations:
                writer = self.writer()
                outcome = self._run(conversations, writer)
                if outcome.run_id is not None or outcome.unread:
                    self._report(outcome, writer)
        except FileHeld as error:
            self.output.note(f"{error.message} Retrying.")
            return False
        return True

    def _conversations_in(self, path: Path) -> list[Conversation]:
        """Return the conversations in a file; "-" is stdin. Raises `StoreError`."""
        from slowwave.store.conversations.conversation_formats import read_conversations

        raw, saved_at = _content_of(path)
        name = "stdin" if saved_at is None else path.name
        skipped: list[SkippedLine] | None = [] if self.skips_invalid else None
        conversations = read_conversations(
            raw, name, self.format, said_at=self.said_at, saved_at=saved_at, skipped=skipped
        )
        for line in skipped or ():
            self.output.note(f"Skipped line {line.line} of {line.file}: {line.reason}.")
            self.skipped.append(line)
        return conversations

    def _run(self, conversations: Sequence[Conversation], writer: Writer) -> IngestOutcome:
        from slowwave.consolidation.ingest.ingest import IngestInputs, ingest

        signals = signals_of_this_command()
        signals.open()
        with shown_progress(self.output.quiet) as progress:
            now = datetime.now(UTC)
            more = self.options, self.embedder, writer, now, progress
            outcome = ingest(IngestInputs(self.file, conversations, *more), self.dry_run, signals)
        signals.close()
        return outcome

    def _report(self, outcome: IngestOutcome, writer: Writer) -> int:
        self.output.show(*as_text(outcome, self.options.tenant, self.dry_run, writer))
        self.output.result(
            "ingest",
            file=str(self.file),
            dry_run=self.dry_run,
            **as_json(outcome, writer),
            skipped=list(map(asdict, self.skipped)),
        )
        # A part that failed is queued: that is partly done, and reported by each run.
        verdict = "partial" if outcome.verdict == "failed" else outcome.verdict
        code: int = signals_of_this_command().code or OF_VERDICT[verdict]
        summary = (
            f"{self.file}: conversation parts queued for a model: {len(outcome.failed)}, "
            f"unreadable answers: {len(outcome.of('raw'))}."
        )
        broken_off = outcome.broken_off
        code = report_problems(
            self.output, code, writer, self.recordings, broken_off=broken_off, summary=summary
        )
        return report_late_failures(self.output, code)


def _content_of(path: Path) -> tuple[bytes, str | None]:
    """Return the content of a file, and when it was changed; None for stdin."""
    is_stdin = str(path) == "-"
    with (
        file_errors("read", path, "Nothing was ingested."),
        nullcontext(sys.stdin.buffer) if is_stdin else open_text(path) as stream,
    ):
        raw = stream.read()
        changed = None if is_stdin else os.fstat(stream.fileno()).st_mtime
    if changed is None:
        return raw, None
    return raw, timestamp(datetime.fromtimestamp(min(changed, time.time()), UTC))


def _quiet(folder: Path, interval_s: float) -> Iterator[tuple[Path, _State]]:
    """Yield the logs that did not change in the last seconds, each with its state."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in _ENDINGS:
            continue
        try:
            status = path.stat()
        except OSError:
            continue  # it is gone, or unreadable
        # A time in the future comes from a wrong clock: the log must not be left unread.
        if path.is_file() and not 0 <= time.time() - status.st_mtime < interval_s:
            yield path, (status.st_size, status.st_mtime_ns, status.st_ino)
