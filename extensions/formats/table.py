"""A table of texts in a SQLite database of the user's own: table:TABLE:COLUMN,KEY=COLUMN,...

Without a column for deleted rows it is read-only.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import cast

from slowwave.store.connection import translate_errors
from slowwave.store.opening import is_database
from slowwave.store.validate import is_foreign_file

from .base import first_few
from .sqlite_file import SqliteFormat, looking
from .table_columns import columns_of, tables_of
from .table_rows import OpenTable, TableSpec


class UserTable(SqliteFormat):
    """A table of texts, as the user describes it."""

    name = "table"
    about = "a table of texts of your own, with --table"
    holds = "a row"
    may_need_vectors = False
    deletes_rows = True
    schema_query = "SELECT NULL"  # the schema is the user's

    def __init__(self, spec: str) -> None:
        """spec: TABLE:COLUMN, and the other columns. Raises wrong usage."""
        self._spec = TableSpec.from_spec(spec)
        self.name = f"{self.name}:{spec}"
        self.is_only_read = self._spec.deleted is None
        self.about = (
            "a table without deleted=COLUMN"
            if self.is_only_read
            else f"a database with {self._spec.table}({', '.join(self._spec.columns)})"
        )

    def unfit_reason(self, path: Path) -> str | None:
        """Return which table or column does not exist."""
        if not is_database(path):
            return f"{path} is not a SQLite database." if path.exists() else None
        if not is_foreign_file(path):
            return f"{path} is one of slowwave's own memory files: omit --table."
        with translate_errors(path), looking(path) as db:
            tables, columns = tables_of(db), columns_of(db, self._spec.table)
        if self._spec.table not in tables:
            return (
                f"{path} has no table '{self._spec.table}'. Specify one of its tables: "
                f"{', '.join(tables) or 'it has none'}."
            )
        column_by_name = {column.name: column for column in columns}
        for name in self._spec.columns:
            if name not in column_by_name:
                return (
                    f"The table {self._spec.table} has no column '{name}'. Specify one of its "
                    f"columns: {', '.join(column_by_name)}."
                )
        deleted = column_by_name.get(self._spec.deleted or "")
        if deleted is not None and (deleted.is_generated or deleted.key):
            why = "is computed" if deleted.is_generated else "identifies a row"
            return f"The column {deleted.name} {why}: specify another for deleted=."
        return None

    def remark(self, path: Path) -> str | None:
        """Return which rows have no text, or no valid date, or that all count as deleted."""
        with self.opened(path, writes=False) as database:
            table = cast(OpenTable, database)
            are_deleted, rows = table.are_all_deleted, table.without_text
        remark = None if self._spec.date is None else super().remark(path)
        why = f"Rows whose {self._spec.text} is not a text are omitted: {first_few(rows)}."
        gone = (
            f"All rows of {self._spec.table} count as deleted: if that is wrong, specify another "
            "column, or the value of deleted rows, with deleted=COLUMN:VALUE."
        )
        remarks = (remark, why if rows else None, gone if are_deleted else None)
        return "\n".join(filter(None, remarks)) or None

    def preview_only_reason(self, path: Path) -> str | None:
        """Return why a table can only be previewed, or None."""
        if not self.is_only_read:
            return None
        return (
            f"This is only a preview: {path} stays read-only until --table ends with "
            "deleted=COLUMN, the column that marks deleted rows."
        )

    def no_new_texts_reason(self, path: Path) -> str | None:
        """Return why no row can be added."""
        if self.is_only_read:
            return None  # a dry run shows what a memory file with its memories would get
        with translate_errors(path), looking(path) as db:
            return OpenTable(db, path, self._spec).no_new_texts_reason()

    def _open(self, db: sqlite3.Connection, path: Path, writes: bool) -> OpenTable:
        """Return an open table; if `writes`, try first whether a row can be marked as deleted."""
        table = OpenTable(db, path, self._spec)
        if writes:
            table.try_to_mark()
        return table

    def _has_tables(self, db: sqlite3.Connection) -> bool:
        column_names = {column.name for column in columns_of(db, self._spec.table)}
        return self._spec.table in tables_of(db) and column_names.issuperset(self._spec.columns)
