"""The texts that a model was shown, so that runs ask only about new ones, and conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .file import MemoryFile
from .records import parse_list

# The key, in the numbers of a decision, of the pairs of texts that a person found both right.
BOTH_RIGHT = "both_right"


def read_asked(file: MemoryFile, key: str | None) -> frozenset[tuple[str, str]]:
    """Return (tenant, content hash) of each text that was shown under a key.

    key: a hash of the model and of its instructions; None for any. The sources of proposals that
    became stale since count as not shown, so that they can be proposed again; so do texts whose
    memory was superseded by another text, which an agent may state once more: its value may have
    changed back.
    """
    rows = file.conn.execute(
        "WITH outdated AS (SELECT tenant, content_hash, max(runs.rowid) AS run FROM ("
        "SELECT memories.tenant, content_hash, run_id "
        "FROM proposals, json_each(sources) source JOIN memories ON memories.id = source.value "
        "WHERE state = 'stale' UNION ALL "
        "SELECT derived.tenant, source_hash, run_id FROM synthesized_from JOIN memories AS derived "
        "ON derived.id = derived_id AND derived.content_hash <> source_hash "
        "LEFT JOIN memories AS source ON source.id = source_id AND source.status = 'active' "
        "WHERE source.id IS NULL) JOIN runs ON runs.id = run_id GROUP BY tenant, content_hash) "
        "SELECT asked.tenant, asked.content_hash FROM asked "
        "LEFT JOIN runs ON runs.id = asked.run_id "
        "LEFT JOIN outdated USING (tenant, content_hash) "
        # Not by id: the clock may have stepped back since.
        "WHERE key = coalesce(?, key) AND (outdated.run < runs.rowid) IS NOT FALSE",
        [key],
    )
    return frozenset((tenant, content_hash) for tenant, content_hash in rows)


def record_asked(
    file: MemoryFile, tenant: str, hashes: Iterable[str], key: str, run_id: str
) -> None:
    """Record that texts were shown, which outdates reports, in the caller's transaction."""
    file.conn.execute("DELETE FROM standing WHERE tenant = ?", [tenant])
    file.conn.executemany(
        "INSERT OR REPLACE INTO asked (tenant, content_hash, key, run_id) VALUES (?, ?, ?, ?)",
        [(tenant, content_hash, key, run_id) for content_hash in hashes],
    )


class Dispute(NamedTuple):
    """Two texts of a tenant, by hash, that a model found contradictory."""

    tenant: str
    earlier_hash: str
    later_hash: str
    why: str


def record_disputes(file: MemoryFile, disputes: Iterable[Dispute], run_id: str) -> None:
    """Record conflicts that a model found, in the caller's transaction."""
    file.conn.executemany(
        "INSERT OR REPLACE INTO disputes (tenant, earlier_hash, later_hash, why, run_id) "
        "VALUES (?, ?, ?, ?, ?)",
        [(*dispute, run_id) for dispute in disputes],
    )


def read_disputes(file: MemoryFile, tenant: str) -> list[Dispute]:
    """Return the conflicts of a tenant that a model found, without those that are settled."""
    rows = file.conn.execute(
        "SELECT tenant, earlier_hash, later_hash, why FROM disputes WHERE tenant = ? "
        "ORDER BY earlier_hash, later_hash",
        [tenant],
    )
    settled = read_settled(file, tenant)
    disputes = [Dispute(*row) for row in rows.fetchall()]
    return [
        dispute for dispute in disputes if {dispute.earlier_hash, dispute.later_hash} not in settled
    ]


def read_settled(file: MemoryFile, tenant: str) -> frozenset[frozenset[str]]:
    """Return the pairs of texts of a tenant, by hash, that a person found both right."""
    rows = file.conn.execute(
        "SELECT proposals.key, pair.value "
        f"FROM proposals, json_each(numbers, '$.{BOTH_RIGHT}') pair "
        "WHERE tenant = ? AND state = 'applied'",
        [tenant],
    )
    return frozenset(
        frozenset(map(str, parse_list(pair, "the numbers", f"proposal {key}")))
        for key, pair in rows.fetchall()
    )
