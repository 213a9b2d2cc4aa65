"""The pages of a wiki: each memory, tenant and entity of a file, and an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from slowwave.cli.terminal.wording import counted
from slowwave.store.entities import read_entities
from slowwave.store.file import MemoryFile
from slowwave.store.lineage import Edge, read_claims, read_edges
from slowwave.store.memories import read_tenant_memories, tenants
from slowwave.store.records import Claim, Memory, json_text

from .names import INDEX, PageName, name_of_entity, name_of_memory, name_of_tenant
from .text import FILE, as_block, as_line, as_link, page, title_of

# Columns in the front matter of a memory. How often it was recalled is omitted, so that its page
# does not change each time.
_FRONT = (
    *("id", "tenant", "kind", "layer", "status", "origin", "trust", "importance", "pinned"),
    *("generation", "source", "session", "observed_at", "created_at", "expires_at"),
    *("superseded_by", "superseded_at", "content_hash"),
)
# The order in which the active memories of a tenant are listed.
_LAYERS = ("core", "stable", "working", "ephemeral")
_GONE = ("superseded", "archived", "expired")
# How many active memories must mention a name for it to have a page: fewer are mostly noise.
_MIN_MENTIONS = 3


@dataclass(frozen=True)
class _Tenant:
    """The memories of a tenant, ordered by when they were observed, with their lineage."""

    tenant: str
    memories: Mapping[str, Memory]
    # The edges to the sources of each memory, and those to what was derived from it.
    sources: Mapping[str, Sequence[Edge]]
    derived: Mapping[str, Sequence[Edge]]
    # The names that each memory mentions.
    names: Mapping[str, Sequence[str]]

    @cached_property
    def rule_ids(self) -> frozenset[str]:
        """The ids of the memories that are rules."""
        edges = (edge for source in self.sources.values() for edge in source)
        return frozenset(edge.derived_id for edge in edges if edge.operation == "extract")

    @cached_property
    def rules(self) -> list[Memory]:
        """The rules."""
        return [memory for memory in self.memories.values() if memory.id in self.rule_ids]

    @cached_property
    def entities(self) -> dict[str, list[Memory]]:
        """The memories that mention each name with a page, by name in alphabetical order."""
        mentions: dict[str, list[Memory]] = {}
        for memory in self.memories.values():
            for name in self.names.get(memory.id, ()):
                mentions.setdefault(name, []).append(memory)
        return {
            name: memories
            for name, memories in sorted(mentions.items())
            if sum(memory.status == "active" for memory in memories) >= _MIN_MENTIONS
        }


def _read_tenant(file: MemoryFile, tenant: str) -> _Tenant:
    """Read the content of the pages of a tenant. Raises `UnusableFile`."""
    sources: dict[str, list[Edge]] = {}
    derived: dict[str, list[Edge]] = {}
    for edge in read_edges(file, tenant):
        sources.setdefault(edge.derived_id, []).append(edge)
        derived.setdefault(edge.source_id, []).append(edge)
    memories = {memory.id: memory for memory in read_tenant_memories(file, tenant)}
    return _Tenant(tenant, memories, sources, derived, read_entities(file, tenant))


def all_pages(file: MemoryFile, named: str) -> Iterator[tuple[PageName, str]]:
    """Yield the pages of a file with this name, tenant by tenant, and the index last.

    Raises `UnusableFile`.
    """
    lists: dict[str, list[str]] = {"Tenants": [], "Rules": [], "Entities": []}
    for tenant in tenants(file):
        picture = _read_tenant(file, tenant)
        yield from _Pages(picture).all(file)
        for title, lines in _listed(picture).items():
            lists[title] += lines
    yield INDEX, _index(lists, named)


def _listed(picture: _Tenant) -> dict[str, list[str]]:
    """Return the lines of the index about a tenant, by heading."""
    tenant, memories = picture.tenant, picture.memories.values()
    active = sum(memory.status == "active" for memory in memories)
    return {
        "Tenants": [
            f"- {as_link(tenant, INDEX.link_to(name_of_tenant(tenant)))}: "
            f"{active:,} active of {counted(len(memories), 'memory', 'memories')}"
        ],
        "Rules": [_link_to_rule(INDEX, rule) for rule in picture.rules if rule.status == "active"],
        "Entities": [
            f"- {as_link(name, INDEX.link_to(name_of_entity(tenant, name)))}: "
            f"{counted(len(mentioning), 'memory', 'memories')}"
            for name, mentioning in picture.entities.items()
        ],
    }


def _index(lists: Mapping[str, Sequence[str]], named: str) -> str:
    body = [
        "# Memories",
        "Written by `slowwave export --wiki`: observed memories are in `raw/`, verbatim; derived "
        "ones in `wiki/`. Pages that were edited by hand are not overwritten.",
        *(part for title, lines in lists.items() for part in _section(title, lines)),
    ]
    return page({"title": "Memories", FILE: named}, body)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a heading and a list, unless the list is empty."""
    if text := "\n".join(lines):
        yield f"## {title}"
        yield text


