"""Before-images of vectors, names and name scans, restored by undo.

A run that recomputes these for a text journals an image of each row that it replaces. Undo restores
the image if the run's own row is still there. If a later run has replaced that row, its image is
replaced instead, so that runs can be undone in any order.
"""

from __future__ import annotations

from slowwave.store.file import MemoryFile
from slowwave.store.journal_form import FOUND_IN_TEXTS, read_entry
from slowwave.store.rows import Row, current_row, encode_row, json_field, set_columns

# An image of a row with a run's id; the `after` of an image is empty.
_IMAGE_OF = f"after = '{{}}' AND {json_field('before', 'run_id')} = ?"


class BeforeImages:
    """The images that a run kept, and those that later runs kept of its rows."""

    def __init__(self, file: MemoryFile, run_id: str) -> None:
        """Look up which texts the run was the last to scan for names, and which runs came later."""
        self._file = file
        self._run_id = run_id
        ids = file.column("SELECT memory_id FROM entity_scans WHERE run_id = ?", [run_id])
        self._scanned = set(ids)
        self._scanned_again: dict[str, str] = {}
        # (run, sequence) of the journal entries with images of this run's rows, by table and key.
        self._of_mine: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for row in file.rows(
            f"SELECT journal.*, outcome FROM journal LEFT JOIN runs ON id = run_id "
            f"WHERE {_IMAGE_OF}",
            [run_id],
        ):
            entry = read_entry(file, row)
            place = entry.table, encode_row(entry.key)
            self._of_mine.setdefault(place, []).append((entry.run, entry.sequence))
            if entry.table == "entity_scans" and row["outcome"] != "undone":
                self._scanned_again[entry.key["memory_id"]] = entry.run

    def put_back(self, sequence: int, table: str, key: Row, image: Row) -> None:
        """Restore an image in its row, or in the journal of the run that replaced the row."""
        if table == "memory_entities":
            self._put_back_mention(sequence, key, image)
        elif current_row(self._file, table, mine := {**key, "run_id": self._run_id}) is not None:
            set_columns(self._file, table, [mine], image)
        else:
            self._file.conn.executemany(
                "UPDATE journal SET before = ? WHERE run_id = ? AND sequence = ?",
                [(encode_row(image), *place) for place in self._pop_images(table, key)],
            )

    def _put_back_mention(self, sequence: int, key: Row, image: Row) -> None:
        memory = key["memory_id"]
        if memory in self._scanned:
            self._file.conn.execute(
                "INSERT INTO memory_entities (memory_id, entity_id, run_id) SELECT ?1, ?2, ?3 "
                "WHERE EXISTS (SELECT 1 FROM memories WHERE id = ?1) "
                "AND EXISTS (SELECT 1 FROM entities WHERE id = ?2) "
                # A name that an agent has supplied since stays.
                "ON CONFLICT (memory_id, entity_id) DO UPDATE SET run_id = excluded.run_id "
                "WHERE run_id = ?4",
                [memory, key["entity_id"], image["run_id"], self._run_id],
            )
        elif memory in self._scanned_again:
            later = self._scanned_again[memory]
            self._file.conn.execute(
                "UPDATE journal SET run_id = ?1, sequence = "
                "(SELECT max(sequence) + 1 FROM journal WHERE run_id = ?1) "
                "WHERE run_id = ?2 AND sequence = ?3",
                [later, self._run_id, sequence],
            )

    def forget(self, table: str, key: Row) -> None:
        """Drop the images that later runs kept of a row of this run."""
        self._file.conn.executemany(
            "DELETE FROM journal WHERE run_id = ? AND sequence = ?", self._pop_images(table, key)
        )

    def _pop_images(self, table: str, key: Row) -> list[tuple[str, int]]:
        """Pop (run, sequence) of each image of a row: the caller moves or deletes them."""
        return self._of_mine.pop((table, encode_row(key)), [])

    def delete_findings(self) -> None:
        """Delete all vectors and names of the run, and the images that later runs kept of them."""
        for table in FOUND_IN_TEXTS:
            self._file.conn.execute(f"DELETE FROM {table} WHERE run_id = ?", [self._run_id])
        self._file.conn.execute(
            f"DELETE FROM journal WHERE {_IMAGE_OF} AND run_id <> ?", [self._run_id, self._run_id]
        )
