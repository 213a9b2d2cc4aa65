"""The memories of a file that recall searches, of which it shows a few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from slowwave.consolidation.vectors.matrix import Text
from slowwave.store.records import COLUMNS, Memory, content_hash, from_values


class SearchedMemories:
    """The memories of a file, each checked when it is looked at: a search shows ten of 100,000."""

    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """rows: as `read_recallable` returns them."""
        self._rows = rows
        self._checked: dict[int, Memory] = {}

    def __len__(self) -> int:
        """Return the number of memories."""
        return len(self._rows)

    def __getitem__(self, place: int) -> Memory:
        """Return a memory. Raises `UnusableFile` if its row is invalid."""
        if place not in self._checked:
            self._checked[place] = from_values(self._rows[place][:-1])
        return self._checked[place]

    def __iter__(self) -> Iterator[Memory]:
        """Iterate over all memories."""
        return map(self.__getitem__, range(len(self)))

    def column(self, name: str) -> list[Any]:
        """Return the unchecked values of a column of `memories`."""
        place = COLUMNS.index(name)
        return [row[place] for row in self._rows]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The place of each memory, by its id."""
        return {memory_id: place for place, memory_id in enumerate(self.column("id"))}

    @cached_property
    def ends(self) -> list[str | None]:
        """When each memory expires."""
        ends = enumerate(self.column("expires_at"))
        return [end and self[place].expires_at for place, end in ends]

    @cached_property
    def texts(self) -> list[Text]:
        """The text of each memory, as its vector needs it."""
        columns = map(self.column, ("id", "content_hash", "content"))
        return [
            Text(memory_id, text_hash or content_hash(str(content)), str(content))
            for memory_id, text_hash, content in zip(*columns, strict=True)
        ]

    @property
    def words(self) -> Iterator[str]:
        """The text and the subject of each memory."""
        for text, row in zip(self.texts, self._rows, strict=True):
            yield f"{text.content}\n{row[-1] if isinstance(row[-1], str) else ''}"
