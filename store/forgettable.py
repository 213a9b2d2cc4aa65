"""Find what a request to forget a memory, or a text, is about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from .erasing import Eraser, find_left, fold, holds
from .errors import NotFound, StoreError
from .file import MemoryFile
from .lineage import reached_sql
from .memories import find_id
from .purge import find_removed
from .records import json_text
from .rows import json_field
from .shared_tenant import refuse_current_facts, shared_tenants

# Each text of a memory that the file has: in its row or, if it was purged, in the lineage.
_KNOWN = (
    "SELECT id, tenant, content, status, superseded_by, generation > 0 OR id IN "
    f"(SELECT {json_field('row_key', 'id')} FROM journal WHERE table_name = 'memories' "
    f"AND {json_field('before', 'content')} IS NOT NULL) AS is_written FROM memories "
    "UNION ALL SELECT source_id, coalesce(w.tenant, d.tenant, ''), max(source_content), 'purged', "
    "json_extract(image, '$.superseded_by'), coalesce(json_extract(image, '$.generation'), 0) > 0 "
    "FROM synthesized_from e LEFT JOIN witnesses w ON w.id = source_id "
    "LEFT JOIN memories d ON d.id = derived_id WHERE source_content IS NOT NULL "
    "AND source_id NOT IN (SELECT id FROM memories) GROUP BY source_id ORDER BY 1"
)

# The columns of a memory that may contain the text of another one.
MEMORY_COLUMNS = ("source", "session", "tags", "metadata")


@dataclass(frozen=True)
class KnownText:
    """A memory whose text is in the file."""

    id: str
    tenant: str
    content: str
    # The status in `memories`, or `purged`.
    status: str
    superseded_by: str | None
    # Whether a run wrote its text.
    is_written: bool


@dataclass(frozen=True)
class Forgettable:
    """What a request to forget is about."""

    # The request: the prefix of an id, or the text to erase, and whose; () means all tenants.
    memory: str | None
    text: str | None
    tenants: tuple[str, ...]
    memories: tuple[KnownText, ...] = ()
    # Memories that a run wrote from them, directly or not.
    derived: tuple[KnownText, ...] = ()
    # Memories that become active again, because the derived ones go.
    released: tuple[KnownText, ...] = ()
    # Related memories that stay: sources, memories that absorbed one, and those with its text.
    related: tuple[KnownText, ...] = ()
    # The ids of memories that stay, but have it in their source, session, tags or metadata.
    rewritten: tuple[str, ...] = ()
    # Whether the file has several tenants.
    names_tenants: bool = False
    # When the memory was forgotten before.
    forgotten_at: str | None = None
    # Whether nothing is left to erase; bytes in the free space of the file may be left to `clean`.
    is_done: bool = False
    # All texts that the memories have, or had before or after a run, and what erases them.
    texts: frozenset[str] = frozenset()
    eraser: Eraser = field(default_factory=lambda: Eraser(()), repr=False, compare=False)

    @property
    def ids(self) -> list[str]:
        """The memories to forget, including the derived ones."""
        return [memory.id for memory in (*self.memories, *self.derived)]


def find_forgettable(
    file: MemoryFile, memory: str | None, text: str | None, tenants: Sequence[str] = ()
) -> Forgettable:
    """Return what to forget for a memory, by a prefix of its id, or for a text in any spelling.

    tenants: only their memories; () means all. Raises `NotFound` and `Ambiguous`, and `StoreError`
    for a shared fact that was not retracted.
    """
    request = memory, text, tuple(tenants)
    if memory is not None and (forgotten_at := _forgotten_at(file, memory)) is not None:
        return Forgettable(*request, forgotten_at=forgotten_at, is_done=True)
    Eraser([text or ""]).offer_to(file)
    if memory is None and not find_left(file):
        return Forgettable(*request, is_done=True)
    rows = [KnownText(*values) for values in file.tuples(_KNOWN)]
    memories = [row for row in rows if not tenants or row.tenant in tenants]
    if text is not None:
        folded = fold(text)
        selected = {row.id for row in memories if folded in fold(row.content)}
        # Each memory with the text of a chosen one has the text that was specified.
        parts = set()
    else:
        selected = _find(file, memory or "", memories)
        # What these supersede would become active again.
        while (
            superseded := {row.id for row in memories if row.superseded_by in selected} - selected
        ):
            selected |= superseded
        texts = {(row.tenant, row.content) for row in memories if row.id in selected}
        selected |= {row.id for row in memories if (row.tenant, row.content) in texts}
        parts = {fold(content) for _, content in texts} - {""}
    reached = _reach(file, selected, "source_id", "derived_id")
    derived = {row.id for row in memories if row.is_written and row.id in reached} - selected
    forgotten = selected | derived
    staying = [row for row in memories if row.id not in forgotten]
    refuse_current_facts(file, sorted(forgotten))
    bereft = [row for row in staying if row.superseded_by in forgotten]
    # An earlier version of a shared fact stays outdated.
    facts = shared_tenants(file)
    released = {row.id for row in bereft if row.status == "superseded" and row.tenant not in facts}
    related = reached | _reach(file, selected, "derived_id", "source_id")
    related |= {row.id for row in bereft}
    related |= {row.id for row in staying if any(part in fold(row.content) for part in parts)}

    def select(ids: Collection[str]) -> tuple[KnownText, ...]:
        return tuple(row for row in memories if row.id in ids)

    related -= forgotten | released
    erased_texts = _texts_of(file, forgotten)
    requested = () if text is None else (text,)
    remaining = [row for row in rows if row.id not in forgotten]
    eraser = _eraser_of(erased_texts.union(requested), remaining)
    return Forgettable(
        *request,
        memories=select(selected),
        derived=select(derived),
        released=select(released),
        related=select(related),
        rewritten=_find_rewritten(file, eraser, forgotten),
        names_tenants=len({row.tenant for row in rows}) > 1,
        texts=erased_texts,
        eraser=eraser,
    )


def _texts_of(file: MemoryFile, ids: Collection[str]) -> frozenset[str]:
    """Return all texts that memories have, or had before or after a run."""
    entry_of = json_field("row_key", "id")
    texts = file.column(
        "SELECT content FROM memories WHERE id IN (SELECT value FROM json_each(?1)) "
        "UNION SELECT source_content FROM synthesized_from "
        "WHERE source_id IN (SELECT value FROM json_each(?1)) "
        f"UNION SELECT {json_field('image', 'content')} FROM (SELECT row_key, before AS image "
        "FROM journal WHERE table_name = 'memories' UNION ALL SELECT row_key, after FROM journal "
        f"WHERE table_name = 'memories') WHERE {entry_of} IN (SELECT value FROM json_each(?1))",
        [json_text(sorted(ids))],
    )
    return frozenset(filter(None, texts))


def _eraser_of(texts: Collection[str], staying: Sequence[KnownText]) -> Eraser:
    """Return what erases texts, except those that a memory which stays has, too."""
    staying_texts = {memory.content for memory in staying}
    all_staying = "\0".join(map(fold, staying_texts))
    return Eraser(
        (text for text in texts if fold(text) not in all_staying),
        set(texts) - staying_texts,
        {name for memory in staying for name in (memory.id, memory.tenant)},
    )


def _find_rewritten(
    file: MemoryFile, eraser: Eraser, forgotten: Collection[str]
) -> tuple[str, ...]:
    eraser.offer_to(file)
    conditions = " OR ".join(map(holds, MEMORY_COLUMNS))
    ids = file.column(
        f"SELECT id FROM memories WHERE ({conditions}) "
        "AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id",
        [json_text(sorted(forgotten))],
    )
    return tuple(ids)


def _forgotten_at(file: MemoryFile, prefix: str) -> str | None:
    """Return when a memory was forgotten; None if it was not."""
    with suppress(NotFound):
        find_id(file, prefix)
        return None
    removed = find_removed(file, prefix)
    return removed.removed_at if removed is not None and removed.is_forgotten else None


def _find(file: MemoryFile, prefix: str, memories: Sequence[KnownText]) -> set[str]:
    """Return the id of a memory, or of a purged one. Raises `NotFound` and `Ambiguous`."""
    try:
        memory_id = find_id(file, prefix)
    except NotFound:
        removed = find_removed(file, prefix)
        if removed is None:
            raise
        memory_id = removed.id
    if not any(row.id == memory_id for row in memories):
        raise NotFound(f"There is no memory '{prefix}' of this tenant in {file.path}.")
    return {memory_id}


def _reach(file: MemoryFile, ids: Collection[str], near: str, far: str) -> set[str]:
    """Return the ids at the other ends of lineage edges, to any depth."""
    reached = file.column(
        f"{reached_sql(near, far)} SELECT id FROM reached", [json_text(sorted(ids))]
    )
    return {*reached} - {*ids}


def refuse_derived(forgettable: Forgettable, with_derived: bool) -> None:
    """Raise `StoreError` if memories derived from the forgotten ones would stay."""
    if forgettable.derived and not with_derived:
        ids = ", ".join(memory.id for memory in forgettable.derived)
        raise StoreError(
            f"Other memories were derived from it: {ids}.",
            "Nothing was changed. Pass --derived to forget them, too: their other sources become "
            "active again, and sources for the next run.",
        )
