"""Values of a text, looked up in others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slowwave.consolidation.text.reading import read


class Evidence(Protocol):
    """A text that may be cited."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def observed_at(self) -> str:
        """When it was noted."""


@dataclass(frozen=True)
class Fault:
    """Words that no source has."""

    words: str
    kind: str

    @property
    def why(self) -> str:
        """A sentence."""
        return f'"{self.words}" ({self.kind}) is in none of the cited memories'


@dataclass(frozen=True)
class Hint:
    """Words of a source that a text lacks."""

    source: str
    words: str
    kind: str


def find_unsupported(text: str, sources: Sequence[Evidence]) -> list[Fault]:
    """Return the values of a text that no source has."""
    readings = [read(source.text) for source in sources]
    return [
        Fault(value.text, value.kind)
        for value in read(text).values
        if not any(reading.holds(value) for reading in readings) and value.kind != "date"
    ]


def find_missing(text: str, sources: Sequence[Evidence]) -> list[Hint]:
    """Return the values of sources that a text lacks."""
    reading = read(text)
    return [
        Hint(source.id, value.text, value.kind)
        for source in sources
        for value in read(source.text).values
        if not reading.holds(value)
    ]


def names_of(text: str) -> frozenset[str]:
    """Return the names in a text."""
    return frozenset(read(text).names)