class _Pages:
    """The pages of one tenant."""

    def __init__(self, picture: _Tenant) -> None:
        self._of = picture
        self._home = name_of_tenant(picture.tenant)

    def all(self, file: MemoryFile) -> Iterator[tuple[PageName, str]]:
        for memory in self._of.memories.values():
            claims = read_claims(file, memory.id) if memory.id in self._of.sources else []
            yield _name(memory), self._memory(memory, claims)
        for name, memories in self._of.entities.items():
            yield name_of_entity(self._of.tenant, name), self._entity(name, memories)
        yield self._home, self._tenant()

    def _memory(self, memory: Memory, claims: Sequence[Claim]) -> str:
        at = _name(memory)
        sources = self._of.sources.get(memory.id, ())
        derived = self._of.derived.get(memory.id, ())
        names = self._of.names.get(memory.id, ())
        front = {"title": title_of(memory.content)}
        front |= {name: getattr(memory, name) for name in _FRONT}
        more = {
            # As JSON, so that nested values stay on one line.
            "metadata": json_text(memory.metadata) if memory.metadata else None,
            "tags": list(memory.tags),
            "entities": list(names),
            "made_from": [edge.source_id for edge in sources],
            "made_into": [edge.derived_id for edge in derived],
        }
        successor = self._of.memories.get(memory.superseded_by or "")
        body = [
            f"# {as_line(title_of(memory.content))}",
            as_block(memory.content),
            self._about(at, memory, names),
            *_section("Replaced by", self._links(at, [successor] if successor else [])),
            *_section("Statements", (self._claim(at, claim) for claim in claims)),
            *_section("Derived from", (self._source(at, edge) for edge in sources)),
            *_section("Used in", (self._derived(at, edge) for edge in derived)),
        ]
        return page(front | more, body)

    def _about(self, at: PageName, memory: Memory, names: Sequence[str]) -> str:
        day, tenant = memory.observed_at[:10], self._of.tenant
        facts = [
            f"{memory.kind}, {memory.layer}, {memory.status}, of {day}",
            f"tenant {as_link(tenant, at.link_to(self._home))}",
        ]
        if memory.id in self._of.rule_ids:
            facts.append("a rule")
        facts += [
            as_link(name, at.link_to(name_of_entity(tenant, name)))
            for name in names
            if name in self._of.entities
        ]
        return " · ".join(facts)

    def _claim(self, at: PageName, claim: Claim) -> str:
        cited = [
            f"[{number}]({at.link_to(_name(self._of.memories[source]))})"
            for number, source in enumerate(claim.sources, start=1)
            if source in self._of.memories
        ]
        return f"- {as_line(claim.text)}" + (f" ({', '.join(cited)})" if cited else "")

    def _source(self, at: PageName, edge: Edge) -> str:
        source = self._of.memories.get(edge.source_id)
        if source is not None:
            return self._link(at, source)
        text = edge.source_content or edge.source_id
        return f"- {as_line(title_of(text))} (no longer in the file)"

    def _derived(self, at: PageName, edge: Edge) -> str:
        return f"{self._link(at, self._of.memories[edge.derived_id])} ({edge.operation})"

    def _links(self, at: PageName, memories: Iterable[Memory]) -> Iterator[str]:
        return (self._link(at, memory) for memory in memories)

    def _link(self, at: PageName, memory: Memory) -> str:
        status = "" if memory.status == "active" else f" ({memory.status})"
        link = as_link(memory.content, at.link_to(_name(memory)))
        return f"- {memory.observed_at[:10]} {link}{status}"

    def _entity(self, name: str, mentioned: Sequence[Memory]) -> str:
        at = name_of_entity(self._of.tenant, name)
        active = [memory for memory in mentioned if memory.status == "active"]
        inactive = [memory for memory in mentioned if memory.status != "active"]
        body = [
            f"# {as_line(title_of(name))}",
            f"tenant {as_link(self._of.tenant, at.link_to(self._home))}",
            *_section("Active", self._links(at, active)),
            *_section("No longer active", self._links(at, inactive)),
        ]
        return page({"title": title_of(name), "entity": name, "tenant": self._of.tenant}, body)

    def _tenant(self) -> str:
        at, memories = self._home, list(self._of.memories.values())
        active = [memory for memory in memories if memory.status == "active"]
        body = [f"# {as_line(title_of(self._of.tenant))}"]
        body += _section("Rules", (_link_to_rule(at, rule) for rule in self._of.rules))
        for layer in _LAYERS:
            links = self._links(at, (m for m in active if m.layer == layer))
            body += _section(layer.capitalize(), links)
        for status in _GONE:
            links = self._links(at, (m for m in memories if m.status == status))
            body += _section(status.capitalize(), links)
        pages = ((name, name_of_entity(self._of.tenant, name)) for name in self._of.entities)
        body += _section("Entities", (f"- {as_link(name, at.link_to(to))}" for name, to in pages))
        return page({"title": title_of(self._of.tenant), "tenant": self._of.tenant}, body)


def _link_to_rule(at: PageName, rule: Memory) -> str:
    return f"- {as_link(rule.content, at.link_to(_name(rule)))}"


def _name(memory: Memory) -> PageName:
    observed = memory.generation == 0 and memory.origin != "consolidation"
    return name_of_memory(memory.id, observed)
