"""The search tables of mcp-memory-service, read with the real extension."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nights import rows
from real_vec0 import with_extension

DAY = 86400.0
FIRST_DAY = 1_770_000_000.0
UPDATED = ["The backup job starts at 02:30.", "The backup job starts at 04:15 now."]


def dated_rows(*texts: str, first: int = 0) -> list[dict[str, Any]]:
    """Return texts as memories of a day each."""
    return [
        {"content": text, "created_at": FIRST_DAY + (first + day) * DAY}
        for day, text in enumerate(texts)
    ]


def vectors_in(path: Path, table: str = "memory_embeddings") -> dict[int, bytes]:
    """Return the vectors that the real extension reads, by their rows."""
    with with_extension(path) as db:
        return dict(db.execute(f"SELECT rowid, content_embedding FROM {table}"))


def check_search_tables(path: Path) -> None:
    """Check that the package's indexes are intact and match its rows."""
    with with_extension(path) as db:
        db.execute(
            "INSERT INTO memory_content_fts(memory_content_fts, rank) VALUES('integrity-check', 1)"
        )
        rows = "SELECT id FROM memories WHERE deleted_at IS NULL ORDER BY id"
        vectors = "SELECT rowid FROM memory_embeddings ORDER BY rowid"
        assert list(db.execute(rows)) == list(db.execute(vectors))
        assert list(db.execute("PRAGMA integrity_check")) == [("ok",)]
        orphans = (
            "SELECT count(*) FROM memories l WHERE l.deleted_at IS NULL AND l.superseded_by <> '' "
            "AND NOT EXISTS (SELECT 1 FROM memories w WHERE w.content_hash = l.superseded_by "
            "AND w.deleted_at IS NULL)"
        )
        assert list(db.execute(orphans)) == [(0,)]


def visible(path: Path) -> list[str]:
    """Return the texts that the service itself would show."""
    sql = (
        "SELECT content FROM memories WHERE deleted_at IS NULL AND coalesce(superseded_by, '') = ''"
    )
    return [row["content"] for row in rows(path, f"{sql} ORDER BY id")]
