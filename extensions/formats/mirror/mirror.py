"""The mirror of another agent's file: created, updated, and written back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

from slowwave.extensions.formats.base import (
    CannotComeBack,
    ChangedMeanwhile,
    Format,
    OpenFile,
    TooFull,
    shortened,
)
from slowwave.store.errors import ChangedSince, StoreError, UnusableFile, file_errors
from slowwave.store.file import migrate_file, new_file, open_any_version, open_writing
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import read_memories
from slowwave.store.opening import open_database
from slowwave.store.places import Budget
from slowwave.store.undo.obstacles import Obstacle

from .links import drop_images, format_of, keep_format
from .pull import pull
from .push import (
    compute_change,
    keep_what_was_written,
    link_existing_texts,
    reject_latest,
    store_removed_images,
)

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Result

_SUFFIX = ".slowwave.db"
# How often a change is tried while the agent writes.
_TRIES = 20
_HINT = (
    "Nothing was changed. Undo the other proposals individually ('slowwave log FILE RUN' lists "
    "them), or restore single memories: slowwave undo FILE MEMORY"
)


def default_state(path: Path) -> Path:
    """Return the default path of a file's mirror: next to it."""
    real = path.resolve()
    return real.with_name(f"{real.name}{_SUFFIX}")


def mirrored_format(state: Path) -> str | None:
    """Return the format of a mirror; None if there is no file. Raises `UnusableFile`."""
    with file_errors("read", state, error_type=UnusableFile):
        if not state.exists():
            return None
    with open_any_version(state) as file:
        name = format_of(file)
    if name is None:
        raise UnusableFile(
            f"{state} is a memory file, but not a mirror.", "Specify another path with --state."
        )
    return name


@contextmanager
def naming(copy: Path, path: Path) -> Iterator[None]:
    """Let errors about a copy name the file that the user specified."""
    try:
        yield
    except StoreError as error:
        error.message = error.message.replace(str(copy), str(path))
        raise


def retry_while_others_write(step: Callable[[], None]) -> None:
    """Retry a step that other programs interfere with. Raises `ChangedMeanwhile` in the end."""
    import tenacity

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ChangedMeanwhile),
        stop=tenacity.stop_after_attempt(_TRIES),
        wait=tenacity.wait_random(0.01, 0.1),
        reraise=True,
    )
    again(step)


