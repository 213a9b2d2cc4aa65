"""Delete superseded memories for good, once nothing needs their rows any more.

What a purged memory said stays in the lineage of the memory that replaced it, and what nights
compare others with stays as a witness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from .errors import NotFound, StoreError
from .file import MemoryFile
from .journal import drop_unused_entities
from .journal_form import PURGED
from .memories import match_prefix
from .records import in_utc, json_text, timestamp
from .witnesses import keep_witnesses

# How long a superseded memory stays in the file, and a run can be taken back whole: what the
# README promises. A month, so that somebody has the time to notice.
KEPT_DAYS = 30
# How many memories leave in one transaction: a moment's work.
PORTION = 200
# What tells the run of a purge from other runs, in its options.
OPTION = "purge"

# What it says stands in the lineage of the memory that replaced it, and goes on standing there.
# To support a rule is not enough: a rule is undone without its support, edges and all.
_TEXT_STAYS = (
    "EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = m.id "
    "AND derived_id = m.superseded_by AND operation <> 'extract') "
    "AND NOT EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = m.id "
    "AND source_content IS NOT NULL AND source_content <> m.content)"
)
_SUPERSEDED = (
    "SELECT id, superseded_at, pinned, content_hash, superseded_by, "
    "EXISTS (SELECT 1 FROM synthesized_from WHERE derived_id = m.id) "
    "OR EXISTS (SELECT 1 FROM memories s WHERE s.superseded_by = m.id) "
    f"OR NOT ({_TEXT_STAYS}) AS needed_by_lineage FROM memories m "
    "WHERE status = 'superseded' AND superseded_at IS NOT NULL"
)
_UNDER_REVIEW = (
    "SELECT value AS id FROM proposals, json_each(sources) WHERE state = 'pending' "
    "UNION SELECT survivor FROM proposals WHERE state = 'pending'"
)
# Undoing puts vectors and scans back for the memories that are there: they need none.
_UNDOABLE = (
    "SELECT value AS id FROM runs JOIN proposals ON run_id = runs.id, json_each(sources) "
    "WHERE state = 'applied' AND outcome <> 'undone' AND started_at >= :limit "
    "UNION SELECT value FROM runs JOIN journal ON run_id = runs.id, json_each(row_key) AS named "
    "WHERE table_name NOT IN ('embeddings', 'entity_scans') "
    "AND named.key IN ('id', 'memory_id', 'derived_id', 'source_id') "
    "AND outcome <> 'undone' AND started_at >= :limit"
)


@dataclass(frozen=True)
class KeptCounts:
    """How many superseded memories stay though their time is over, by what needs them."""

    lineage: int = 0
    review: int = 0
    undo: int = 0
    pinned: int = 0


@dataclass(frozen=True)
class Purgeable:
    """Which memories may leave the file for good, and how many stay, and why."""

    ids: tuple[str, ...]
    kept: KeptCounts
    # Of each that stays, what needs it: one of the fields of `KeptCounts`.
    staying: Mapping[str, str] = field(default_factory=dict)


class Blockers:
    """What a review, or the undo of a run, still needs: gone through once for all portions.

    Only a run could need more, and while one purges no other can begin; whatever else another
    program has written, it is looked up again.
    """

    def __init__(self, now: datetime) -> None:
        """Read nothing yet."""
        self.limit = timestamp(now - timedelta(days=KEPT_DAYS))
        self._seen: int | None = None
        self._review: set[str] = set()
        self._undo: set[str] = set()

    def reason(self, row: dict[str, Any]) -> str | None:
        """Return what needs a row; None if nothing does."""
        if row["pinned"]:
            return "pinned"
        if row["id"] in self._review:
            return "review"
        if row["id"] in self._undo:
            return "undo"
        return "lineage" if row["needed_by_lineage"] else None

    def look_again(self, file: MemoryFile) -> None:
        """Look up what is needed, if another program has written since."""
        version = file.value("PRAGMA data_version")
        if version != self._seen:
            self._seen = version
            self._review = {row["id"] for row in file.rows(_UNDER_REVIEW)}
            found = file.db.conn.execute(_UNDOABLE, {"limit": self.limit})
            self._undo = {row[0] for row in found}


def find_purgeable(file: MemoryFile, tenants: Sequence[str], now: datetime) -> Purgeable:
    """Return which superseded memories of the tenants may be deleted."""
    chosen = "AND tenant IN (SELECT value FROM json_each(?)) ORDER BY id"
    rows = file.rows(f"{_SUPERSEDED} {chosen}", [json_text(tenants)])
    reasons = {row["id"]: why for row, why in _with_reasons(file, list(rows), Blockers(now))}
    counts = Counter(reasons.values())
    kept = KeptCounts(**{one.name: counts[one.name] for one in fields(KeptCounts)})
    staying = {one: reason for one, reason in reasons.items() if reason is not None}
    return Purgeable(tuple(one for one in reasons if one not in staying), kept, staying)


def purge(file: MemoryFile, run_id: str, ids: Sequence[str], needs: Blockers) -> list[str]:
    """Delete those of the memories that may still go, in one transaction, and give their ids.

    Witnesses stay for them. The journal keeps that they went, and no text. Raises
    `StoreError`, with nothing changed, if a text would be gone from the file.
    """
    with file.transaction():
        chosen = "AND id IN (SELECT value FROM json_each(?)) ORDER BY id"
        rows = list(file.rows(f"{_SUPERSEDED} {chosen}", [json_text(ids)]))
        going = [row for row, reason in _with_reasons(file, rows, needs) if reason is None]
        gone = [row["id"] for row in going]
        mentioned = _mentioned(file, gone)
        texts = _texts(file, gone)
        _journal(file, run_id, going)
        keep_witnesses(file, gone, run_id)
        file.db.conn.executemany("DELETE FROM memories WHERE id = ?", [(one,) for one in gone])
        _refuse_loss(file, texts)
        drop_unused_entities(file, mentioned)
    return gone


def purged_by(file: MemoryFile, memory_id: str) -> tuple[str, str] | None:
    """Return the run that purged a memory, and when it began; None if none did."""
    rows = file.rows(
        "SELECT run_id, started_at FROM journal JOIN runs ON id = run_id "
        "WHERE proposal = ? AND row_key = ? ORDER BY started_at DESC",
        [PURGED, json_text({"id": memory_id})],
    )
    return next(((row["run_id"], row["started_at"]) for row in rows), None)


def find_purged(file: MemoryFile, prefix: str) -> tuple[str, str, str] | None:
    """Return a purged memory, whose id is or starts with `prefix`, its purge and when that began.

    None if there is no such memory. Raises `Ambiguous`.
    """
    try:
        gone = match_prefix(file, "synthesized_from", "source_id", prefix, "memory")
    except NotFound:
        return None
    purge = purged_by(file, gone)
    return None if purge is None else (gone, *purge)


def _with_reasons(
    file: MemoryFile, rows: Sequence[dict[str, Any]], needs: Blockers
) -> list[tuple[dict[str, Any], str | None]]:
    """Return each row whose time is over with what needs it, or None if nothing does."""
    old = [row for row in rows if in_utc(row["superseded_at"]) < needs.limit]
    if old:
        needs.look_again(file)
    return [(row, needs.reason(row)) for row in old]


def _mentioned(file: MemoryFile, ids: Sequence[str]) -> list[int]:
    """Return the names that memories mention."""
    rows = file.db.conn.execute(
        "SELECT DISTINCT entity_id FROM memory_entities "
        "WHERE memory_id IN (SELECT value FROM json_each(?))",
        [json_text(ids)],
    )
    return [row[0] for row in rows]


def _journal(file: MemoryFile, run_id: str, going: Sequence[dict[str, Any]]) -> None:
    image = ("content_hash", "superseded_at", "superseded_by")
    file.db.conn.executemany(
        "INSERT INTO journal (run_id, sequence, proposal, table_name, row_key, before, after) "
        "SELECT ?1, coalesce(max(sequence), 0) + 1, ?2, 'memories', ?3, ?4, '{}' "
        "FROM journal WHERE run_id = ?1",
        [
            (run_id, PURGED, json_text({"id": row["id"]}), json_text({n: row[n] for n in image}))
            for row in going
        ],
    )


def _texts(file: MemoryFile, ids: Sequence[str]) -> dict[str, bytes]:
    # As bytes: not every text that an agent wrote is valid UTF-8.
    rows = file.db.conn.execute(
        "SELECT id, CAST(content AS BLOB) FROM memories "
        "WHERE id IN (SELECT value FROM json_each(?))",
        [json_text(ids)],
    )
    return dict(rows)


def _refuse_loss(file: MemoryFile, texts: dict[str, bytes]) -> None:
    """Refuse a purge after which a text does not stand in the lineage, to the byte."""
    rows = file.db.conn.execute(
        "SELECT source_id, CAST(source_content AS BLOB) FROM synthesized_from "
        "WHERE source_id IN (SELECT value FROM json_each(?))",
        [json_text(sorted(texts))],
    )
    held = set(rows)
    for memory_id, text in texts.items():
        if (memory_id, text) not in held:
            raise StoreError(
                f"What memory {memory_id} says would be gone from {file.path}.",
                "Nothing was purged. 'slowwave check' says whether the file lacks a trigger.",
            )
