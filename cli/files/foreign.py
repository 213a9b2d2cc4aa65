"""FILE as the memory file of another agent: recognised, mirrored, and written back to."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from slowwave.store.errors import StoreError

from .databases import mirror_of_tenant

if TYPE_CHECKING:
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.file import MemoryFile
    from slowwave.store.formats.base import Budget
    from slowwave.store.formats.base import Format as ForeignFormat
    from slowwave.store.mirror.mirror import Mirror

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Of which format FILE is, if it is another agent's: see 'slowwave formats'.",
    ),
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="PATH",
        help="Where the mirror of another agent's file lies; by default beside it.",
    ),
]


Done = TypeVar("Done")


@dataclass(frozen=True)
class Place:
    """What FILE stands for: a memory file, or the file of another agent with its mirror."""

    named: Path
    mirror: Mirror | None

    def why_no_texts(self) -> str | None:
        """Return why a run may add no texts to it; None if it may."""
        return None if self.mirror is None else self.mirror.format.why_no_texts(self.named)

    def lend(self, embedder: Embedder) -> None:
        """Lend the model whose vectors new texts get, in a file that has vectors of its own."""
        from slowwave.store.formats.lent_model import LentModel

        if self.mirror is not None:
            self.mirror.format.model = LentModel(embedder.name, embedder.encode)

    def remark(self) -> str | None:
        """Return what is to be said about another agent's file before it is used."""
        return None if self.mirror is None else self.mirror.format.remark(self.named)

    def budget(self) -> Budget | None:
        """Return how full another agent's file is, where that has a limit."""
        return None if self.mirror is None else self.mirror.format.budget(self.named)

    @contextmanager
    def reading(self) -> Iterator[Path]:
        """Provide a memory file to read: FILE itself, or what another agent's file says now."""
        if self.mirror is None:
            yield self.named
            return
        with self.mirror.picture(datetime.now(UTC)) as picture:
            yield picture.state

    @contextmanager
    def brought_up_to_date(self) -> Iterator[Path]:
        """Provide a memory file to change; `write_back` lets the other file say what it says."""
        if self.mirror is None:
            yield self.named
            return
        with self.mirror.held(datetime.now(UTC)):
            yield self.mirror.state

    def change(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Do something to the memory file, and return what comes of it.

        With another agent's file it is rehearsed first, to see whether that file can hold it.
        Raises `StoreError`; what a killed command left to be written is written even then.
        """
        if self.mirror is None:
            return _changed(self.named, do)
        try:
            self.rehearse(do)
        except StoreError:
            if self.mirror.outlives_a_failed_write and self.mirror.state.exists():
                self.write_back()
            raise
        with self.brought_up_to_date() as memory_file:
            done = _changed(memory_file, do)
            self.write_back()
        return done

    def rehearse(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Do something to a copy of the memory file, and return what comes of it."""
        from slowwave.store.check import refuse_damaged
        from slowwave.store.file import open_copy

        if self.mirror is None:
            with open_copy(self.named) as file:
                refuse_damaged(file)
                return do(file)
        with self.mirror.picture(datetime.now(UTC)) as copy:
            done = _changed(copy.state, do)
            copy.refuse_what_does_not_fit()
        return done

    def too_full(self) -> str | None:
        """Say so if another agent's file has more than its agent loads; None if it has not."""
        budget = self.budget()
        if budget is None or budget.used <= budget.most:
            return None
        return (
            f"{self.named} has {budget.used:,} {budget.unit} now, and its agent takes "
            f"{budget.most:,}: it does not see the rest."
        )

    def dead_links(self) -> frozenset[str]:
        """Return what another agent's file links to and does not have."""
        return frozenset() if self.mirror is None else self.mirror.format.dead_links(self.named)

    @property
    def outlives_a_failed_write(self) -> bool:
        """Whether the next run writes what this one could not write back."""
        return self.mirror is None or self.mirror.outlives_a_failed_write

    def write_back(self) -> dict[str, str]:
        """Write what became of a mirror; say of proposals that are stale by now why, by their keys.

        Raises `StoreError`; the next command that changes something writes it then.
        """
        return {} if self.mirror is None else self.mirror.settle(datetime.now(UTC)).stale


def _changed(memory_file: Path, do: Callable[[MemoryFile], Done]) -> Done:
    """Do something to a memory file that no other run may touch meanwhile."""
    from slowwave.store.check import refuse_damaged
    from slowwave.store.file import maintenance_lock, open_writing

    with maintenance_lock(memory_file), open_writing(memory_file) as file:
        refuse_damaged(file)
        return do(file)


def refuse_foreign(file: Path) -> None:
    """Refuse another agent's file where only one of slowwave's own makes sense."""
    from slowwave.store.formats.known_formats import recognised
    from slowwave.store.validate import is_foreign_file

    if is_foreign_file(file) and (found := recognised(file)):
        raise typer.BadParameter(
            f"{file} looks like {found[0].name}, {found[0].about}: only its own agent adds to it."
        )


def place_of(
    file: Path,
    format: str | None,
    state: Path | None,
    writes: bool,
    embedder: Embedder | None = None,
) -> Place:
    """Find out what FILE is. Raises `StoreError`, and wrong usage where it could be several things.

    writes: whether it is to be changed; the first time, its format has to be named.
    embedder: what makes vectors of new texts; by default the packaged model.
    """
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder

    place = _place_of(file, format, state, writes)
    place.lend(embedder or SentenceEmbedder())
    return place


def _place_of(file: Path, format: str | None, state: Path | None, writes: bool) -> Place:
    from slowwave.store.formats.known_formats import format_named, recognised
    from slowwave.store.mirror.mirror import Mirror, mirrored_format, state_beside
    from slowwave.store.postgres.url import DatabaseUrl
    from slowwave.store.validate import is_foreign_file

    if isinstance(file, DatabaseUrl):
        tenant = mirror_of_tenant(file, format, state, writes)
        return Place(tenant.path, tenant)
    if format is None and state is None and not is_foreign_file(file):
        return Place(file, None)  # the store says what is wrong with it, if anything is
    state = state or state_beside(file)
    known = mirrored_format(state)
    if format is not None and known not in (None, format):
        raise typer.BadParameter(f"{file} was mirrored as {known} before, in {state}.")
    name = format or known
    if name is not None:
        named = _usable(format_named(name), file, writes)
        if known is None:
            refuse_another_format(named, file)
        return Place(file, Mirror(file, named, state))
    found = recognised(file)
    if not found:
        if file.is_file() and (folder := recognised(file.resolve().parent)):
            raise typer.BadParameter(
                f"{file} is a part of {folder[0].about}. Name the folder: {file.parent}"
            )
        return Place(file, None)
    if len(found) > 1:
        names = " or ".join(one.name for one in found)
        raise typer.BadParameter(f"{file} may be {names}: say which with --format.")
    if _usable(found[0], file, writes) and writes:
        raise typer.BadParameter(
            f"{file} looks like {found[0].name}, {found[0].about}. Look at what would be done with "
            f"--dry-run; to have it done, say once: --format {found[0].name}"
        )
    return Place(file, Mirror(file, found[0], state))


def refuse_another_format(named: ForeignFormat, file: Path) -> None:
    """Refuse a format that is named for a file which looks like another one, and not like it."""
    from slowwave.store.formats.known_formats import recognised

    others = recognised(file)
    if others and not named.recognises(file):
        raise typer.BadParameter(
            f"{file} looks like {others[0].name}, {others[0].about}, and not like {named.name}."
        )


def _usable(format: ForeignFormat, file: Path, writes: bool) -> ForeignFormat:
    """Give the format back, unless nothing may be written to its files and something is to be."""
    if writes and format.is_only_read:
        raise typer.BadParameter(
            f"{format.about} is only read. Look at it with --dry-run, or take it into a file of "
            f"slowwave's own: slowwave import OWN.db {shlex.quote(str(file))} --from {format.name}"
        )
    return format
