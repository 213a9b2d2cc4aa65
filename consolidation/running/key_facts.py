"""What a dense text is known by, word for word: its key facts, and its start, middle and end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slowwave.consolidation.thresholds import ANCHOR_CHARACTERS, MOST_KEY_FACTS

# What is told first. A fact within one that was found is no fact of its own.
_KINDS = (
    # A key with its value, where that is all of a line.
    re.compile(
        r"^[ \t]*(?:- |export |set )?([\"']?[A-Za-z][\w./-]*[\"']?"
        r"(?:[ \t]*:[ \t]+[^\s{\[].{0,119}?|[ \t]*=[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s=,;]+)))"
        r"[,;]?[ \t]*$",
        re.MULTILINE,
    ),
    # Addresses.
    re.compile(r"(?<![\w.+-])[a-z][a-z0-9+.-]*://[^\s<>\"'`)\]]+(?<![.,;:!?])", re.IGNORECASE),
    # Keys with values within a line: assignments, and those of JSON.
    re.compile(r"(?<![\w.-])([A-Za-z][\w.-]*=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s,;&\"'()]+))"),
    re.compile(r"(\"[\w./ -]+\":\s*(?:\"[^\"\n]*\"|[\w.+-]+))"),
    # Versions.
    re.compile(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?:[-+][\w.+-]*\w)?(?![\w.])|\bv\d+(?:\.\d+)*\b"),
    # Identifiers: hashes and other ids, paths, names with a sign or a hump in them.
    re.compile(
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{20,}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b"
        r"|(?<![\w/])(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)+|\b[A-Z]{2,}-\d+\b"
        r"|\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b"
    ),
)


@dataclass(frozen=True)
class Digest:
    """What stands for a dense text where it is too long: nothing but its own words."""

    facts: tuple[str, ...]
    # Its start, its middle and its end; the whole text alone where that is shorter.
    anchors: tuple[str, ...]

    @property
    def text(self) -> str:
        """Both, for a reader."""
        return "\n".join([" … ".join(self.anchors), *self.facts])


def digest_of(text: str) -> Digest:
    """Return the key facts and the anchors of a text, each of which stands in it to the letter."""
    return Digest(key_facts(text), anchors_of(text))


def key_facts(text: str) -> tuple[str, ...]:
    """Return addresses, keys with values, versions and identifiers, kind by kind, each once."""
    found: list[str] = []
    taken: list[tuple[int, int]] = []
    for kind in _KINDS:
        for match in kind.finditer(text):
            group = match.lastindex or 0
            start, end = match.span(group)
            said = match[group].strip()
            if any(start < until and since < end for since, until in taken):
                continue
            taken.append((start, end))
            if said not in found:
                found.append(said)
            if len(found) == MOST_KEY_FACTS:
                return tuple(found)
    return tuple(found)


def anchors_of(text: str) -> tuple[str, ...]:
    """Return the beginning, the middle and the end of a text; all of it if that is hardly more."""
    whole = text.strip()
    if len(whole) <= 3 * ANCHOR_CHARACTERS:
        return (whole,)
    middle = (len(whole) - ANCHOR_CHARACTERS) // 2
    starts = (0, middle, len(whole) - ANCHOR_CHARACTERS)
    return tuple(whole[start : start + ANCHOR_CHARACTERS] for start in starts)
