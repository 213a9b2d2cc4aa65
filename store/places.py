"""What FILE may be: a memory file, or what an extension registers under `slowwave.places`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .errors import NotFound, UnusableFile
from .extension_points import registered

if TYPE_CHECKING:
    from .erasing import Eraser
    from .file import MemoryFile

Done = TypeVar("Done")


class Address(PosixPath):
    """The name of a place that is not a file, such as the URL of a database.

    It is a path so that code that names a file also names it, by `str`, which never has a secret.
    """


@dataclass(frozen=True)
class Budget:
    """How full a file is, and the limit of its agent, in characters, lines or bytes."""

    used: int
    limit: int
    unit: str
    # Whether also an undo must keep it, unless the file was as full before.
    is_hard: bool = False
    # The tokens of it that each session of its agent loads.
    tokens: int = 0
    # The size in bytes that its agent reads completely, where entries have a shorter form.
    all_bytes: int | None = None
    # How much it should have at most, if the user specified that.
    target: int | None = None
    # The entries that a run shortened to reach that; None if it did not try.
    shortened: tuple[str, ...] | None = None
    # The name of the file that the agent loads.
    file: str = "MEMORY.md"

    def size_of(self, text: str) -> int:
        """Return how much of it a text takes."""
        return len(text) if self.unit == "characters" else len(text.splitlines())


@dataclass(frozen=True)
class Untouched:
    """Memories that a run leaves unchanged because of what they are, and what to do about it."""

    # Why, as the end of a sentence that starts with their number.
    why: str
    hint: str
    names: tuple[str, ...]
    # Whether a model may change them.
    is_for_model: bool = False


@dataclass(frozen=True)
class Repeated:
    """A statement that is in several places."""

    # The statement in the first place, which contains what the others say.
    text: str
    # Names of files, with the heading where there is one.
    places: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A memory file as a command works on it.

    The places of extensions have a memory file that mirrors something else. A command does not
    know which it has: it reads and changes the memory file, then has the change written back.
    """

    # Whether it is the memory file itself.
    is_memory_file: ClassVar[bool] = True
    named: Path

    def refuse_changes(self) -> None:
        """Raise wrong usage if nothing may be written here."""

    @contextmanager
    def reading(self) -> Iterator[Path]:
        """Provide a memory file to read."""
        yield self.named

    @contextmanager
    def changing(self) -> Iterator[Path]:
        """Provide a memory file to change; `write_back` writes what became of it."""
        yield self.named

    def write_back(self) -> dict[str, str]:
        """Write what became of the memory file; return why proposals were withdrawn, by their keys.

        Raises `StoreError`.
        """
        return {}

    @property
    def outlives_a_failed_write(self) -> bool:
        """Whether the next run writes what this run could not write back."""
        return True

    def change(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Change the memory file and write it back; return what `do` does. Raises `StoreError`."""
        return change(self.named, do)

    def clean(self) -> None:
        """Remove the bytes of deleted rows from all files. Raises `StoreError`."""
        from .erasing import clean

        self.change(clean)

    def lines_with(self, eraser: Eraser) -> tuple[str, ...]:
        """Return the lines outside of the memory file that have an erased text, as `path:line`."""
        return ()

    def dry_run(self, do: Callable[[MemoryFile], Done]) -> Done:
        """Change a copy of the memory file; return what `do` does. Raises `StoreError`."""
        from .backup import copied_to_try
        from .connection import translate_errors
        from .file import open_reading, open_writing

        with open_reading(self.named):
            pass  # migrates neither the file nor its copy
        copied = copied_to_try(self.named)
        # Errors name the file instead of its copy.
        with copied as copy, open_writing(copy) as file, translate_errors(self.named):
            return do(replace(file, path=self.named, identity=None))

    def no_new_texts_reason(self) -> str | None:
        """Return why a run may not add texts; None if it may."""
        return None

    def set_embedder(self, model: str, encode: Callable[[Sequence[str]], Any]) -> None:
        """Lend the model for the vectors of new texts, where the place has vectors of its own."""

    def remark(self) -> str | None:
        """Return what a user should read before it is used; None for nothing."""
        return None

    def budget(self) -> Budget | None:
        """Return how full it is, where it has a limit."""
        return None

    def set_target(self, target: int) -> bool:
        """Set the size that runs should reach, in bytes; return False where none can be set."""
        return False

    def fit(self, run_id: str | None, planned: Sequence[Any] | None = None) -> Budget | None:
        """Shorten entries to the size set; return how full it is then. Raises `StoreError`.

        run_id: the run that this belongs to. planned: the results of a dry run, to predict it.
        """
        return self.budget()

    def untouched(self) -> Sequence[Untouched]:
        """Return which memories a run leaves unchanged because of what they are."""
        return ()

    def repeated(self) -> Sequence[Repeated]:
        """Return the statements that are in several places, which no run merges."""
        return ()

    def dead_links(self) -> frozenset[str]:
        """Return the names that it links to and does not have."""
        return frozenset()


class PlaceKind:
    """What else FILE may be; an extension registers a class of these under `slowwave.places`."""

    def address(self, text: str) -> Address | None:
        """Return the address that a text is; None for another text. Raises `StoreError`."""
        return None

    def find(self, file: Path, format: str | None, state: Path | None) -> Place | None:
        """Return the place of FILE; None if it is of another kind.

        format, state: the values of --format and --state. Raises `StoreError`, and wrong usage.
        """
        return None

    def refuse_to_add(self, file: Path) -> None:
        """Raise wrong usage if FILE is of this kind, where only a memory file can be added to."""

    def lines(
        self, source: Path, format: str, note: Callable[[str], None]
    ) -> AbstractContextManager[Iterator[bytes]] | None:
        """Provide the memories of a source as JSON Lines; None if it is of another kind.

        note: takes what a user should read before. Raises `StoreError`, and wrong usage.
        """
        return None


def place_kinds() -> list[PlaceKind]:
    """Return what extensions register."""
    return [kind() for _, kind in registered("places")]


def place_of(file: Path, format: str | None, state: Path | None) -> Place:
    """Return the place that FILE is. Raises `StoreError`, and wrong usage if that is ambiguous."""
    from .validate import is_foreign_file

    # `Path` collapses the slashes of a URL.
    url = str(file).replace(":/", "://", 1).replace(" ", "%20")
    if " " in str(file) and address_of(url) is not None:
        # The URL may contain a password, so it is not shown.
        raise UnusableFile("The URL of a database contains a space.", "Write each space as %20.")
    is_named = format is not None or state is not None or isinstance(file, Address)
    if is_named or is_foreign_file(file):
        for kind in place_kinds():
            if (place := kind.find(file, format, state)) is not None:
                return place
        if format is not None:
            raise _unknown(format)
    return Place(file)  # the store reports what is wrong with it


def address_of(text: str) -> Address | None:
    """Return the address that a text is; None for a path. Raises `StoreError`."""
    if "://" not in text:
        return None
    addresses = (kind.address(text) for kind in place_kinds())
    return next((address for address in addresses if address is not None), None)


def lines_of(
    source: Path, format: str, note: Callable[[str], None]
) -> AbstractContextManager[Iterator[bytes]]:
    """Provide the memories of a source as `PlaceKind.lines` does. Raises `NotFound`."""
    for kind in place_kinds():
        if (lines := kind.lines(source, format, note)) is not None:
            return lines
    raise _unknown(format)


def _unknown(format: str) -> NotFound:
    return NotFound(f"There is no format '{format}'.", "No installed extension provides it.")


def change(memory_file: Path, do: Callable[[MemoryFile], Done]) -> Done:
    """Change a memory file that no other run may touch meanwhile. Raises `StoreError`."""
    from .check import refuse_damaged
    from .file import open_writing
    from .lock import maintenance_lock

    with maintenance_lock(memory_file), open_writing(memory_file) as file:
        refuse_damaged(file)
        return do(file)
