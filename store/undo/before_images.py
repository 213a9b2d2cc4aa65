"""Before-images of vectors, restored by undo.

A run that computes a vector again journals an image of the row that it replaces. Undo restores the
image if the run's own row is still there. If a later run has replaced that row, its image is
replaced instead, so that runs can be undone in any order.
"""

from __future__ import annotations

from slowwave.store.file import MemoryFile
from slowwave.store.journal_form import read_entry
from slowwave.store.rows import Row, current_row, encode_row, json_field, set_columns

# An image of a vector of a run; the `after` of an image is empty.
_IMAGE_OF = f"table_name = 'embeddings' AND after = '{{}}' AND {json_field('before', 'run_id')} = ?"


class BeforeImages:
    """The images that later runs kept of a run's vectors."""

    def __init__(self, file: MemoryFile, run_id: str) -> None:
        self._file = file
        self._run_id = run_id
        # (run, sequence) of the journal entries, by key.
        self._places: dict[str, list[tuple[str, int]]] = {}
        for row in file.rows(f"SELECT * FROM journal WHERE {_IMAGE_OF}", [run_id]):
            entry = read_entry(file, row)
            place = entry.run, entry.sequence
            self._places.setdefault(encode_row(entry.key), []).append(place)

    def put_back(self, key: Row, image: Row) -> None:
        """Restore an image in its row, or in the journal of the run that replaced the row."""
        mine = {**key, "run_id": self._run_id}
        if current_row(self._file, "embeddings", mine) is not None:
            set_columns(self._file, "embeddings", [mine], image)
        else:
            self._file.conn.executemany(
                "UPDATE journal SET before = ? WHERE run_id = ? AND sequence = ?",
                [(encode_row(image), *place) for place in self._pop(key)],
            )

    def forget(self, key: Row) -> None:
        """Drop the images of a vector."""
        self._file.conn.executemany(
            "DELETE FROM journal WHERE run_id = ? AND sequence = ?", self._pop(key)
        )

    def _pop(self, key: Row) -> list[tuple[str, int]]:
        """Pop (run, sequence) of each image of a vector: the caller changes or deletes them."""
        return self._places.pop(encode_row(key), [])

    def delete_vectors(self) -> None:
        """Delete all vectors of the run, and the images that later runs kept of them."""
        self._file.conn.execute("DELETE FROM embeddings WHERE run_id = ?", [self._run_id])
        self._file.conn.execute(
            f"DELETE FROM journal WHERE {_IMAGE_OF} AND run_id <> ?", [self._run_id, self._run_id]
        )
