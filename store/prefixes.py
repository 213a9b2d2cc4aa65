"""Ids that a user shortens to a unique prefix."""

from __future__ import annotations

import sys
from collections.abc import Collection

from .errors import Ambiguous, NotFound
from .file import MemoryFile

# The minimum length of an id prefix.
MIN_PREFIX = 4
_LAST_CHARACTER = chr(sys.maxunicode)


def match_prefix(
    prefix: str, ids: Collection[str], kind: str, where: str = "", hint: str = ""
) -> str:
    """Return the only known id that is, or starts with, `prefix`.

    kind: the name of such an object in an error. where: where it was looked for, after a space.
    hint: how to list the ids. Raises `NotFound` or `Ambiguous`.
    """
    if prefix in ids:
        return prefix
    is_short = len(prefix) < MIN_PREFIX
    matches = [] if is_short else [key for key in ids if key.startswith(prefix)]
    if len(matches) > 1:
        raise Ambiguous(
            f"More than one {kind} has an id that starts with '{prefix}'.",
            f"Specify more of the id. {hint}".strip(),
        )
    if not matches:
        length = f"Specify the whole id, or at least its first {MIN_PREFIX} characters."
        raise NotFound(f"There is no {kind} '{prefix}'{where}.", length if is_short else hint)
    return matches[0]


def find_by_prefix(
    file: MemoryFile, table: str, column: str, prefix: str, kind: str, tenant: str | None = None
) -> str:
    """Return the only value of `column` that is, or starts with, `prefix`.

    table: its name, or a subquery. kind: the name of such a row in an error. tenant: only rows of
    this tenant; None means all. Raises `NotFound` or `Ambiguous`.
    """
    # A range, which an index answers; the exact id comes first.
    rows = file.conn.execute(
        f"SELECT DISTINCT {column} FROM {table} WHERE {column} BETWEEN ?1 AND ?1 || ?2"
        f"{'' if tenant is None else ' AND tenant = ?3'} ORDER BY {column} LIMIT 2",
        [prefix, _LAST_CHARACTER, *([] if tenant is None else [tenant])],
    )
    scope = "" if tenant is None else f" of tenant '{tenant}'"
    lister = "list FILE --status any" if kind == "memory" else "log FILE"
    hint = f"'slowwave {lister}' lists them."
    return match_prefix(
        prefix, [str(row[0]) for row in rows], kind, f"{scope} in {file.path}", hint
    )
