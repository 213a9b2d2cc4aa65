"""Search texts by their words with SQLite's FTS5, in memory.

An index in the file would need triggers that require FTS5, which an agent's SQLite may lack.
Indexing 100,000 memories takes 0.4 s.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# FTS5's inverse document frequency of a word in more than half of the texts.
_MIN_IDF = 1e-6


class WordIndex:
    """An index of numbered texts by Porter stems, ranked by BM25."""

    def __init__(self, texts: Iterable[str], is_ranked: bool = True) -> None:
        """Index texts, numbered from 0 in their order. is_ranked: whether they can be scored."""
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        # content='': do not store the texts.
        self._db.execute(
            "CREATE VIRTUAL TABLE texts USING fts5"
            "(text, content='', tokenize='porter unicode61 remove_diacritics 2'"
            f"{'' if is_ranked else ', columnsize=0'})"
        )
        # Written once instead of in parts of 1 MB that are merged again and again.
        self._db.execute(f"INSERT INTO texts (texts, rank) VALUES ('hashsize', {1 << 28})")
        cursor = self._db.executemany(
            "INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts)
        )
        self._size = max(0, cursor.rowcount)

    def scores(self, words: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the numbers and scores, each of shape (found,), of texts with any of the words.

        A score is FTS5's `bm25()` negated: positive, higher is better.
        """
        import numpy as np

        if not words:
            return np.empty(0, np.intp), np.empty(0, np.float32)
        rows = self._db.execute(
            "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?",
            [" OR ".join(map(_quoted, words))],
        ).fetchall()
        pairs = np.array(rows, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0].astype(np.intp), pairs[:, 1].astype(np.float32)

    def count_words(self, words: Sequence[str]) -> dict[int, int]:
        """Return how many of the words each text has, by its number; 0 is omitted."""
        counts: Counter[int] = Counter()
        for word in words:
            rows = self._db.execute("SELECT rowid FROM texts WHERE texts MATCH ?", [_quoted(word)])
            counts.update(row for (row,) in rows)
        return counts

    def full_score(self, words: Sequence[str]) -> float:
        """Return the score of a text of average length that has each of these words once.

        This is the sum of FTS5's inverse document frequencies.
        """
        return sum(map(self._idf, words))

    def _idf(self, word: str) -> float:
        (with_it,) = self._db.execute(
            "SELECT count(*) FROM texts WHERE texts MATCH ?", [_quoted(word)]
        ).fetchone()
        return max(log((self._size - with_it + 0.5) / (with_it + 0.5)), _MIN_IDF)

    def close(self) -> None:
        """Close the index."""
        self._db.close()


def _quoted(word: str) -> str:
    """Quote a word for FTS5, so that it contains no operators."""
    return '"{}"'.format(word.replace("\0", " ").replace('"', '""'))
