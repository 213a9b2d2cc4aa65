"""What was found out from texts alone, by earlier nights and in this one.

Reading, comparing and splitting depend on nothing but texts, and they are what planning costs. So
what they give is kept under a hash of the texts, and a night works out only what is new. A full
pass begins with nothing; it finds the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from typing import Any
from zlib import crc32

# Bytes of a key: with 2 ** 40 of them the chance that two texts share one is one in 10 ** 14.
_KEY_BYTES = 16
_SUM = 8
# Goes up whenever a rule changes that what is kept was found out by.
RULES = 2


class Memos:
    """A table from hashes of texts to JSON."""

    def __init__(self, known: Mapping[tuple[str, bytes], str] | None = None) -> None:
        """Begin with what is known."""
        self._known = dict(known or {})
        self._kept = set(self._known)
        self._used: set[tuple[str, bytes]] = set()

    def recall(self, kind: str, texts: Sequence[str], work_out: Callable[[], Any]) -> Any:
        """Give what these texts, named by their hashes and in this order, gave before.

        `work_out` gives it for the first time, as JSON.
        """
        place = kind, key_of(texts)
        self._used.add(place)
        kept = unsealed(self._known.get(place))
        if kept is None:
            kept = json.dumps(work_out(), separators=(",", ":"))
            self._known[place] = sealed(kept)
            self._kept -= {place}
        return json.loads(kept)

    def last(self, kind: str, of: str) -> Any:
        """Give what was noted last; None if there is nothing."""
        kept = unsealed(self._known.get((kind, key_of([of]))))
        return None if kept is None else json.loads(kept)

    def note(self, kind: str, of: str, value: Any) -> None:
        """Note a value in place of the last one."""
        place = kind, key_of([of])
        noted = sealed(json.dumps(value, separators=(",", ":")))
        self._used.add(place)
        if self._known.get(place) != noted:
            self._known[place] = noted
            self._kept.discard(place)

    @property
    def size(self) -> int:
        """How much was asked for."""
        return len(self._used)

    @property
    def new(self) -> int:
        """How much of it was not known, and not taken yet."""
        return len(self._used - self._kept)

    def taken(self) -> list[tuple[str, bytes, str]]:
        """Give what was found out since the beginning, or since this was asked before."""
        new = sorted(self._used - self._kept)
        self._kept.update(new)
        return [(*place, self._known[place]) for place in new]

    @property
    def outdated(self) -> Iterable[tuple[str, bytes]]:
        """What was known and nobody asked for."""
        return self._kept - self._used


def key_of(texts: Iterable[str]) -> bytes:
    """Give the key of some texts in this order, by their hashes."""
    return blake2b(" ".join((rules(), *texts)).encode(), digest_size=_KEY_BYTES).digest()


def sealed(text: str) -> str:
    """Give a text with a sum in front that tells whether it was damaged since."""
    return f"{crc32(text.encode()):08x}{text}"


def unsealed(kept: str | None) -> str | None:
    """Give the text of which `sealed` made this; None if it is another by now."""
    if kept is None or sealed(kept[_SUM:]) != kept:
        return None
    return kept[_SUM:]


@cache
def rules() -> str:
    """Give what texts are read by: with other rules nothing that is kept is of use."""
    return f"{version('slowwave')}/{RULES}"
