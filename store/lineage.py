"""Lineage: which memories were derived from which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import NotFound
from .file import MemoryFile
from .memories import read_memory
from .prefixes import find_by_prefix
from .records import Claim, Memory, content_hash, json_text, parse_claims
from .rows import json_field

_EDGES_WITH_TENANTS = (
    "(SELECT source_id, tenant FROM synthesized_from JOIN memories ON id = derived_id)"
)


@dataclass(frozen=True)
class Edge:
    """A row of `synthesized_from`."""

    derived_id: str
    source_id: str
    operation: str
    run_id: str
    source_hash: str
    source_content: str | None


@dataclass(frozen=True)
class Relative:
    """A memory at the other end of an edge."""

    id: str
    operation: str
    run_id: str
    content: str
    status: str


@dataclass(frozen=True)
class Lineage:
    """All ancestors, or all descendants, of a memory.

    A graph, because the paths in it can be too many, and too long, for a tree.
    """

    start: str
    # By memory id: its sources, or the memories derived from it.
    steps: Mapping[str, Sequence[Relative]]


def read_edges(file: MemoryFile, tenant: str) -> list[Edge]:
    """Return the edges to the sources of a tenant's memories."""
    rows = file.conn.execute(
        "SELECT derived_id, source_id, operation, run_id, source_hash, source_content "
        "FROM synthesized_from JOIN memories ON id = derived_id WHERE tenant = ? "
        "ORDER BY derived_id, source_id",
        [tenant],
    )
    return [Edge(*row) for row in rows]


def read_source_edges(file: MemoryFile, memory_id: str, with_texts: bool) -> list[dict[str, Any]]:
    """Return the rows of the edges to the sources of a memory, ordered by source.

    with_texts: include the texts of inactive sources.
    """
    rows = file.rows(
        "SELECT derived_id, source_id, operation, run_id, source_hash, coalesce(source_content, "
        "CASE WHEN ? AND status <> 'active' THEN content END) AS source_content, "
        "e.created_at AS created_at "
        "FROM synthesized_from e LEFT JOIN memories ON id = source_id "
        "WHERE derived_id = ? ORDER BY source_id",
        [with_texts, memory_id],
    )
    return list(rows)


