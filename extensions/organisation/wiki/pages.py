"""The pages of a wiki: each memory, tenant and entity of a file, and an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.facts.specifics import names_in
from slowwave.store.entities import read_entities
from slowwave.store.file import MemoryFile
from slowwave.store.lineage import Edge, read_claims, read_edges
from slowwave.store.memories import read_tenant_memories, tenants
from slowwave.store.records import Claim, Memory, json_text

from .names import INDEX, link_to, name_of_entity, name_of_memory, name_of_tenant
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


def all_pages(file: MemoryFile, file_name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each page, tenant by tenant, and the index last.

    Raises `UnusableFile`.
    """
    lists: dict[str, list[str]] = {"Tenants": [], "Rules": [], "Entities": []}
    for tenant in tenants(file):
        pages = _TenantPages(file, tenant)
        yield from pages.all()
        lists["Tenants"].append(pages.summary())
        lists["Rules"] += (
            _link_to_rule(INDEX, rule) for rule in pages.rules if rule.status == "active"
        )
        lists["Entities"] += (
            f"- {as_link(name, name_of_entity(tenant, name))}: "
            f"{counted(len(mentioning), 'memory', 'memories')}"
            for name, mentioning in pages.entities.items()
        )
    body = [
        "# Memories",
        "Written by `slowwave export --wiki`: observed memories are in `raw/`, verbatim; derived "
        "ones in `wiki/`. Pages that were edited by hand are not overwritten.",
        *(part for title, lines in lists.items() for part in _section(title, lines)),
    ]
    yield INDEX, page({"title": "Memories", FILE: file_name}, body)


