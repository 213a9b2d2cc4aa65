"""Formats whose files are text, read completely and replaced completely."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from slowwave.store.errors import StoreError, file_errors
from slowwave.store.opening import open_text
from slowwave.store.places import Budget
from slowwave.store.sidecar import create_sidecar, remove_file, sync_folder

from .base import (
    Change,
    ChangedMeanwhile,
    Format,
    New,
    OpenFile,
    Unreadable,
    Written,
    first_few,
    refuse_losses,
    refuse_too_full,
    shortened,
)
from .document import Document, Editor

# Bytes of a file. Memory files that an agent reads into its prompt are far smaller.
_MAX_SIZE = 64 * 1024 * 1024


class TextFormat(Format):
    """A text file that its agent rewrites completely."""

    @abstractmethod
    def parse(self, text: str, path: Path) -> Document:
        """Split a file's text into entries and the rest. Raises `Unreadable`."""

    @abstractmethod
    def spell(self, new: New, document: Document) -> str:
        """Return a text as it is written in this file. Raises `Unreadable` if it cannot be."""

    def inherit(self, raw: str, replaced: Sequence[str]) -> str:
        """Return an entry with the marks of the entries that it replaces."""
        return raw

    def locked(self, path: Path) -> AbstractContextManager[None]:
        """Lock the file against its own agent, if that has a lock."""
        return nullcontext()

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenFile]:
        """Read a file, locked if `writes`. Raises `Unreadable` or `FileHeld`."""
        with self.locked(path) if writes else nullcontext():
            yield OpenText(self, path)


class OpenText(OpenFile):
    """A text file as it was read."""

    def __init__(self, format: TextFormat, path: Path) -> None:
        """Read it. Raises `Unreadable`."""
        self._format = format
        self._path = path
        self._bytes = read_bytes(path)
        self._document = format.parse(decoded(self._bytes, path), path)
        if self._document.text.encode() != self._bytes:
            raise Unreadable(f"{path} cannot be parsed and written again byte for byte.")
        self.records = self._document.records()
        self._wanted: bytes | None = None

    def prepare(self, change: Change) -> Written:
        """Compute the new text, and parse it again to check its entries."""
        spelled = [self._format.spell(new, self._document) for new in change.put]
        removed = change.removed_keys
        texts = [record.text for record in self.records if record.key not in removed]
        texts += [new.text for new in change.put]
        written = Editor(self._document, self._format.inherit).apply(change, spelled)
        text = self._document.text
        now = self._format.parse(text, self._path).records()
        expected, actual = Counter(texts), Counter(record.text for record in now)
        if wrong := (expected - actual) or (actual - expected):
            raise Unreadable(f"{self._path} cannot store '{shortened(min(wrong))}' in its format.")
        refuse_losses(self.records, change, written, [record.key for record in now])
        budget = self._format.budget(self._path)
        if budget is not None:
            refuse_too_full(self._path, budget, budget.size_of(text), change)
            for image in written.images.values():
                image["used"] = budget.used
        self._wanted = text.encode()
        return written

    def budget(self) -> Budget | None:
        """Return how full the file will be."""
        return self._format.budget(self._path, self._document.text)

    def commit(self) -> None:
        """Replace the file with the new text. Raises `ChangedMeanwhile`."""
        if self._wanted is not None:
            write_in_place(self._path, self._wanted, self._bytes, self._path)


def write_in_place(
    path: Path, content: bytes, expected: bytes | None, like: Path, mode: int | None = None
) -> None:
    """Replace a file, which keeps its mode and owner.

    expected: its current content, None if it does not exist; otherwise `ChangedMeanwhile` is
    raised. like: a file in the same folder whose mode and owner a new file gets; without that file,
    only the user can read it. mode: the mode of a new file, if that is known.
    """
    like, mode = (path, None) if path.exists() else (like, mode)
    real = path.resolve()
    unfinished = real.with_name(f".{real.name}.slowwave-unfinished")
    remove_file(unfinished)  # of a killed run
    try:
        if like.exists():
            create_sidecar(like, unfinished.name)
        else:
            unfinished.touch(0o600)
        with unfinished.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if read_bytes(unfinished) != content:
            raise StoreError(
                f"{unfinished} does not contain what was written to it.", f"{path} was not changed."
            )
        if mode is not None:
            unfinished.chmod(mode)
        if (read_bytes(path) if path.exists() else None) != expected:
            raise ChangedMeanwhile(path)
        unfinished.replace(real)
        sync_folder(real.parent)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "It was not changed."
        ) from error
    finally:
        remove_file(unfinished)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises `Unreadable`."""
    with file_errors("read", path, "Check the file and its permissions.", Unreadable):
        size = path.stat().st_size
        if path.is_dir():
            files = sorted(map(str, path.glob("*.[mj][ds]*")))  # .md, .json, .jsonl
            hint = f"Specify a file in it: {first_few(files)}." if files else ""
            raise Unreadable(f"{path} is a folder.", hint)
        if not path.is_file():  # such as a pipe, which would be waited for
            raise Unreadable(f"{path} is not a file.")
        if size > _MAX_SIZE:
            raise Unreadable(f"{path} is larger than any agent's memory file.")
        with open_text(path) as stream:
            return stream.read()


def text_of(path: Path) -> str | None:
    """Return the text of a file; None if it cannot be read, or is not text."""
    try:
        return decoded(read_bytes(path), path) if path.is_file() else None
    except (Unreadable, OSError):
        return None


def decoded(content: bytes, path: Path) -> str:
    """Return the text of a file's bytes. Raises `Unreadable`."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is not valid UTF-8.", "Save it as UTF-8.") from None


def split_byte_order_mark(text: str) -> tuple[str, str]:
    """Return the mark at the start of a text, which is empty if there is none, and the rest."""
    rest = text.removeprefix("\ufeff")
    return text[: len(text) - len(rest)], rest


def split_spelling(text: str) -> tuple[str, str, str]:
    """Return the byte-order mark, the end of all lines, and the text with line feeds instead."""
    mark, rest = split_byte_order_mark(text)
    end = "\r\n" if 0 < rest.count("\n") == rest.count("\r\n") else "\n"
    return mark, end, rest.replace(end, "\n")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their line feeds; nothing else ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
