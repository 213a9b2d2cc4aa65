"""The changes of a proposal, journaled so that they can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .journal import Journal
from .records import Memory, content_hash, to_row
from .vectors import from_blob, store_vectors


@dataclass(frozen=True)
class ProposalChanges(Journal):
    """Writes the rows of a proposal in the caller's transaction."""

    # ISO 8601 in UTC.
    now: str

    def insert_memory(self, memory: Memory, model: str, blob: bytes) -> None:
        """Insert a memory with its vector."""
        self.add_memory(memory)
        store_vectors(self.file, model, [(memory.id, memory.content_hash, blob)], self.run_id)

    def add_memory(self, memory: Memory) -> None:
        """Insert a memory without a vector."""
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
