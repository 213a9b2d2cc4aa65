"""Formats whose files are text, read whole and put in place whole."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.opening import open_text
from slowwave.store.sidecar import create_sidecar, remove_file, sync_folder

from .base import Change, ChangedMeanwhile, Format, New, OpenFile, Unreadable, Written
from .document import Document, Editor

# A memory file that an agent reads into its prompt is far below that.
_MOST_BYTES = 64 * 1024 * 1024


class TextFormat(Format):
    """A text file that its agent rewrites as a whole."""

    @abstractmethod
    def parse(self, text: str, path: Path) -> Document:
        """Take a file's text apart. Raises `Unreadable`."""

    @abstractmethod
    def spell(self, new: New, document: Document) -> str:
        """Return how a text is written in this file. Raises `Unreadable` if it cannot be."""

    def inherit(self, raw: str, others: Sequence[str]) -> str:
        """Return how an entry is written with what is said about others for which it stands."""
        return raw

    def locked(self, path: Path) -> AbstractContextManager[None]:
        """Hold the file against its own agent, where that has a lock."""
        return nullcontext()

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenFile]:
        """Read a file, held if `writes`. Raises `Unreadable` or `FileHeld`."""
        with self.locked(path) if writes else nullcontext():
            yield OpenText(self, path)


class OpenText(OpenFile):
    """A text file as it was read."""

    def __init__(self, format: TextFormat, path: Path) -> None:
        """Read it. Raises `Unreadable`."""
        self._format = format
        self._path = path
        self._bytes = read_bytes(path)
        self._document = format.parse(_decoded(self._bytes, path), path)
        if self._document.text.encode() != self._bytes:
            raise Unreadable(f"{path} cannot be taken apart and put together again as it was.")
        self.records = self._document.records()
        self._wanted: bytes | None = None

    def prepare(self, change: Change) -> Written:
        """Work out the new text, and parse it again to check that it holds what it should."""
        spelled = [self._format.spell(new, self._document) for new in change.put]
        texts = sorted(
            [*(one.text for one in self.records if one.key not in change.retire)]
            + [one.text for one in change.put]
        )
        written = Editor(self._document, self._format.inherit).carry_out(change, spelled)
        text = self._document.text
        read_anew = self._format.parse(text, self._path)
        if sorted(one.text for one in read_anew.records()) != texts:
            raise Unreadable(f"{self._path} cannot hold what is to stand in it.")
        budget = self._format.budget(self._path)
        if budget is not None:
            budget.refuse(self._path, budget.of(text), change)
        self._wanted = text.encode()
        return written

    def commit(self) -> None:
        """Replace the file with the new text, unless it was changed meanwhile."""
        if self._wanted is None:
            return
        write_in_place(self._path, self._wanted, self._bytes, self._path)


def write_in_place(path: Path, content: bytes, expected: bytes | None, like: Path) -> None:
    """Let a file hold this, whole: another is put in its place.

    expected: what it holds by now, else `ChangedMeanwhile` is raised; None: there is no file.
    like: a file of the same folder that has the mode and the owner it is to have.
    """
    real = path.resolve()
    made = real.with_name(f".{real.name}.slowwave-unfinished")
    remove_file(made)  # what a killed run left
    create_sidecar(like, made.name)
    try:
        with made.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if (read_bytes(path) if path.exists() else None) != expected:
            raise ChangedMeanwhile(path)
        made.replace(real)
        sync_folder(real.parent)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "Nothing was changed in it."
        ) from error
    finally:
        remove_file(made)


def read_bytes(path: Path) -> bytes:
    """Return what a file holds. Raises `Unreadable`."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise Unreadable(f"{path} is larger than any agent's memory file.")
        with open_text(path) as stream:
            return stream.read()
    except OSError as error:
        raise Unreadable(f"Cannot read {path}: {error.strerror}.") from error


def text_of(path: Path) -> str | None:
    """Return the text of a file; None if it is none, or cannot be read."""
    try:
        return _decoded(read_bytes(path), path) if path.is_file() else None
    except (Unreadable, OSError):
        return None


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is not UTF-8 throughout.") from None


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends; a line feed alone ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
