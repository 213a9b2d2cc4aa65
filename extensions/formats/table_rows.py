"""The rows of a table that the user described, within a transaction.

A removed row is only marked in the column for deleted rows, and deleted once its text is forgotten.
Rows that slowwave adds have ids that nobody else gives, and are deleted again.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import typer

from slowwave.store.erasing import references_explained
from slowwave.store.records import ROW, timestamp

from .base import NEXT_RUN, Image, New, Record, RemovedEntry, TooFull, Unreadable
from .database import OURS, key_of, moment_of, moment_since_epoch, place_of
from .sqlite_file import OpenSqlite
from .table_columns import Column, columns_of, quoted

# The integer ids of rows that slowwave adds: JSON keeps them exact, and counters never reach them.
_OUR_IDS = range(-(2**53) + 1, -(2**53) + 2**20)
# Larger numbers are times in milliseconds: in seconds they would be after the year 5000.
_MAX_SECONDS = 100_000_000_000
# Smaller numbers are not times, but years, scores or counts: in seconds they would be before 1974.
_MIN_SECONDS = 100_000_000
_FORM = "Specify TABLE:COLUMN[,date=COLUMN][,tenant=COLUMN][,deleted=COLUMN[:VALUE]]."


@dataclass(frozen=True)
class TableSpec:
    """The table, and the columns that the user named."""

    table: str
    text: str
    date: str | None = None
    tenant: str | None = None
    # The column that marks deleted rows, and the value that it then has; None for any value but
    # NULL, 0 and an empty text.
    deleted: str | None = None
    mark: str | float | None = None

    @classmethod
    def from_spec(cls, spec: str) -> TableSpec:
        """Parse what the user specified. Raises wrong usage."""
        first, *pairs = spec.split(",")
        table, _, text = first.partition(":")
        keys = dict(pair.partition("=")[::2] for pair in pairs)
        if unknown := [key for key in keys if key not in ("date", "tenant", "deleted")]:
            raise typer.BadParameter(f"'{spec}' has an unknown key, '{unknown[0]}'. {_FORM}")
        if len(keys) < len(pairs) or not all((table, text, *keys.values())):
            raise typer.BadParameter(f"'{spec}' is not a valid table specification. {_FORM}")
        deleted, _, mark = keys.pop("deleted", "").partition(":")
        parsed = cls(table, text, **keys, deleted=deleted or None, mark=_value(mark))
        if len(set(parsed.columns)) < len(parsed.columns):
            raise typer.BadParameter(f"'{spec}' specifies a column twice. {_FORM}")
        return parsed

    @property
    def columns(self) -> list[str]:
        """The columns that the user named."""
        named = (self.text, self.date, self.tenant, self.deleted)
        return [column for column in named if column is not None]


@dataclass(frozen=True)
class _Row:
    """A row, as it was read."""

    record: Record
    # The values of its primary key.
    key_values: tuple[Any, ...]
    # The value of the column for deleted rows; None without one.
    state: Any


class OpenTable(OpenSqlite):
    """A table within a transaction."""

    def __init__(self, db: sqlite3.Connection, path: Path, spec: TableSpec) -> None:
        super().__init__(db, path, None)
        self._spec = spec
        self._table = quoted(spec.table)
        self._columns = columns_of(db, spec.table)
        id_columns = [column for column in self._columns if column.key]
        self._id = sorted(id_columns, key=lambda column: column.key)
        names = [quoted(column.name) for column in self._id] or ["_rowid_"]
        self._key_columns = ", ".join(names)
        self._where_key = " AND ".join(f"{name} = ?" for name in names)
        # As SQL literals, so that ids of all types differ.
        self._name = " || ',' || ".join(f"quote({name})" for name in names)
        self._rows: dict[str, _Row] = {}
        # The rows with a number or bytes instead of a text, once the rows were read.
        self.without_text: list[str] = []

    @property
    def are_all_deleted(self) -> bool:
        """Whether there are texts, but only in deleted rows."""
        return not self.records and bool(self._rows)

    def read(self) -> Iterator[Record]:
        """Yield the rows that are not deleted, ordered by their ids."""
        self.without_text = []
        spec = self._spec
        optional = (spec.tenant, spec.date, spec.deleted)
        values = [quoted(column) if column else "NULL" for column in optional]
        # A primary key may contain NULL, which does not identify a row.
        has_id = " AND ".join(f"{quoted(column.name)} IS NOT NULL" for column in self._id) or "1"
        rows = self.db.execute(
            f"SELECT {self._name}, {quoted(spec.text)}, {', '.join(values)}, "
            f"{self._is_deleted}, {self._key_columns} FROM {self._table} "
            f"WHERE {quoted(spec.text)} IS NOT NULL AND {has_id} ORDER BY {self._key_columns}"
        )
        for name, text, tenant, date, state, is_deleted, *key_values in rows:
            row = f"{ROW} {', '.join(map(str, key_values))}"
            if not isinstance(text, str):
                self.without_text += [] if is_deleted else [row]
                continue
            # A blank tenant is none, as NULL is.
            subject = "" if tenant is None or not str(tenant).strip() else str(tenant)
            tenant_name = subject or "default"
            key = key_of(tenant_name, name, text)
            record = Record(key, tenant_name, text, _moment(date), file=row, subject=subject)
            self._rows[record.key] = _Row(record, tuple(key_values), state)
            if not is_deleted:
                yield record

    def try_to_mark(self) -> None:
        """Mark a row and roll that back, so that a table that refuses it is refused before a run.

        Raises `Unreadable`.
        """
        if not self.records:
            return
        self.db.execute("SAVEPOINT trial")
        try:
            self._mark(self.records[0].key)
        finally:
            self.db.execute("ROLLBACK TO trial")
            self.db.execute("RELEASE trial")

    def no_new_texts_reason(self) -> str | None:
        """Return why no row can be added; None if rows can."""
        if len(self._id) > 1:
            return f"The key of {self._spec.table} has more than one column."
        for column in self._columns:
            if column.name in self._spec.columns:
                if column.is_generated:
                    return f"{self._spec.table}.{column.name} is computed."
            elif column.must_be_given:
                return f"A new row of {self._spec.table} would require a value of {column.name}."
            elif not column.key and self._has_bytes(column):
                return f"A new row of {self._spec.table} would have no {column.name}."
        return None

    def insert(self, new: New) -> str:
        """Add a row with what all the rows that it replaces have in common, and the latest date."""
        if (why := self.no_new_texts_reason()) is not None:
            raise Unreadable(why)
        models = new.replaces or [item.key for item in self.records if item.tenant == new.tenant]
        if not models:
            raise TooFull(f"{self._path} no longer has a row for {new.tenant}.", NEXT_RUN)
        spec = self._spec
        latest = max(models, key=lambda key: self._rows[key].record.observed_at or "")
        values = self._whole_row(latest)
        observed_at = self._rows[latest].record.observed_at
        if spec.date and new.observed_at > (observed_at or ""):
            values[spec.date] = _like(values[spec.date], new.observed_at)
        elif spec.date and observed_at is None and not self._column(spec.date).is_required:
            values[spec.date] = None
        older = [self._whole_row(key) for key in new.replaces if key != latest]
        kept = {
            name: value
            for name, value in values.items()
            if name in (spec.date, spec.tenant, spec.deleted)
            or (older and all(row[name] == value for row in older))
        }
        name = self._insert_row({**kept, spec.text: new.text, **self._new_id()})
        return key_of(new.tenant, name, new.text)

    def can_rewrite(self, key: str, new: New) -> bool:
        """Whether slowwave added it."""
        return _is_ours(place_of(key)[1])

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the row except its text."""
        tenant, name = place_of(key)
        column = quoted(self._spec.text)
        sql = f"UPDATE {self._table} SET {column} = ? WHERE {self._where_key}"
        self._write(sql, [new.text, *self._rows[key].key_values])
        return key_of(tenant, name, new.text), {}

    def hide(self, removal: RemovedEntry, successor: str | None) -> Image:
        """Mark it; delete what slowwave added."""
        row = self._rows[removal.key]
        if not _is_ours(place_of(removal.key)[1]):
            self._mark(removal.key)
            return {"key": removal.key, "state": row.state}
        values = {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in self._whole_row(removal.key).items()
        }
        self.db.execute(f"DELETE FROM {self._table} WHERE {self._where_key}", row.key_values)
        return {"key": removal.key, "row": values}

    def restore(self, image: Image) -> str:
        """Give it the value again that it had in the column for deleted rows."""
        key = str(image["key"])
        if "row" in image:
            self._insert_row(
                {
                    name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
                    for name, value in image["row"].items()
                }
            )
        elif key not in self._rows:
            raise Unreadable("Its row has been changed or deleted since.")
        else:
            self._set_state(key, image["state"])
        return key

    def erase(self, image: Image) -> None:
        """Delete its row, unless the row has another text by now."""
        if (row := self._rows.get(str(image["key"]))) is not None:
            sql = f"DELETE FROM {self._table} WHERE {self._where_key}"
            with references_explained(self.db, self._path, self._spec.table):
                self.db.execute(sql, row.key_values)

    @property
    def _is_deleted(self) -> str:
        """SQL: whether a row is deleted."""
        if self._spec.deleted is None:
            return "0"
        column, mark = quoted(self._spec.deleted), self._spec.mark
        if mark is None:
            return f"coalesce({column}, 0) NOT IN (0, '', '0')"
        literal = self.db.execute("SELECT quote(?)", [mark]).fetchone()[0]
        # An image keeps the value as JSON, which has no bytes.
        return f"({column} IS {literal} OR typeof({column}) = 'blob')"

    def _mark(self, key: str) -> None:
        self._set_state(key, self._new_state)
        sql = f"SELECT {self._is_deleted} FROM {self._table} WHERE {self._where_key}"
        if self.db.execute(sql, self._rows[key].key_values).fetchone() != (1,):
            raise Unreadable(
                f"{self._spec.deleted} of {self._spec.table} does not keep the value "
                f"{self._new_state}: a trigger or the column type changes it."
            )

    # Looks at the whole column, so that it is computed once.
    @cached_property
    def _new_state(self) -> str | float:
        """What is written into the column for deleted rows: a mark, or the time as it has it."""
        if self._spec.mark is not None:
            return self._spec.mark
        now = datetime.now(UTC)
        column = self._column(cast(str, self._spec.deleted))
        if not column.is_number:
            return timestamp(now)
        sql = f"SELECT max({quoted(column.name)}) FROM {self._table}"
        (latest,) = self.db.execute(sql).fetchone()
        if not isinstance(latest, int) or latest <= 1:
            return 1
        return int(now.timestamp() * (1000 if latest > _MAX_SECONDS else 1))

    def _set_state(self, key: str, state: Any) -> None:
        column = quoted(cast(str, self._spec.deleted))
        sql = f"UPDATE {self._table} SET {column} = ? WHERE {self._where_key}"
        try:
            self.db.execute(sql, [state, *self._rows[key].key_values])
        except sqlite3.IntegrityError as error:
            raise Unreadable(
                f"{self._path} does not accept {state} as {self._spec.deleted}: {error}.",
                "A trigger refuses updates. Such a table can only be imported "
                "('slowwave import --from table:...')."
                if error.sqlite_errorname == "SQLITE_CONSTRAINT_TRIGGER"
                else "Specify the value that marks a deleted row: deleted=COLUMN:VALUE.",
            ) from error

    def _new_id(self) -> dict[str, Any]:
        """Return an id that nobody else gives."""
        if self._id and not self._id[0].is_number:
            return {self._id[0].name: f"{OURS}{uuid.uuid4()}"}
        ours = f"FROM {self._table} WHERE {self._key_columns} BETWEEN ? AND ?"
        sql = f"SELECT max({self._key_columns}) {ours}"
        (latest,) = self.db.execute(sql, [_OUR_IDS.start, _OUR_IDS.stop]).fetchone()
        free = _OUR_IDS.start if latest is None else latest + 1
        return {self._id[0].name if self._id else "_rowid_": free}

    def _column(self, name: str) -> Column:
        return next(column for column in self._columns if column.name == name)

    def _has_bytes(self, column: Column) -> bool:
        """Whether some row has bytes in a column, such as the vector of its text."""
        sql = f"SELECT 1 FROM {self._table} WHERE typeof({quoted(column.name)}) = 'blob' LIMIT 1"
        return self.db.execute(sql).fetchone() is not None

    def _whole_row(self, key: str) -> dict[str, Any]:
        """Return the values of a row that can be written, by column."""
        names = [column.name for column in self._columns if not column.is_generated]
        sql = f"SELECT {', '.join(map(quoted, names))} FROM {self._table} WHERE {self._where_key}"
        (row,) = self.db.execute(sql, self._rows[key].key_values)
        values = dict(zip(names, row, strict=True))
        return values if self._id else {**values, "_rowid_": self._rows[key].key_values[0]}

    def _insert_row(self, row: Mapping[str, Any]) -> str:
        """Add a row, and return its name. Raises `TooFull` if the table refuses it."""
        names, places = ", ".join(map(quoted, row)), ", ".join("?" * len(row))
        sql = f"INSERT INTO {self._table} ({names}) VALUES ({places}) RETURNING {self._name}"
        ((name,),) = self._write(sql, list(row.values()))
        return str(name)

    def _write(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run a statement; raise `TooFull` if a rule of the table refuses the row."""
        try:
            return self.db.execute(sql, values).fetchall()
        except sqlite3.IntegrityError as error:
            raise TooFull(
                f"{self._path} does not accept the change: {error}.",
                "A trigger or a constraint of the table refuses it. Nothing was changed.",
            ) from error


def _is_ours(name: str) -> bool:
    """Whether slowwave gave an id, which is an SQL literal."""
    if name.startswith(f"'{OURS}"):
        return True
    return name.startswith("-") and name[1:].isdigit() and int(name) in _OUR_IDS


def _value(text: str) -> str | float | None:
    """Return a number or a text; None if it is empty."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text or None


def _moment(value: object) -> str | None:
    if isinstance(value, int | float):
        per_second = 1000 if abs(value) > _MAX_SECONDS else 1
        return moment_since_epoch(value, per_second) if abs(value) >= _MIN_SECONDS else None
    return moment_of(value) if isinstance(value, str) else None


def _like(value: object, moment: str) -> object:
    """Return a time in the form of a value; the value itself if it is not a time."""
    if isinstance(value, int | float):
        seconds = datetime.fromisoformat(moment).timestamp()
        return type(value)(seconds * (1000 if abs(value) > _MAX_SECONDS else 1))
    if not isinstance(value, str) or moment_of(value) is None:
        return value
    if len(value) <= 10:
        return moment[:10]
    return moment.replace("T", " ") if value[10] == " " else moment
