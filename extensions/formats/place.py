"""FILE as the memory file of another agent: recognized, mirrored, and written back to."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from slowwave.store.connection import translate_errors
from slowwave.store.errors import ChangedSince, StoreError, UnusableFile
from slowwave.store.file import MemoryFile
from slowwave.store.opening import is_database
from slowwave.store.places import Address, Budget, Place, PlaceKind, Repeated, Untouched, change
from slowwave.store.validate import is_foreign_file

from .base import Unreadable
from .known_formats import format_named, recognised, unrecognised
from .mirror.mirror import Mirror, default_state, mirrored_format
from .mirror.pull import lines_of
from .vector_model import EmbeddingModel

if TYPE_CHECKING:
    from slowwave.store.erasing import Eraser

    from .base import Format

Done = TypeVar("Done")
# The suffixes of agents' text files.
_TEXTS = (".jsonl", ".md")
_NOT_OURS = "This command takes only slowwave's own memory files."


@dataclass(frozen=True)
class MirroredPlace(Place):
    """Another agent's file, with the memory file that mirrors it."""

    is_memory_file = False
    mirror: Mirror
    # Why it must not be written; None if it may be.
    read_only: str | None = None

    def refuse_changes(self) -> None:
        """Raise wrong usage if its format was not confirmed yet, or is read-only."""
        if self.read_only is not None:
            raise typer.BadParameter(self.read_only)

    @contextmanager
    def reading(self) -> Iterator[Path]:
        """Provide a memory file with the current content of the other file."""
        with self.mirror.picture(datetime.now(UTC)) as picture:
            yield picture.state

    @contextmanager
    def changing(self) -> Iterator[Path]:
        """Provide the mirror to change; `write_back` changes the other file."""
        self.refuse_changes()
        with self.mirror.held(datetime.now(UTC)):
            yield self.mirror.state

    def write_back(self) -> dict[str, str]:
        """Write the changes of the mirror; return why proposals were withdrawn, by their keys.

        Raises `StoreError`; the next command that changes something writes them then.
        """
        return self.mirror.settle(datetime.now(UTC))

    @property
    def outlives_a_failed_write(self) -> bool:
        """Whether the next run writes what this run could not write back."""
        return self.mirror.outlives_a_failed_write

    def change(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Change the mirror and write it back; return what `do` does.

        A dry run checks whether the other file can store the change. Raises `StoreError`; the
        unwritten changes of a killed command are written even then.
        """
        self.refuse_changes()
        try:
            self.dry_run(do)
        except StoreError:
            if self.mirror.outlives_a_failed_write and self.mirror.state.exists():
                self.write_back()
            raise
        with self.changing() as memory_file:
            done = change(memory_file, do)
            self.write_back()
        return done

    def clean(self) -> None:
        """Remove the bytes of deleted rows from the mirror and the other file."""
        super().clean()
        self.mirror.format.clean(self.named)

    def lines_with(self, eraser: Eraser) -> tuple[str, ...]:
        """Return the lines of text files that have an erased text, as `path:line`.

        Of a database, its columns, as `table.column`.
        """
        from slowwave.store.erasing import find_left

        from .sqlite_file import looking
        from .text_file import text_of

        if is_database(self.named):
            with translate_errors(self.named), looking(self.named) as db:
                database = MemoryFile(self.named, db, None)
                eraser.offer_to(database)
                return tuple(find_left(database))
        files = sorted(self.named.rglob("*")) if self.named.is_dir() else [self.named]
        return tuple(
            f"{file}:{line}" for file in files for line in eraser.lines_of(text_of(file) or "")
        )

    def dry_run(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Change a copy of the mirror; return what `do` does. Raises `StoreError`."""
        with self.mirror.picture(datetime.now(UTC)) as copy:
            try:
                done = change(copy.state, do)
            except ChangedSince as error:
                raise copy.explained(error) from error
            copy.refuse_what_does_not_fit()
        return done

    def no_new_texts_reason(self) -> str | None:
        """Return why a run may not add texts; None if it may."""
        return self.mirror.format.no_new_texts_reason(self.named)

    def set_embedder(self, model: str, encode: Callable[[Sequence[str]], Any]) -> None:
        """Lend the model for the vectors of new texts, if the file has vectors of its own."""
        self.mirror.format.model = EmbeddingModel(model, encode)

    def remark(self) -> str | None:
        """Return what a user should read before it is used; None for nothing."""
        format = self.mirror.format
        remarks = [format.preview_only_reason(self.named), format.remark(self.named)]
        return " ".join(filter(None, remarks)) or None

    def budget(self) -> Budget | None:
        """Return how full it is, if it has a limit."""
        return self.mirror.format.budget(self.named)

    def set_target(self, target: int) -> bool:
        """Set the size that runs should reach, if its entries have a shorter form."""
        self.mirror.format.target = target
        budget = self.budget()
        return budget is not None and budget.all_bytes is not None

    def fit(self, run_id: str | None, planned: Sequence[Any] | None = None) -> Budget | None:
        """Shorten entries until it fits; return how full it is then, or would be after a plan."""
        if self.budget() is None:
            return None
        now = datetime.now(UTC)
        if planned is None:
            budget = self.mirror.fit(run_id, now)
            if budget is not None and budget.shortened:
                self.write_back()
            return budget
        # A plan that does not fit changes nothing.
        with suppress(Unreadable), self.mirror.picture(now) as copy:
            copy.apply(planned, now)
            return copy.fit(None, now)
        budget = self.budget()
        return None if budget is None else replace(budget, shortened=())

    def untouched(self) -> Sequence[Untouched]:
        """Return which memories a run leaves unchanged because of what they are."""
        return self.mirror.format.untouched(self.named)

    def repeated(self) -> Sequence[Repeated]:
        """Return what is said in several places that no run joins."""
        return self.mirror.format.repeated(self.named)

    def dead_links(self) -> frozenset[str]:
        """Return the names that it links to and that do not exist."""
        return self.mirror.format.dead_links(self.named)


class ForeignFiles(PlaceKind):
    """Other agents' files, each with its mirror."""

    def find(self, file: Path, format: str | None, state: Path | None) -> Place | None:
        """Return another agent's file; None if its format is unknown.

        Raises `StoreError`, and wrong usage if it could have several formats.
        """
        if isinstance(file, Address):
            return None
        state = state or default_state(file)
        mirrored = mirrored_format(state)
        name = format or mirrored
        if name is None:
            return _recognise(file, state)
        named = format_named(name)
        if mirrored != name:
            _refuse_another_format(named, file)
            if mirrored is not None:
                raise typer.BadParameter(
                    f"{file} was mirrored as {mirrored} before, in {state}. Omit --format or "
                    "--table to continue with it; for another mirror, which cannot undo earlier "
                    "runs: --state PATH"
                )
        return mirrored_place(file, Mirror(file, named, state), _why_read_only(named, file))

    def refuse_to_add(self, file: Path) -> None:
        """Raise wrong usage for another agent's file."""
        if formats := recognised(file):
            raise typer.BadParameter(f"{_looks(file, formats[0])}. {_NOT_OURS}")
        if mirrored := mirrored_format(default_state(file)):
            raise typer.BadParameter(f"{file} is mirrored as {mirrored}. {_NOT_OURS}")

    @contextmanager
    def lines(
        self, source: Path, format: str, note: Callable[[str], None]
    ) -> Iterator[Iterator[bytes]]:
        """Provide the memories of another agent's file as JSON Lines."""
        named = format_named(format)
        _refuse_another_format(named, source)
        if (remark := named.remark(source)) is not None:
            note(remark)
        with named.opened(source, writes=False) as file:
            records = file.records
        yield lines_of(records, datetime.now(UTC))


def mirrored_place(named: Path, mirror: Mirror, read_only: str | None) -> MirroredPlace:
    """Return a place, and lend it the packaged model."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder

    place, embedder = MirroredPlace(named, mirror, read_only), SentenceEmbedder()
    place.set_embedder(embedder.name, embedder.encode)
    return place


def unconfirmed(looks: str, format: str) -> str:
    """Return why a file of a recognized format must not be written yet."""
    return f"{looks}. Preview with --dry-run, then pass --format {format} once to confirm."


def _recognise(file: Path, state: Path) -> Place | None:
    from .markdown import Markdown
    from .text_file import decoded, read_bytes

    formats = recognised(file)
    if not formats:
        if file.is_file() and (folder := recognised(file.resolve().parent)):
            raise typer.BadParameter(
                f"{file} is a part of {folder[0].about}. Specify the folder: {file.parent}"
            )
        offer_tables(file)
        if file.suffix in _TEXTS and file.is_file():
            decoded(read_bytes(file), file)  # refuses another encoding
        if file.is_file() and Markdown().has_bullets(file):
            raise unrecognised(file)
        return None
    if len(formats) > 1:
        names = " or ".join(format.name for format in formats)
        raise typer.BadParameter(f"{file} may be {names}: specify which with --format.")
    (format,) = formats
    with format.opened(file, writes=False):
        pass  # a broken file is refused with its reason
    read_only = _why_read_only(format, file) or unconfirmed(_looks(file, format), format.name)
    return mirrored_place(file, Mirror(file, format, state), read_only)


def offer_tables(file: Path) -> None:
    """Raise `UnusableFile` with the tables of texts that a database has, if any."""
    from .sqlite_file import looking
    from .table_columns import offer

    if not is_database(file):
        return
    if not is_foreign_file(file):
        raise typer.BadParameter(f"{file} is one of slowwave's own memory files: omit --state.")
    with translate_errors(file), looking(file) as db:
        tables_and_hint = offer(db, file)
    if tables_and_hint is not None:
        seen, hint = tables_and_hint
        raise UnusableFile(f"{file} is a SQLite database, but not a memory file. {seen}", hint)


def _refuse_another_format(named: Format, file: Path) -> None:
    """Raise wrong usage for a file that is recognized as other formats than the specified one."""
    if (why := named.unfit_reason(file)) is not None:
        raise typer.BadParameter(why)
    formats = recognised(file)
    if formats and not named.recognises(file):
        raise typer.BadParameter(f"{_looks(file, formats[0])}, and not like {named.name}.")


def _looks(file: Path, format: Format) -> str:
    return f"{file} looks like the format {format.name} ({format.about})"


def _why_read_only(format: Format, file: Path) -> str | None:
    """Return why files of a format are never written; None if they are."""
    if not format.is_only_read:
        return None
    return (
        f"{file} is read-only, because it is {format.about}. Preview with --dry-run, or "
        f"import it into a memory file: slowwave import OWN.db {shlex.quote(str(file))} "
        f"--from {format.name}"
    )
