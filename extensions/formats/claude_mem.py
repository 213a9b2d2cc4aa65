"""claude-mem's database: observations with facts. It is read only.

claude-mem 13.25.3. An index of vectors and an outbox hang on its rows, outside the file, and no
state of a row hides it: whatever we changed, these would not hear of. A memory is a fact of an
observation; of one without facts what its narrative says, or its title.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from slowwave.store.records import timestamp

from .base import Image, Record, Unreadable
from .database import TriedSchema
from .rows import Leaving
from .sqlite_file import SqliteFormat


class ClaudeMem(SqliteFormat):
    """A database of claude-mem."""

    name = "claude-mem"
    about = "claude-mem's claude-mem.db"
    holds = "a fact of an observation; nothing is joined across projects"
    is_only_read = True
    tables: ClassVar[Mapping[str, frozenset[str]]] = {
        "observations": frozenset(
            {"memory_session_id", "project", "title", "facts", "narrative", "created_at_epoch"}
        )
    }
    schema_query = "SELECT max(version) FROM schema_versions"
    schema = TriedSchema(52, "13.25.3")

    def why_no_texts(self, path: Path) -> str | None:
        """Say nothing: a dry run may show what a file of our own would make of it."""
        return None

    def read(self, db: sqlite3.Connection) -> Iterator[Record]:
        """Yield the facts, in the order of the observations."""
        for row in db.execute(
            "SELECT id, memory_session_id, project, created_at_epoch, title, facts, narrative "
            "FROM observations ORDER BY id"
        ):
            number, session, project, milliseconds, title, facts, narrative = row
            texts = _texts(facts) or [one for one in (narrative or title,) if one]
            for at, text in enumerate(texts):
                moment = timestamp(datetime.fromtimestamp(milliseconds / 1000, UTC))
                yield Record(f"{number}-{at}", project or "default", text, moment, session)

    def retire(self, db: sqlite3.Connection, leaving: Leaving) -> Image:
        """Refuse to."""
        raise _only_read()

    def bring_back(self, db: sqlite3.Connection, image: Image) -> str:
        """Refuse to."""
        raise _only_read()


def _only_read() -> Unreadable:
    return Unreadable("A file of claude-mem's is only read.")


def _texts(facts: str | None) -> list[str]:
    """Return the facts of an observation; none if they are of another form."""
    try:
        found: Any = json.loads(facts or "[]")
    except ValueError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
