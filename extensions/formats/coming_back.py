"""What keeps memories from coming back into a file: all of it is found out before it is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .base import New, Unreadable

# So many characters of a text are shown.
_LONGEST = 60


class CannotComeBack(Unreadable):
    """Memories have no place in the file any more; nothing was written."""

    def __init__(self, whys: Mapping[str, str]) -> None:
        """Take what stands in the way of each memory."""
        first, *more = whys.values()
        super().__init__(f"{len(whys)} memories cannot come back." if more else first)
        self.whys = whys


class ComingBack:
    """Collects what stands in the way, memory by memory."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._whys: dict[str, str] = {}

    @contextmanager
    def collecting(self, new: New) -> Iterator[None]:
        """Take note of a refusal of a memory that comes back; of a new text it is raised."""
        try:
            yield
        except Unreadable as error:
            if new.image is None:
                raise
            short = new.text if len(new.text) <= _LONGEST else f"{new.text[: _LONGEST - 1]}…"
            self._whys[new.memory] = f"'{short}' cannot come back. {error.message}"

    def refuse(self) -> None:
        """Raise `CannotComeBack` if anything was in the way."""
        if self._whys:
            raise CannotComeBack(self._whys)
