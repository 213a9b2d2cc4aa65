"""claude-mem's database: observations with facts. It is only read.

claude-mem 13.25.3. A vector index and an outbox outside the file depend on its rows, and no state
of a row hides it, so a change would not reach them. A memory is a fact of an observation; without
facts, its narrative or title.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from .base import Record
from .database import moment_since_epoch
from .sqlite_file import OpenSqlite, SqliteFormat


class _Observations(OpenSqlite):
    """A database of claude-mem, within a transaction."""

    def read(self) -> Iterator[Record]:
        for row in self.db.execute(
            "SELECT id, CAST(memory_session_id AS text), CAST(project AS text), created_at_epoch, "
            "CAST(title AS text), CAST(facts AS text), CAST(narrative AS text) "
            "FROM observations ORDER BY id"
        ):
            number, session, project, milliseconds, title, facts, narrative = row
            texts = _texts(facts) or [text for text in (narrative or title,) if text]
            for index, text in enumerate(texts):
                moment = moment_since_epoch(milliseconds, per_second=1000)
                yield Record(f"{number}-{index}", project or "default", text, moment, session)


class ClaudeMem(SqliteFormat):
    """A database of claude-mem."""

    name = "claude-mem"
    about = "claude-mem's claude-mem.db"
    holds = "a fact of an observation; different projects are never merged"
    is_only_read = True
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "observations": frozenset(
            {"memory_session_id", "project", "title", "facts", "narrative", "created_at_epoch"}
        )
    }
    schema_query = "SELECT max(version) FROM schema_versions"
    schema = 52, "13.25.3"
    rows = _Observations


def _texts(facts: str | None) -> list[str]:
    """Return the facts of an observation; none if they have another form."""
    try:
        parsed: Any = json.loads(facts or "[]")
    except (ValueError, RecursionError):
        return []
    return [fact for fact in parsed if isinstance(fact, str)] if isinstance(parsed, list) else []