def add_edges(file: MemoryFile, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows, as `read_source_edges` returns them, in the caller's transaction."""
    file.conn.executemany(
        "INSERT INTO synthesized_from VALUES (:derived_id, :source_id, :operation, :run_id, "
        ":source_hash, :source_content, :created_at) "
        "ON CONFLICT (derived_id, source_id) DO NOTHING",
        rows,
    )


@dataclass(frozen=True)
class Derivation:
    """How a run made a memory, or made it the successor of others."""

    run_id: str
    operation: str
    # `model`, `extractive` or `human`.
    writer: str
    model: str | None
    prompt_hash: str


@dataclass(frozen=True)
class Support:
    """A source of an active derived memory, and the proposal that an undo of it needs."""

    derived_id: str
    tenant: str
    source_id: str
    # What the source said when it was used.
    source_hash: str
    # Its current hash, status, trust and generation; None if it was deleted. Purged sources count
    # as they were.
    content_hash: str | None
    status: str | None
    trust: float | None
    generation: int | None
    # The last applied proposal that changed the derived memory; None if none is recorded.
    proposal: str | None


_SUPPORT = (
    "SELECT d.id, d.tenant, e.source_id, e.source_hash, "
    "CASE WHEN s.id IS NULL THEN w.content_hash ELSE s.content_hash END, s.content, "
    "coalesce(s.status, json_extract(w.image, '$.status')), "
    "coalesce(s.trust, json_extract(w.image, '$.trust')), "
    "coalesce(s.generation, json_extract(w.image, '$.generation')), "
    "(SELECT p.key FROM derivations v JOIN proposals p ON p.run_id = v.run_id AND "
    "p.key = v.proposal WHERE v.memory_id = d.id AND p.state = 'applied' "
    "ORDER BY v.run_id DESC LIMIT 1) "
    "FROM memories d JOIN synthesized_from e ON e.derived_id = d.id "
    "LEFT JOIN memories s ON s.id = e.source_id LEFT JOIN witnesses w ON w.id = e.source_id "
    "WHERE d.status = 'active' AND d.generation > 0 "
    "AND d.tenant IN (SELECT value FROM json_each(?)) ORDER BY d.id, e.source_id"
)


def read_support(file: MemoryFile, tenants: Sequence[str]) -> list[Support]:
    """Return the sources of the active derived memories, ordered by derived memory and source."""
    rows = file.tuples(_SUPPORT, [json_text(tenants)])
    return [
        # A memory that an agent stored or edited by SQL has no hash.
        Support(derived, tenant, source, used, current or (text and content_hash(text)), *state)
        for derived, tenant, source, used, current, text, *state in rows
    ]


def read_written_trusts(file: MemoryFile) -> dict[str, float]:
    """Return the trust that each observed memory written by a run had at first, by id."""
    trust = json_field("after", "trust")
    return dict(
        file.tuples(
            f"SELECT {json_field('row_key', 'id')}, {trust} FROM journal WHERE before IS NULL "
            f"AND table_name = 'memories' AND typeof({trust}) IN ('real', 'integer') "
            f"AND {json_field('after', 'generation')} = 0"
        )
    )


def read_derivations(file: MemoryFile, memory_id: str) -> list[Derivation]:
    """Return the derivations of a memory, in the order of runs; none for an observed memory."""
    rows = file.conn.execute(
        "SELECT run_id, operation, writer, model, prompt_hash FROM derivations "
        "WHERE memory_id = ? ORDER BY run_id",
        [memory_id],
    )
    return [Derivation(*row) for row in rows]


def read_claims(file: MemoryFile, memory_id: str) -> list[Claim]:
    """Return the statements of a memory after the last run that changed it.

    Statements from earlier runs keep their authors. Raises `UnusableFile`.
    """
    claims: list[Claim] = []
    for text in file.column(
        "SELECT claims FROM derivations WHERE memory_id = ? ORDER BY run_id", [memory_id]
    ):
        before = {claim.text: claim for claim in claims if claim.written_by is not None}
        claims = [
            before.get(claim.text, claim) if claim.written_by is None else claim
            for claim in parse_claims(text, "the claims", f"memory {memory_id}")
        ]
    return claims


def read_run_claims(file: MemoryFile, run_id: str) -> dict[str, list[Claim]]:
    """Return the statements of the texts that a run wrote, by proposal key.

    Raises `UnusableFile`.
    """
    rows = file.conn.execute(
        "SELECT proposal, claims FROM derivations WHERE run_id = ? AND operation <> 'merge'",
        [run_id],
    )
    return {
        proposal: parse_claims(claims, "the claims", f"proposal {proposal}")
        for proposal, claims in rows
    }


def find_memory_or_source(
    file: MemoryFile, prefix: str, tenant: str | None = None
) -> Memory | Relative:
    """Return the memory whose id is, or starts with, `prefix`, or a deleted one from lineage.

    tenant: only memories of this tenant, or sources of such memories; None means all. Raises
    `NotFound` or `Ambiguous`.
    """
    try:
        return read_memory(file, prefix, tenant)
    except NotFound as error:
        edges = "synthesized_from" if tenant is None else _EDGES_WITH_TENANTS
        try:
            source_id = find_by_prefix(
                file, edges, "source_id", prefix, kind="memory", tenant=tenant
            )
        except NotFound:
            raise error from None
    text = read_source_texts(file, [source_id]).get(source_id, "")
    return Relative(source_id, "", "", text, "gone")


def read_source_texts(file: MemoryFile, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts that lineage keeps of deleted memories, by id."""
    rows = file.conn.execute(
        "SELECT source_id, max(source_content) FROM synthesized_from "
        "WHERE source_id IN (SELECT value FROM json_each(?)) AND source_content IS NOT NULL "
        "GROUP BY source_id",
        [json_text(list(ids))],
    )
    return dict(rows.fetchall())


def trace_sources(file: MemoryFile, memory_id: str) -> Lineage:
    """Return all ancestors of a memory."""
    return _walk(file, memory_id, "derived_id", "source_id")


def trace_derived(file: MemoryFile, memory_id: str) -> Lineage:
    """Return all descendants of a memory."""
    return _walk(file, memory_id, "source_id", "derived_id")


@dataclass(frozen=True)
class Trace:
    """The lineage of a memory, in both directions."""

    # A `Relative` if the memory was deleted.
    memory: Memory | Relative
    # Its claims, as of the last run that changed it.
    claims: tuple[Claim, ...]
    derivations: tuple[Derivation, ...]
    sources: Lineage
    derived: Lineage


def read_trace(file: MemoryFile, prefix: str, tenant: str | None = None) -> Trace:
    """Return the lineage of a memory. prefix, tenant: as in `find_memory_or_source`."""
    memory = find_memory_or_source(file, prefix, tenant)
    return Trace(
        memory,
        tuple(read_claims(file, memory.id)),
        tuple(read_derivations(file, memory.id)),
        trace_sources(file, memory.id),
        trace_derived(file, memory.id),
    )


def read_active_derived(file: MemoryFile, memory_id: str) -> list[Relative]:
    """Return the active memories derived from a memory, nearest first."""
    steps = trace_derived(file, memory_id).steps
    derived_by_id: dict[str, Relative] = {}
    queue = [memory_id]
    while queue:
        for derived in steps.get(queue.pop(0), ()):
            if derived.id not in derived_by_id:
                derived_by_id[derived.id] = derived
                queue.append(derived.id)
    return [derived for derived in derived_by_id.values() if derived.status == "active"]


def reached_sql(near: str, far: str) -> str:
    """Return the SQL of `reached`: the ids in a JSON array, and those at the far ends of edges."""
    # UNION visits each memory only once.
    return (
        "WITH RECURSIVE reached (id) AS (SELECT value FROM json_each(?) UNION "
        f"SELECT {far} FROM synthesized_from JOIN reached ON {near} = reached.id)"
    )


def _walk(file: MemoryFile, start: str, near: str, far: str) -> Lineage:
    rows = file.rows(
        f"{reached_sql(near, far)} SELECT e.{near} AS near, e.{far} AS id, operation, e.run_id, "
        "coalesce(m.content, e.source_content, '') AS content, "
        "coalesce(m.status, 'gone') AS status "
        f"FROM synthesized_from e JOIN reached ON e.{near} = reached.id "
        f"LEFT JOIN memories m ON m.id = e.{far} ORDER BY m.observed_at, e.{far}",
        [json_text([start])],
    )
    steps: dict[str, list[Relative]] = {}
    for row in rows:
        steps.setdefault(row.pop("near"), []).append(Relative(**row))
    return Lineage(start, steps)
