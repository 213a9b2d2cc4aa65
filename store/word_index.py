"""Search texts by their words: SQLite's FTS5, next to the file and never in it.

An agent writes with whatever SQLite it has; an index in the file would have to be kept by triggers
that need FTS5 there, too. 100,000 memories are indexed in a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What FTS5 takes for a word of more than half of the texts.
_LEAST_RARITY = 1e-6


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
        cursor = self._db.executemany(
            "INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts)
        )
        self._size = cursor.rowcount if cursor.rowcount > 0 else 0

    def scores(self, words: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the numbers of the texts with one of these words, and how well each fits.

        Both of shape (found,). A score is FTS5's `bm25()` turned round: above 0, higher is better.
        """
        import numpy as np

        if not words:
            return np.empty(0, np.intp), np.empty(0, np.float32)
        found = self._db.execute(
            "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?",
            [" OR ".join(map(_quoted, words))],
        ).fetchall()
        pairs = np.array(found, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0].astype(np.intp), pairs[:, 1].astype(np.float32)

    def full_score(self, words: Sequence[str]) -> float:
        """Return what a text of average length scores that has each of these words once.

        The sum of their inverse document frequencies, as FTS5 has them; a word of no text counts
        as the rarest.
        """
        return sum(map(self._rarity, words))

    def _rarity(self, word: str) -> float:
        (with_it,) = self._db.execute(
            "SELECT count(*) FROM texts WHERE texts MATCH ?", [_quoted(word)]
        ).fetchone()
        return max(log((self._size - with_it + 0.5) / (with_it + 0.5)), _LEAST_RARITY)

    def close(self) -> None:
        """Close the index."""
        self._db.close()


def _quoted(word: str) -> str:
    """Return a word in quotation marks: nothing in it is an operator, and its parts a phrase."""
    return '"{}"'.format(word.replace("\0", " ").replace('"', '""'))
