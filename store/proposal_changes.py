"""The changes of a proposal, journaled so that they can be undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .entities import add_entities, keep_entities, keep_scans
from .file import MemoryFile
from .journal import insert_row, insert_rows, update_row, update_rows, write_row
from .records import Memory, content_hash, to_row
from .vectors import from_blob, keep_vectors


@dataclass(frozen=True)
class ProposalChanges:
    """Writes the rows of a proposal in the caller's transaction."""

    file: MemoryFile
    run_id: str
    proposal: str
    # ISO 8601 in UTC.
    now: str

    def insert_memory(self, memory: Memory, model: str, blob: bytes, names: Sequence[str]) -> None:
        """Insert a memory with its vector and names."""
        self.add_memory(memory)
        of = memory.content_hash
        keep_vectors(self.file, model, [(memory.id, of, blob)], self.run_id)
        keep_entities(self.file, memory.tenant, [(memory.id, names)], self.run_id)
        keep_scans(self.file, [(memory.id, of)], self.run_id)

    def add_memory(self, memory: Memory) -> None:
        """Insert a memory without a vector and names."""
        key = {"id": memory.id}
        insert_row(self.file, self.run_id, self.proposal, "memories", to_row(memory), key)

    def update_memory(self, memory_id: str, columns: dict[str, Any]) -> None:
        """Update columns of a memory, if there are any."""
        if columns:
            key = {"id": memory_id}
            update_row(self.file, self.run_id, self.proposal, "memories", key, columns)

    def rewrite_memory(
        self, memory_id: str, text: str, columns: dict[str, Any], model: str, blob: bytes
    ) -> None:
        """Replace the text of a memory, with its vector, and update other columns."""
        of = content_hash(text)
        self.update_memory(memory_id, columns | {"content": text, "content_hash": of})
        vector = {"vector": blob, "dimensions": len(from_blob(blob)), "content_hash": of}
        self._write("embeddings", {"memory_id": memory_id, "model": model}, vector)
        self._write("entity_scans", {"memory_id": memory_id}, {"content_hash": of})

    def add_names(self, memory: Memory, names: Collection[str]) -> None:
        """Add names to a memory."""
        add_entities(self.file, self.run_id, self.proposal, memory, names)

    def supersede(self, memories: Sequence[Memory], successor: str) -> None:
        """Mark memories as superseded by another."""
        columns = {"status": "superseded", "superseded_by": successor, "superseded_at": self.now}
        keys = [{"id": memory.id} for memory in memories]
        columns |= {"updated_at": self.now}
        update_rows(self.file, self.run_id, self.proposal, "memories", keys, columns)

    def add_lineage(self, memory_id: str, sources: Sequence[Memory], operation: str) -> None:
        """Insert an edge from a memory to each of its sources."""
        rows = []
        for source in sources:
            key = {"derived_id": memory_id, "source_id": source.id}
            row = key | {
                "operation": operation,
                "run_id": self.run_id,
                "source_hash": content_hash(source.content),
                "source_content": None,
                "created_at": self.now,
            }
            rows.append((row, key))
        insert_rows(self.file, self.run_id, self.proposal, "synthesized_from", rows)

    def add_derivation(self, memory_id: str, columns: dict[str, Any]) -> None:
        """Insert the derivation of a memory's text: its writer, sources and cost."""
        key = {"memory_id": memory_id, "run_id": self.run_id, "proposal": self.proposal}
        insert_row(self.file, self.run_id, self.proposal, "derivations", key | columns, key)

    def _write(self, table: str, key: dict[str, Any], columns: dict[str, Any]) -> None:
        """Insert or update a row that was computed from a memory's new text."""
        columns = columns | {"run_id": self.run_id}
        write_row(self.file, self.run_id, self.proposal, table, key, columns)