@dataclass(frozen=True)
class Mirror:
    """Another agent's file, and the memory file that mirrors it."""

    # Whether the next run writes what one could not.
    outlives_a_failed_write: ClassVar[bool] = True
    path: Path
    format: Format
    state: Path

    def refuse_read_only(self) -> None:
        """Refuse to begin if the result could not be written. Raises `StoreError`."""
        for path in self.format.files(self.path):
            if path.exists() and not os.access(path, os.W_OK):
                raise StoreError(f"{path} is read-only.", "Nothing was changed.")
        # A new file is written next to the old one, or a log is needed there.
        folder = self.path.resolve().parent
        if self.path.is_file() and not os.access(folder, os.W_OK):
            raise StoreError(f"The folder of {self.path} is read-only.", "Nothing was changed.")

    def make(self) -> None:
        """Create the memory file, or migrate its older schema. Raises `StoreError`.

        A file of another format gets none, so that its format can still be specified.
        """
        if self.state.exists():
            migrate_file(self.state)
            return
        with self.format.opened(self.path, writes=False):
            pass
        # Readable by its owner only: a mirror stores texts that the other file no longer contains.
        before = os.umask(0o077)
        try:
            with new_file(self.state) as file, file.transaction():
                keep_format(file, self.format.name)
        finally:
            os.umask(before)

    @contextmanager
    def held(self, now: datetime) -> Iterator[None]:
        """Update the memory file for runs within the block.

        `settle` writes their changes into the other file. Raises `StoreError`.
        """
        self.refuse_read_only()
        self.make()
        self.settle(now)
        yield

    @contextmanager
    def picture(self, now: datetime) -> Iterator[Mirror]:
        """Provide an updated copy of the mirror; nothing is written next to the other file."""
        with TemporaryDirectory(prefix="slowwave-") as folder:
            copy = Mirror(self.path, self.format, Path(folder) / "mirror.db")
            with naming(copy.state, self.path):
                with self.format.opened(self.path, writes=False) as opened:
                    self._fill(copy, opened, now)
                yield copy

    def _fill(self, copy: Mirror, opened: OpenFile, now: datetime) -> None:
        """Copy the memory file, and update the copy from the other file."""
        if self.state.exists():
            with (
                open_any_version(self.state) as file,
                open_database(copy.state, "rwc") as target,
            ):
                file.conn.backup(target)
        copy.make()
        copy.pull(opened, now)

    def refuse_what_does_not_fit(self) -> None:
        """Compute the new content of the other file, and write nothing.

        Raises `UnusableFile`, or `ChangedSince` with each memory that cannot be restored.
        """
        with self.format.opened(self.path, writes=True) as opened, open_writing(self.state) as file:
            try:
                opened.prepare(compute_change(file, opened.records))
            except CannotComeBack as error:
                whys = error.whys.items()
                obstacles = tuple(Obstacle("memories", memory, why=why) for memory, why in whys)
                raise ChangedSince(error.message, _HINT, obstacles) from error

    def explained(self, error: ChangedSince) -> ChangedSince:
        """Return an error about an undo that names entries that the agent removed since."""
        with open_any_version(self.state) as file:
            name = {each.id: each.source or shortened(each.content) for each in read_memories(file)}
        why = "'{}' was changed after the run: its agent edited or deleted it."
        obstacles = tuple(
            replace(item, why=why.format(name[item.row]))
            if item.now == "archived" and not item.run and item.row in name
            else item
            for item in error.obstacles
        )
        message = obstacles[0].why if len(obstacles) == 1 else error.message
        return ChangedSince(message, _HINT, obstacles)

    def settle(self, now: datetime) -> dict[str, str]:
        """Pull what the agent changed, then write the changes of runs, also those of a killed run.

        Returns why proposals are stale, by their keys. Each step is idempotent, so it is retried
        while the agent writes. Raises `StoreError`; the mirror is then ahead of the other file, and
        the next call continues.
        """
        stale: dict[str, str] = {}
        with maintenance_lock(self.state):
            self._compute_vectors()
            retry_while_others_write(lambda: self._settle_within_limits(now, stale))
            with (
                self.format.opened(self.path, writes=False) as opened,
                open_writing(self.state) as file,
                file.transaction(),
            ):
                link_existing_texts(file, opened.records)
        return stale

    def apply(self, planned: Sequence[Result], now: datetime) -> None:
        """Apply the plan of a dry run to this copy, as the night does."""
        from slowwave.consolidation.running.apply import apply_proposal
        from slowwave.consolidation.running.run_in_file import RunInFile

        model = self.format.model
        with open_writing(self.state) as file:
            run = RunInFile(file, now, {})
            with run.writing(), file.transaction():
                for result in planned:
                    proposal, vector = result.proposal, None
                    if model is not None and not proposal.keeps_text:
                        vector = model.name, model.vector(proposal.draft.text)
                    apply_proposal(file, run, replace(result, vector=vector))

    def fit(self, run_id: str | None, now: datetime) -> Budget | None:
        """Have `settle` shorten entries until the other file fits; return how full it is then.

        run_id: as for `renew`. Raises `StoreError`.
        """
        from .successors import renew

        with maintenance_lock(self.state), open_writing(self.state) as file:
            with self.format.opened(self.path, writes=False) as opened:
                opened.prepare(compute_change(file, opened.records))
                keys = renew(file, opened.to_shorten(), run_id, now)
            with self.format.opened(self.path, writes=False) as opened:
                opened.prepare(compute_change(file, opened.records))
                budget = opened.budget()
        shortened = tuple(key.split(" ")[0] for key in keys)
        return None if budget is None else replace(budget, shortened=shortened)

    def _compute_vectors(self) -> None:
        """Compute the vectors to write, so that the agent need not wait for them."""
        if not self.format.may_need_vectors:
            return
        opening = self.format.opened(self.path, writes=False)
        with opening as opened, open_writing(self.state) as file:
            change = compute_change(file, opened.records)
        self.format.compute_vectors(self.path, change)

    def _settle_within_limits(self, now: datetime, stale: dict[str, str]) -> None:
        """Pull and write; withdraw the latest proposals that the agent has no room for."""
        while True:
            try:
                return self._pull_and_write(now, stale)
            except TooFull as error:
                with open_writing(self.state) as file, file.transaction():
                    key = reject_latest(file, error.message, now)
                if key is None:
                    raise
                stale[key] = error.message

    def _pull_and_write(self, now: datetime, stale: dict[str, str]) -> None:
        """Pull, then write: what is stale is noted even if the write fails."""
        with self.format.opened(self.path, writes=True) as opened:
            stale.update(self.pull(opened, now))
            self.push(opened, opened.commit)

    def push(self, opened: OpenFile, commit: Callable[[], None]) -> None:
        """Write what the mirror has changed, and note in the mirror how it was written.

        commit: writes what was prepared. Raises `ChangedMeanwhile`, and `Unreadable`.
        """
        with open_writing(self.state) as file:
            change = compute_change(file, opened.records)
            if not change and not opened.is_unfinished:
                return
            written = opened.prepare(change)
            with file.transaction():
                imaged = store_removed_images(file, change, written)
            try:
                commit()
            except ChangedMeanwhile:
                # An image tells the next pull that a run may have removed the entry.
                if not opened.has_written:
                    with file.transaction():
                        drop_images(file, imaged)
                raise
            with file.transaction():
                keep_what_was_written(file, change, written)

    def pull(self, opened: OpenFile, now: datetime) -> dict[str, str]:
        """Update the memory file from the other file as it was read; return what is stale."""
        with open_writing(self.state) as file, file.transaction():
            return pull(file, opened.records, now)
