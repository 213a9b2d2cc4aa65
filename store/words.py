"""Search texts by their words: SQLite's FTS5, beside the file and never in it.

An agent writes with whatever SQLite it has; an index in the file would have to be kept by triggers
that need FTS5 there, too. 100,000 memories are indexed in a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class WordIndex:
    """The words of numbered texts, found by their Porter stems and ranked by BM25."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Index texts, numbered from 0 on in their order."""
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        # content='': the texts themselves are elsewhere.
        self._db.execute(
            "CREATE VIRTUAL TABLE texts USING fts5"
            "(text, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))

    def scores(self, words: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the numbers of the texts with one of these words, and how well each fits.

        Both of shape (found,). A score is FTS5's `bm25()` turned round: above 0, higher is better.
        """
        import numpy as np

        if not words:
            return np.empty(0, np.intp), np.empty(0, np.float32)
        # In quotation marks nothing in a word is an operator; one of several parts is a phrase.
        quoted = (word.replace("\0", " ").replace('"', '""') for word in words)
        wanted = " OR ".join(f'"{word}"' for word in quoted)
        found = self._db.execute(
            "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?", [wanted]
        ).fetchall()
        pairs = np.array(found, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0].astype(np.intp), pairs[:, 1].astype(np.float32)

    def close(self) -> None:
        """Let the index go."""
        self._db.close()
