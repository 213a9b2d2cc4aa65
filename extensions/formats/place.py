"""FILE as the memory file of another agent: recognised, mirrored, and written back to."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from slowwave.store.errors import StoreError
from slowwave.store.places import Address, Budget, Place, PlaceKind, changed

if TYPE_CHECKING:
    from slowwave.store.file import MemoryFile

    from .base import Format
    from .mirror.mirror import Mirror

Done = TypeVar("Done")


@dataclass(frozen=True)
class MirroredPlace(Place):
    """What another agent keeps, with the memory file in which it is mirrored."""

    mirror: Mirror
    # Why nothing may be written to it; None if something may.
    read_only: str | None = None

    @property
    def is_memory_file(self) -> bool:
        """Whether it is the memory file itself: it is not."""
        return False

    def refuse_changes(self) -> None:
        """Raise wrong usage if its format was not confirmed yet, or is only read."""
        if self.read_only is not None:
            raise typer.BadParameter(self.read_only)

    @contextmanager
    def reading(self) -> Iterator[Path]:
        """Provide a memory file that says what the other file says now."""
        with self.mirror.picture(datetime.now(UTC)) as picture:
            yield picture.state

    @contextmanager
    def changing(self) -> Iterator[Path]:
        """Provide the mirror to change; `write_back` lets the other file say what it says."""
        self.refuse_changes()
        with self.mirror.held(datetime.now(UTC)):
            yield self.mirror.state

    def write_back(self) -> dict[str, str]:
        """Write what became of the mirror; return why proposals are stale, by their keys.

        Raises `StoreError`; the next command that changes something writes it then.
        """
        return self.mirror.settle(datetime.now(UTC)).stale

    @property
    def outlives_a_failed_write(self) -> bool:
        """Whether the next run writes what this run could not write back."""
        return self.mirror.outlives_a_failed_write

    def change(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Change the mirror and write it back; return what `do` does.

        It is rehearsed first, to see whether the other file can hold it. Raises `StoreError`; what
        a killed command left to be written is written even then.
        """
        self.refuse_changes()
        try:
            self.rehearse(do)
        except StoreError:
            if self.mirror.outlives_a_failed_write and self.mirror.state.exists():
                self.write_back()
            raise
        with self.changing() as memory_file:
            done = changed(memory_file, do)
            self.write_back()
        return done

    def rehearse(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Change a copy of the mirror; return what `do` does. Raises `StoreError`."""
        with self.mirror.picture(datetime.now(UTC)) as copy:
            done = changed(copy.state, do)
            copy.refuse_what_does_not_fit()
        return done

    def why_no_texts(self) -> str | None:
        """Return why a run may not add texts; None if it may."""
        return self.mirror.format.why_no_texts(self.named)

    def lend(self, model: str, encode: Callable[[Sequence[str]], Any]) -> None:
        """Lend the model for the vectors of new texts, where the file has vectors of its own."""
        from .lent_model import LentModel

        self.mirror.format.model = LentModel(model, encode)

    def remark(self) -> str | None:
        """Return what a user should read before it is used; None for nothing."""
        return self.mirror.format.remark(self.named)

    def budget(self) -> Budget | None:
        """Return how full it is, where it has a limit."""
        return self.mirror.format.budget(self.named)

    def too_full(self) -> str | None:
        """Return a sentence if it holds more than its agent loads."""
        budget = self.budget()
        if budget is None or budget.used <= budget.most:
            return None
        return (
            f"{self.named} has {budget.used:,} {budget.unit} now, and its agent takes "
            f"{budget.most:,}: it does not see the rest."
        )

    def dead_links(self) -> frozenset[str]:
        """Return the names that it links to and does not have."""
        return self.mirror.format.dead_links(self.named)


class ForeignFiles(PlaceKind):
    """Other agents' files, each with its mirror."""

    def find(self, file: Path, format: str | None, state: Path | None) -> Place | None:
        """Return another agent's file; None for what is of no known format.

        Raises `StoreError`, and wrong usage where it could be of several formats.
        """
        from .mirror.mirror import mirrored_format, state_beside

        if isinstance(file, Address):
            return None
        state = state or state_beside(file)
        mirrored = mirrored_format(state)
        if format is not None and mirrored not in (None, format):
            raise typer.BadParameter(f"{file} was mirrored as {mirrored} before, in {state}.")
        name = format or mirrored
        return _recognised(file, state) if name is None else _named(name, file, state, mirrored)

    def refuse_to_add(self, file: Path) -> None:
        """Raise wrong usage for another agent's file."""
        from .known_formats import recognised

        if found := recognised(file):
            raise typer.BadParameter(f"{_looks(file, found[0])}: only its own agent adds to it.")

    @contextmanager
    def lines(
        self, source: Path, format: str, note: Callable[[str], None]
    ) -> Iterator[Iterator[bytes]]:
        """Provide the memories of another agent's file as JSON lines."""
        from .known_formats import format_named
        from .mirror.pull import line_of

        named = format_named(format)
        _refuse_another_format(named, source)
        if (remark := named.remark(source)) is not None:
            note(remark)
        with named.opened(source, writes=False) as other:
            lines = [line_of(record) for record in other.records]
        yield (json.dumps(line).encode() for line in lines if line is not None)


def mirrored_place(named: Path, mirror: Mirror, read_only: str | None = None) -> MirroredPlace:
    """Return a place, and lend it the packaged model."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder

    place, embedder = MirroredPlace(named, mirror, read_only), SentenceEmbedder()
    place.lend(embedder.name, embedder.encode)
    return place


def _named(name: str, file: Path, state: Path, mirrored: str | None) -> Place:
    from .known_formats import format_named
    from .mirror.mirror import Mirror

    format = format_named(name)
    if mirrored is None:
        _refuse_another_format(format, file)
    return mirrored_place(file, Mirror(file, format, state), _only_read(format, file))


def _recognised(file: Path, state: Path) -> Place | None:
    from .known_formats import recognised
    from .mirror.mirror import Mirror

    found = recognised(file)
    if not found:
        if file.is_file() and (folder := recognised(file.resolve().parent)):
            raise typer.BadParameter(
                f"{file} is a part of {folder[0].about}. Name the folder: {file.parent}"
            )
        return None
    if len(found) > 1:
        names = " or ".join(format.name for format in found)
        raise typer.BadParameter(f"{file} may be {names}: say which with --format.")
    (format,) = found
    unconfirmed = (
        f"{_looks(file, format)}. Look at what would be done with "
        f"--dry-run; to have it done, say once: --format {format.name}"
    )
    read_only = _only_read(format, file) or unconfirmed
    return mirrored_place(file, Mirror(file, format, state), read_only)


def _refuse_another_format(named: Format, file: Path) -> None:
    """Refuse a format that is named for a file which looks like another one, and not like it."""
    from .known_formats import recognised

    others = recognised(file)
    if others and not named.recognises(file):
        raise typer.BadParameter(f"{_looks(file, others[0])}, and not like {named.name}.")


def _looks(file: Path, format: Format) -> str:
    return f"{file} looks like {format.name}, {format.about}"


def _only_read(format: Format, file: Path) -> str | None:
    """Return why nothing may be written to files of a format; None if something may."""
    if not format.is_only_read:
        return None
    return (
        f"{format.about} is only read. Look at it with --dry-run, or take it into a file of "
        f"slowwave's own: slowwave import OWN.db {shlex.quote(str(file))} --from {format.name}"
    )
