"""The mirror of another agent's file: made, brought up to date, and written back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from slowwave.store.errors import ChangedSince, StoreError, UnusableFile
from slowwave.store.file import maintenance_lock, new_file, open_any_version, open_writing
from slowwave.store.formats.base import ChangedMeanwhile, Format, OpenFile, TooFull
from slowwave.store.formats.coming_back import CannotComeBack
from slowwave.store.opening import open_database
from slowwave.store.undo.obstacles import Obstacle

from .links import format_of, keep_format
from .pull import Pulled, pull
from .push import (
    due,
    keep_what_leaves,
    keep_what_was_written,
    link_what_is_said_already,
    take_back_latest,
)

_SUFFIX = ".slowwave.db"
# How often a change is tried that an agent came in between of.
_TRIES = 20
_HINT = "Nothing was changed. Undo the other proposals one by one, or 'restore' single memories."


def state_beside(path: Path) -> Path:
    """Return the default place of a file's mirror: beside it."""
    real = path.resolve()
    return real.with_name(f"{real.name}{_SUFFIX}")


def mirrored_format(state: Path) -> str | None:
    """Return the format that a mirror was made for; None without one. Raises `UnusableFile`."""
    if not state.exists():
        return None
    with open_any_version(state) as file:
        name = format_of(file)
    if name is None:
        raise UnusableFile(
            f"{state} is a memory file, but the mirror of no other.",
            "Name another place with --state.",
        )
    return name


@contextmanager
def naming(copy: Path, path: Path) -> Iterator[None]:
    """Let errors about a copy name the file that the user named."""
    try:
        yield
    except StoreError as error:
        error.message = error.message.replace(str(copy), str(path))
        raise


@contextmanager
def _for_its_owner() -> Iterator[None]:
    """Create files readable by their owner only: a mirror keeps texts that the other file lost."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def as_long_as_others_write(step: Callable[[], None]) -> None:
    """Repeat a step that others came in between of, some times. Raises `ChangedMeanwhile`."""
    import tenacity

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ChangedMeanwhile),
        stop=tenacity.stop_after_attempt(_TRIES),
        wait=tenacity.wait_random(0.01, 0.1),
        reraise=True,
    )
    again(step)


def _obstacles(error: CannotComeBack) -> tuple[Obstacle, ...]:
    return tuple(
        Obstacle("memories", memory, None, None, None, None, None, why)
        for memory, why in error.whys.items()
    )


@dataclass(frozen=True)
class Mirror:
    """Another agent's file, and the memory file in which it is mirrored."""

    path: Path
    format: Format
    state: Path

    def refuse_read_only(self) -> None:
        """Refuse to begin where the end could not be written. Raises `StoreError`."""
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise StoreError(f"{self.path} is read only.", "Nothing was changed.")
        # A file is written anew beside the old one, or needs a log there.
        folder = self.path.resolve().parent
        if self.path.is_file() and not os.access(folder, os.W_OK):
            raise StoreError(f"The folder of {self.path} is read only.", "Nothing was changed.")

    def make(self) -> None:
        """Make the memory file, if it is not there. Raises `StoreError`.

        Of what is no file of the format there is none: another format may be named for it then.
        """
        if self.state.exists():
            return
        with self.format.opened(self.path, writes=False):
            pass
        with _for_its_owner(), new_file(self.state) as file, file.transaction():
            keep_format(file, self.format.name)

    @property
    def outlives_a_failed_write(self) -> bool:
        """Whether the next run writes what this one could not."""
        return True

    @contextmanager
    def held(self, now: datetime) -> Iterator[None]:
        """Have the memory file say what the other file says, for runs within the block.

        `settle` lets the other file say what became of it. Raises `StoreError`.
        """
        self.refuse_read_only()
        self.make()
        self.settle(now)
        yield

    @contextmanager
    def picture(self, now: datetime) -> Iterator[Mirror]:
        """Provide a copy of the mirror that says what the other file says now.

        Nothing is written beside the other file.
        """
        with TemporaryDirectory(prefix="slowwave-") as folder:
            copy = Mirror(self.path, self.format, Path(folder) / "mirror.db")
            if self.state.exists():
                with (
                    open_any_version(self.state) as file,
                    open_database(copy.state, "rwc") as target,
                ):
                    file.db.conn.backup(target)
            copy.make()
            with self.format.opened(self.path, writes=False) as other:
                copy.pull(other, now)
            with naming(copy.state, self.path):
                yield copy

    def refuse_what_does_not_fit(self) -> None:
        """Work out what the other file would be, and write nothing.

        Raises `UnusableFile`, or `ChangedSince` with each memory that cannot come back.
        """
        with (
            self.format.opened(self.path, writes=True) as other,
            open_writing(self.state) as file,
        ):
            try:
                other.prepare(due(file, other.records))
            except CannotComeBack as error:
                raise ChangedSince(error.message, _HINT, _obstacles(error)) from error

    def settle(self, now: datetime) -> Pulled:
        """Take in what the agent changed, then write what runs made of it.

        What a killed run left is done with it: each step says the same when it is done again. So
        it is done again where the agent writes meanwhile, some times. Raises `StoreError`; the
        mirror is then ahead of the other file, and the next call goes on.
        """
        pulled = Pulled()
        with maintenance_lock(self.state):
            self._compute_vectors()
            as_long_as_others_write(lambda: pulled.include(self._settled_within_limits(now)))
            with (
                self.format.opened(self.path, writes=False) as other,
                open_writing(self.state) as file,
                file.transaction(),
            ):
                link_what_is_said_already(file, other.records)
        return pulled

    def _compute_vectors(self) -> None:
        """Have the vectors ready that are to be written: the agent need not wait for them."""
        if not self.format.may_need_vectors:
            return
        with (
            self.format.opened(self.path, writes=False) as other,
            open_writing(self.state) as file,
        ):
            change = due(file, other.records)
        self.format.compute_vectors(self.path, change)

    def _settled_within_limits(self, now: datetime) -> Iterator[Pulled]:
        """Yield what `_settled` does; what its agent has no room for is taken back first."""
        while True:
            try:
                yield from self._settled(now)
            except TooFull as error:
                with open_writing(self.state) as file, file.transaction():
                    key = take_back_latest(file, now)
                if key is None:
                    raise
                yield Pulled(stale={key: error.message})
            else:
                return

    def _settled(self, now: datetime) -> Iterator[Pulled]:
        """Yield what was pulled, then write: what was pulled counts even if writing fails."""
        with self.format.opened(self.path, writes=True) as other:
            yield self.pull(other, now)
            with open_writing(self.state) as file:
                change = due(file, other.records)
                if not change and not other.is_unfinished:
                    return
                written = other.prepare(change)
                with file.transaction():
                    keep_what_leaves(file, change, written)
                other.commit()
                with file.transaction():
                    keep_what_was_written(file, change, written)

    def pull(self, other: OpenFile, now: datetime) -> Pulled:
        """Bring the memory file up to date with the other file as it was read."""
        with open_writing(self.state) as file, file.transaction():
            return pull(file, other.records, now)
