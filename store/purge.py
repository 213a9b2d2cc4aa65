"""Delete superseded memories permanently, once nothing needs their rows.

The text of a purged memory stays in the lineage of its successor, and what runs compare with other
memories stays in `witnesses`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .erasing import references_explained
from .errors import NotFound, StoreError
from .file import MemoryFile
from .journal import Journal
from .journal_form import FORGOTTEN, PURGED
from .prefixes import find_by_prefix
from .records import in_utc, json_text, timestamp
from .witnesses import store_witnesses

# How many days superseded memories stay, and runs can be undone completely.
KEPT_DAYS = 30
# How many memories are retired or deleted in one transaction, so that agents do not wait.
PORTION = 200
# The key in the options of a run that is a purge.
OPTION = "purge"
# The columns of a purged memory that the journal keeps.
_IMAGE = ("content_hash", "superseded_at", "superseded_by")

# The lineage of the successor has the text. The lineage of a rule is not enough, because undoing
# the rule deletes its edges.
_TEXT_IS_KEPT = (
    "EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = m.id "
    "AND derived_id = m.superseded_by AND operation <> 'extract') "
    "AND NOT EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = m.id "
    "AND source_content IS NOT NULL AND source_content <> m.content)"
)
_SUPERSEDED = (
    "SELECT id, superseded_at, pinned, content_hash, superseded_by, "
    "EXISTS (SELECT 1 FROM synthesized_from WHERE derived_id = m.id) "
    "OR EXISTS (SELECT 1 FROM memories s WHERE s.superseded_by = m.id) "
    f"OR NOT ({_TEXT_IS_KEPT}) AS needed_by_lineage FROM memories m "
    "WHERE status = 'superseded' AND superseded_at IS NOT NULL"
)
# The SQL of the memories that pending proposals refer to.
UNDER_REVIEW = (
    "SELECT value FROM proposals, json_each(sources) WHERE state = 'pending' "
    "UNION SELECT survivor FROM proposals WHERE state = 'pending' AND survivor IS NOT NULL"
)
# Undo restores vectors only for existing memories: they do not need any.
_UNDOABLE = (
    "SELECT value AS id FROM runs JOIN proposals ON run_id = runs.id, json_each(sources) "
    "WHERE state = 'applied' AND outcome <> 'undone' AND started_at >= ?1 "
    "UNION SELECT value FROM runs JOIN journal ON run_id = runs.id, json_each(row_key) AS named "
    "WHERE table_name <> 'embeddings' "
    "AND named.key IN ('id', 'memory_id', 'derived_id', 'source_id') "
    "AND outcome <> 'undone' AND started_at >= ?1"
)


@dataclass(frozen=True)
class KeptCounts:
    """How many superseded memories past `KEPT_DAYS` stay, by what needs them."""

    lineage: int = 0
    review: int = 0
    undo: int = 0
    pinned: int = 0

    @classmethod
    def from_reasons(cls, staying: Mapping[str, str]) -> KeptCounts:
        """Count them. staying: as in `Purgeable`."""
        return cls(**Counter(staying.values()))


@dataclass(frozen=True)
class Purgeable:
    """Which memories can be purged, and which stay and why."""

    ids: tuple[str, ...]
    # By id of a memory that stays, what needs it: a field name of `KeptCounts`.
    staying: Mapping[str, str]


def read_needed(file: MemoryFile, now: datetime) -> dict[str, str]:
    """Return which memories a review, or the undo of a run, needs: a field of `KeptCounts` by id.

    Valid while the caller holds the maintenance lock.
    """
    undoable = file.column(_UNDOABLE, [timestamp(now - timedelta(days=KEPT_DAYS))])
    reviewed = file.column(UNDER_REVIEW)
    return dict.fromkeys(undoable, "undo") | dict.fromkeys(reviewed, "review")


def find_purgeable(file: MemoryFile, tenants: Sequence[str], now: datetime) -> Purgeable:
    """Return the superseded memories of the tenants that can be deleted."""
    rows = _read_old(file, "tenant", tenants, now, read_needed(file, now))
    staying = {row["id"]: row["reason"] for row in rows if row["reason"] is not None}
    return Purgeable(tuple(row["id"] for row in rows if row["reason"] is None), staying)


def purge(
    file: MemoryFile, run_id: str, ids: Sequence[str], now: datetime, needed: Mapping[str, str]
) -> list[str]:
    """Delete those of the memories that can still be purged, and return their ids.

    needed: what `read_needed` returned. One transaction, which also writes their witnesses, and
    journals their keys but not their texts. Raises `StoreError`, with nothing changed, if a text
    would be lost.
    """
    with file.transaction():
        rows = _read_old(file, "id", ids, now, needed)
        images = {
            row["id"]: {name: row[name] for name in _IMAGE} for row in rows if row["reason"] is None
        }
        purged = list(images)
        texts = _texts(file, purged)
        journal = Journal(file, run_id, PURGED)
        journal.record("memories", (({"id": key}, image, {}) for key, image in images.items()))
        store_witnesses(file, purged, run_id)
        with references_explained(file.conn, file.path, "memories"):
            file.change_rows("DELETE FROM memories WHERE id = ?", [(key,) for key in purged])
        _refuse_loss(file, texts)
    return purged


@dataclass(frozen=True)
class Removal:
    """The deletion of a memory by a run."""

    id: str
    run_id: str
    removed_at: str
    # Whether it was forgotten, with its text; otherwise it was purged, and lineage has its text.
    is_forgotten: bool


def find_removed(file: MemoryFile, prefix: str) -> Removal | None:
    """Return how a memory, given by a prefix of its id, was removed; None if it was not.

    Raises `Ambiguous`.
    """
    removed = (
        "(SELECT json_extract(row_key, '$.id') AS id FROM journal WHERE proposal IN ('{}', '{}'))"
    )
    try:
        memory_id = find_by_prefix(
            file, removed.format(PURGED, FORGOTTEN), "id", prefix, kind="memory"
        )
    except NotFound:
        return None
    return next(removals(file, memory_id))


def removals(file: MemoryFile, memory_id: str) -> Iterator[Removal]:
    """Return how a memory was removed, the latest first."""
    rows = file.tuples(
        "SELECT run_id, started_at, proposal = ?1 FROM journal JOIN runs ON id = run_id "
        "WHERE proposal IN (?1, ?2) AND row_key = ?3 ORDER BY started_at DESC",
        [FORGOTTEN, PURGED, json_text({"id": memory_id})],
    )
    return (
        Removal(memory_id, run, started_at, bool(is_forgotten))
        for run, started_at, is_forgotten in rows
    )


def read_forgotten(file: MemoryFile) -> dict[str, str]:
    """Return when each forgotten memory was forgotten, by id."""
    return dict(
        file.tuples(
            "SELECT json_extract(row_key, '$.id'), max(started_at) FROM journal "
            "JOIN runs ON id = run_id WHERE proposal = ? GROUP BY 1",
            [FORGOTTEN],
        )
    )


def forgotten_since(file: MemoryFile, run_id: str) -> str | None:
    """Return when memories that a run had changed were last forgotten; None if none were."""
    started_at = file.value(
        "SELECT max(started_at) FROM runs, json_each(report, '$.runs') "
        f"WHERE json_extract(options, '$.{FORGOTTEN}') IS NOT NULL AND value = ?",
        [run_id],
    )
    return None if started_at is None else str(started_at)


def _read_old(
    file: MemoryFile, column: str, values: Sequence[str], now: datetime, needed: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the superseded memories past `KEPT_DAYS`, by id, each with the reason to keep it.

    column, values: which memories. The reason is None if nothing needs the memory.
    """
    limit = timestamp(now - timedelta(days=KEPT_DAYS))
    chosen = f"AND {column} IN (SELECT value FROM json_each(?)) ORDER BY id"
    rows = file.rows(f"{_SUPERSEDED} {chosen}", [json_text(values)])
    old = [row for row in rows if in_utc(row["superseded_at"]) < limit]
    for row in old:
        by_lineage = "lineage" if row["needed_by_lineage"] else None
        row["reason"] = "pinned" if row["pinned"] else needed.get(row["id"], by_lineage)
    return old


def _texts(file: MemoryFile, ids: Sequence[str]) -> dict[str, bytes]:
    # As bytes, because a text may be invalid UTF-8.
    rows = file.conn.execute(
        "SELECT id, CAST(content AS BLOB) FROM memories "
        "WHERE id IN (SELECT value FROM json_each(?))",
        [json_text(ids)],
    )
    return dict(rows)


def _refuse_loss(file: MemoryFile, texts: dict[str, bytes]) -> None:
    """Raise `StoreError` if the lineage does not have a text byte for byte."""
    rows = file.conn.execute(
        "SELECT source_id, CAST(source_content AS BLOB) FROM synthesized_from "
        "WHERE source_id IN (SELECT value FROM json_each(?))",
        [json_text(sorted(texts))],
    )
    kept_texts = set(rows)
    for memory_id, text in texts.items():
        if (memory_id, text) not in kept_texts:
            raise StoreError(
                f"Purging would delete the only copy of the text of memory {memory_id} in "
                f"{file.path}.",
                "Nothing was purged. 'slowwave check FILE' shows whether a trigger is missing.",
            )
