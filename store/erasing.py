"""Erase texts from the values of rows, and from the free space and the log of a file."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from .connection import retry_while_busy
from .errors import FileHeld, StoreError
from .file import MemoryFile
from .records import json_text, read_json

# Ids, hashes and times of slowwave's own, in which a short text may occur by chance.
_OPAQUE = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT[\d:.]+([+-]\d\d:\d\d|Z)?"
)
# Not before a combining accent: "e" must not match the start of "é".
_COMPLETE = r"(?![\u0300-\u036f])"
# Keys of slowwave's own JSON, which are not erased.
_OWN_KEY = re.compile(r"[a-z_]+")
# Replaces an erased text.
ERASED = "[forgotten]"


def fold(text: str) -> str:
    """Return the form that all spellings of a text share: case, white space, composed letters."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _begins(text: str, index: int) -> bool:
    """Whether a letter, with the accents after it, or white space begins at a place in a text."""
    before, letter = text[max(0, index - 2) : index], text[index]
    if letter.isspace() or not before or before[-1].isspace():
        return not (letter.isspace() and before[-1:].isspace())
    # The parts of a Korean syllable are composed, too.
    composed = len(unicodedata.normalize("NFC", before + letter))
    return not unicodedata.combining(letter) and composed > len(
        unicodedata.normalize("NFC", before)
    )


class Eraser:
    """Replaces texts in values, and within JSON at any depth."""

    def __init__(
        self, parts: Iterable[str], wholes: Iterable[str] = (), spared: Iterable[str] = ()
    ) -> None:
        """Fold the texts.

        parts: erased wherever they are, in each spelling that `fold` makes equal. wholes: erased
        where they are a whole value. spared: values to keep, such as the ids of memories.
        """
        self._longest_first = sorted(set(parts), key=len, reverse=True)
        forms = filter(None, map(fold, self._longest_first))
        self._parts = re.compile("|".join(re.escape(form) + _COMPLETE for form in forms) or "(?!)")
        self._wholes = {*wholes, *self._longest_first}
        self._spared = frozenset(spared)

    def erase(self, value: Any) -> Any:
        """Return a value of a row without the texts; unchanged if it has none."""
        if not isinstance(value, str) or value in self._spared:
            return value
        if value in self._wholes:
            return ERASED
        parsed = read_json(value) if value[:1] in ("{", "[") else None
        if parsed is None:
            if _OPAQUE.fullmatch(value):
                return value
            for start, end in reversed(self._find(value)):
                value = f"{value[:start]}{ERASED}{value[end:]}"
            return value
        erased = self._erase_within(parsed)
        return value if erased == parsed else json_text(erased)

    def _erase_within(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key if _OWN_KEY.fullmatch(key) else self.erase(key): self._erase_within(inner)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [self._erase_within(inner) for inner in value]
        return self.erase(value)

    def _find(self, text: str) -> list[tuple[int, int]]:
        """Return where whole letters of a text have the texts, in any spelling."""
        if self._parts.search(fold(text)) is None:
            return []
        folded, places, spans = "", list[tuple[int, int]](), [(0, 0)]
        starts = (index for index in range(len(text)) if _begins(text, index))
        for start, end in pairwise([*starts, len(text)]):
            form = fold(text[start:end]) or " "
            folded += form
            places += [(start, end)] * len(form)
        for match in self._parts.finditer(folded):
            # Two may be in one ligature.
            start = max(places[match.start()][0], spans[-1][1])
            spans.append((start, places[match.end() - 1][1]))
        return spans[1:]

    def sparing_nothing(self) -> Eraser:
        """Return an eraser that also finds the texts in spared values."""
        return Eraser(self._longest_first, self._wholes)

    def lines_of(self, text: str) -> list[int]:
        """Return the numbers of the lines of a file in which a text begins."""
        starts = {start for start, _ in self._find(text)}
        return sorted({text.count("\n", 0, start) + 1 for start in starts})

    def offer_to(self, file: MemoryFile) -> None:
        """Register the functions that the SQL of `holds` and `erased` calls."""
        conn = file.conn
        conn.create_function("text_is_in", 1, lambda raw: self._erase_raw(raw) != _text(raw))
        conn.create_function("without_text", 1, self._erase_raw)

    def _erase_raw(self, raw: bytes | None) -> Any:
        return self.erase(_text(raw))

    def update(self, file: MemoryFile, table: str, columns: Iterable[str]) -> int:
        """Erase the texts in columns, and return how many rows changed.

        The caller has a transaction, and has called `offer_to`.
        """
        return sum(
            file.conn.execute(
                f"UPDATE {table} SET {name} = {erased(name)} "
                f"WHERE {name} NOT IN ('[]', '{{}}') AND {holds(name)}"
            ).rowcount
            for name in columns
        )


# As bytes, because a text may be invalid UTF-8.
def holds(column: str) -> str:
    """Return the SQL of whether a column contains a text of the eraser that was offered last."""
    return f"text_is_in(CAST({column} AS BLOB))"


def erased(column: str) -> str:
    """Return the SQL of a column without the texts of the eraser that was offered last."""
    return f"without_text(CAST({column} AS BLOB))"


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode(errors="replace")


def find_left(file: MemoryFile) -> list[str]:
    """Return the columns that still contain an erased text, as `table.column`.

    Includes an agent's own tables. The caller has called `Eraser.offer_to`.
    """
    columns = file.conn.execute(
        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
        "WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE%' ORDER BY 1, c.cid"
    ).fetchall()
    return [
        f"{table}.{column}"
        for table, column in columns
        if file.value(
            f"SELECT 1 FROM {_quoted(table)} WHERE typeof({_quoted(column)}) = 'text' "
            f"AND {holds(_quoted(column))} LIMIT 1"
        )
    ]


@contextmanager
def references_explained(conn: sqlite3.Connection, path: Path, table: str) -> Iterator[None]:
    """Raise `StoreError` with the tables that still refer to a row which the block deletes."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        if "FOREIGN KEY" not in str(error):  # ON DELETE RESTRICT has the code of a trigger
            raise
        tables = conn.execute(
            "SELECT DISTINCT t.name FROM sqlite_schema t, pragma_foreign_key_list(t.name) f "
            "WHERE lower(f.\"table\") = lower(?) AND f.on_delete IN ('NO ACTION', 'RESTRICT') "
            "ORDER BY 1",
            [table],
        )
        names = ", ".join(name for (name,) in tables)
        raise StoreError(
            f"A row of {table} in {path} cannot be deleted: rows of {names} refer to it.",
            "Nothing was changed. Delete those rows first, or declare the reference with "
            "ON DELETE CASCADE.",
        ) from error


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def clean(file: MemoryFile) -> None:
    """Rewrite a file without the bytes of deleted rows, and empty its log; can be repeated.

    Raises `FileHeld` if another program reads or writes meanwhile.
    """
    for statement in ("PRAGMA secure_delete = ON", "VACUUM"):
        retry_while_busy(partial(file.conn.execute, statement))
    # The first number is whether a reader kept it from ending; it waits as long as the connection.
    busy, *_ = file.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise FileHeld(
            f"Another program is reading {file.path}, so erased text may still be in its log.",
            "Close the program that has the file open.",
        )
