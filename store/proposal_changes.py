"""The changes of a proposal, journaled so that they can be undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .entities import add_names, read_memory_entities, record_scans, store_entities
from .journal import Journal
from .records import Memory, content_hash, json_text, to_row
from .vectors import from_blob, store_vectors


@dataclass(frozen=True)
class ProposalChanges(Journal):
    """Writes the rows of a proposal in the caller's transaction."""

    # ISO 8601 in UTC.
    now: str

    def insert_memory(self, memory: Memory, model: str, blob: bytes, names: Sequence[str]) -> None:
        """Insert a memory with its vector and names."""
        self.add_memory(memory)
        text_hash = memory.content_hash
        store_vectors(self.file, model, [(memory.id, text_hash, blob)], self.run_id)
        store_entities(self.file, memory.tenant, [(memory.id, names)], self.run_id)
        record_scans(self.file, [(memory.id, text_hash)], self.run_id)

    def add_memory(self, memory: Memory) -> None:
        """Insert a memory without a vector and names."""
        self.insert("memories", to_row(memory))

    def update_memory(self, memory_id: str, columns: dict[str, Any]) -> None:
        """Update columns of a memory, if there are any."""
        if columns:
            self.update("memories", [{"id": memory_id}], columns)

    def rewrite_memory(
        self, memory_id: str, text: str, columns: dict[str, Any], model: str, blob: bytes
    ) -> None:
        """Replace the text of a memory, with its vector, and update other columns."""
        text_columns = {"content_hash": content_hash(text)}
        self.update_memory(memory_id, columns | {"content": text} | text_columns)
        text_columns["run_id"] = self.run_id
        vector = {"vector": blob, "dimensions": len(from_blob(blob))}
        self.write("embeddings", {"memory_id": memory_id, "model": model}, text_columns | vector)
        self.write("entity_scans", {"memory_id": memory_id}, text_columns)

    def add_names(self, memory: Memory, names: Collection[str]) -> None:
        """Add names to a memory."""
        known_names = {name for name, _ in read_memory_entities(self.file, memory.id)}
        new_names = sorted(set(names) - known_names)
        add_names(self.file, memory.tenant, new_names, self.run_id)
        entity_ids = self.file.column(
            "SELECT e.id FROM json_each(?) CROSS JOIN entities AS e ON tenant = ? AND name = value "
            "ORDER BY name",
            [json_text(new_names), memory.tenant],
        )
        row = {"memory_id": memory.id, "run_id": self.run_id}
        self.insert("memory_entities", *(row | {"entity_id": entity} for entity in entity_ids))

    def supersede(self, memories: Sequence[Memory], successor: str) -> None:
        """Mark memories as superseded by another."""
        columns = {"status": "superseded", "superseded_by": successor}
        columns |= dict.fromkeys(("superseded_at", "updated_at"), self.now)
        self.update("memories", [{"id": memory.id} for memory in memories], columns)

    def add_lineage(self, memory_id: str, sources: Sequence[Memory], operation: str) -> None:
        """Insert an edge from a memory to each of its sources."""
        edges = (
            {
                "derived_id": memory_id,
                "source_id": source.id,
                "operation": operation,
                "run_id": self.run_id,
                "source_hash": content_hash(source.content),
                "source_content": None,
                "created_at": self.now,
            }
            for source in sources
        )
        self.insert("synthesized_from", *edges)

    def add_derivation(self, memory_id: str, columns: dict[str, Any]) -> None:
        """Insert the derivation of a memory's text: its writer, sources and cost."""
        key = {"memory_id": memory_id, "run_id": self.run_id, "proposal": self.proposal}
        self.insert("derivations", key | columns)