class _TenantPages:
    """The pages of a tenant."""

    def __init__(self, file: MemoryFile, tenant: str) -> None:
        """Read what is in them. Raises `UnusableFile`."""
        self._file, self._tenant, self._home = file, tenant, name_of_tenant(tenant)
        # The edges to the sources of each memory, and those to what was derived from it.
        self._sources: dict[str, list[Edge]] = {}
        self._derived: dict[str, list[Edge]] = {}
        self._rule_ids: set[str] = set()
        for edge in read_edges(file, tenant):
            self._sources.setdefault(edge.derived_id, []).append(edge)
            self._derived.setdefault(edge.source_id, []).append(edge)
            if edge.operation == "extract":
                self._rule_ids.add(edge.derived_id)
        # Ordered by when they were observed.
        self._memories = {memory.id: memory for memory in read_tenant_memories(file, tenant)}
        self.rules = [memory for memory in self._memories.values() if memory.id in self._rule_ids]
        supplied = read_entities(file, tenant)
        self._names: dict[str, list[str]] = {}
        mentions: dict[str, list[Memory]] = {}
        for memory in self._memories.values():
            names = sorted({*supplied.get(memory.id, ()), *names_in(memory.content)})
            self._names[memory.id] = names
            for name in names:
                mentions.setdefault(name, []).append(memory)
        # The memories that mention each name with a page.
        self.entities = {
            name: memories
            for name, memories in sorted(mentions.items())
            if len(_with_status(memories, "active")) >= _MIN_MENTIONS
        }

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield the path and text of each page."""
        for memory in self._memories.values():
            yield name_of_memory(memory), self._memory_page(memory)
        for name, memories in self.entities.items():
            yield name_of_entity(self._tenant, name), self._entity_page(name, memories)
        yield self._home, self._tenant_page()

    def summary(self) -> str:
        """Return the line of the index about the tenant."""
        active = len(_with_status(self._memories.values(), "active"))
        total = counted(len(self._memories), "memory", "memories")
        return f"- {as_link(self._tenant, self._home)}: {active:,} active of {total}"

    def _memory_page(self, memory: Memory) -> str:
        page_name = name_of_memory(memory)
        sources = self._sources.get(memory.id, ())
        derived = self._derived.get(memory.id, ())
        claims = read_claims(self._file, memory.id) if sources else ()
        front = {"title": title_of(memory.content)}
        front |= {name: getattr(memory, name) for name in _FRONT}
        more = {
            # As JSON, so that nested values stay on one line.
            "metadata": json_text(memory.metadata) if memory.metadata else None,
            "tags": list(memory.tags),
            "entities": self._names[memory.id],
            "made_from": [edge.source_id for edge in sources],
            "made_into": [edge.derived_id for edge in derived],
        }
        successor = self._memories.get(memory.superseded_by or "")
        body = [
            f"# {as_line(title_of(memory.content))}",
            as_block(memory.content),
            self._about(page_name, memory),
            *_section("Replaced by", _links(page_name, [successor] if successor else [])),
            *_section("Statements", (self._claim(page_name, claim) for claim in claims)),
            *_section("Derived from", (self._source(page_name, edge) for edge in sources)),
            *_section(
                "Used in",
                (
                    f"{_link(page_name, self._memories[edge.derived_id])} ({edge.operation})"
                    for edge in derived
                ),
            ),
        ]
        return page(front | more, body)

    def _about(self, page_name: str, memory: Memory) -> str:
        facts = [
            f"{memory.kind}, {memory.layer}, {memory.status}, of {memory.observed_at[:10]}",
            self._link_to_tenant(page_name),
        ]
        if memory.id in self._rule_ids:
            facts.append("a rule")
        facts += [
            as_link(name, link_to(name_of_entity(self._tenant, name), page_name))
            for name in self._names[memory.id]
            if name in self.entities
        ]
        return " · ".join(facts)

    def _link_to_tenant(self, page_name: str) -> str:
        return f"tenant {as_link(self._tenant, link_to(self._home, page_name))}"

    def _claim(self, page_name: str, claim: Claim) -> str:
        cited = [
            f"[{number}]({link_to(name_of_memory(self._memories[source]), page_name)})"
            for number, source in enumerate(claim.sources, start=1)
            if source in self._memories
        ]
        return f"- {as_line(claim.text)}" + (f" ({', '.join(cited)})" if cited else "")

    def _source(self, page_name: str, edge: Edge) -> str:
        source = self._memories.get(edge.source_id)
        if source is not None:
            return _link(page_name, source)
        text = edge.source_content or edge.source_id
        return f"- {as_line(title_of(text))} (no longer in the file)"

    def _entity_page(self, name: str, mentioning: Sequence[Memory]) -> str:
        page_name = name_of_entity(self._tenant, name)
        body = [
            f"# {as_line(title_of(name))}",
            self._link_to_tenant(page_name),
            *_section("Active", _links(page_name, _with_status(mentioning, "active"))),
            *_section("No longer active", _links(page_name, _with_status(mentioning, *_GONE))),
        ]
        return page({"title": title_of(name), "entity": name, "tenant": self._tenant}, body)

    def _tenant_page(self) -> str:
        page_name, memories = self._home, self._memories.values()
        active = _with_status(memories, "active")
        body = [f"# {as_line(title_of(self._tenant))}"]
        body += _section("Rules", (_link_to_rule(page_name, rule) for rule in self.rules))
        for layer in _LAYERS:
            of_layer = [memory for memory in active if memory.layer == layer]
            body += _section(layer.capitalize(), _links(page_name, of_layer))
        for status in _GONE:
            body += _section(status.capitalize(), _links(page_name, _with_status(memories, status)))
        pages = ((name, name_of_entity(self._tenant, name)) for name in self.entities)
        links = (f"- {as_link(name, link_to(target, page_name))}" for name, target in pages)
        body += _section("Entities", links)
        return page({"title": title_of(self._tenant), "tenant": self._tenant}, body)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a heading and a list, unless the list is empty."""
    if text := "\n".join(lines):
        yield f"## {title}"
        yield text


def _with_status(memories: Iterable[Memory], *statuses: str) -> list[Memory]:
    return [memory for memory in memories if memory.status in statuses]


def _links(page_name: str, memories: Iterable[Memory]) -> Iterator[str]:
    return (_link(page_name, memory) for memory in memories)


def _link(page_name: str, memory: Memory) -> str:
    status = "" if memory.status == "active" else f" ({memory.status})"
    link = as_link(memory.content, link_to(name_of_memory(memory), page_name))
    return f"- {memory.observed_at[:10]} {link}{status}"


def _link_to_rule(page_name: str, rule: Memory) -> str:
    return f"- {as_link(rule.content, link_to(name_of_memory(rule), page_name))}"
