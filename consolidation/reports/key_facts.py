"""Summarize dense texts verbatim: key facts, and the start, the middle and the end."""

from __future__ import annotations

import re

from slowwave.consolidation.thresholds import ANCHOR_CHARACTERS, MAX_KEY_FACTS

# By priority. A fact within another one that was found is not counted.
_KINDS = (
    # A key with its value that fill a line.
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


def key_facts(text: str) -> tuple[str, ...]:
    """Return addresses, keys with values, versions and identifiers, by kind, each once."""
    facts: dict[str, None] = {}
    taken_spans: list[tuple[int, int]] = []
    for match in (match for kind in _KINDS for match in kind.finditer(text)):
        group = match.lastindex or 0
        start, end = match.span(group)
        if not any(
            start < taken_end and taken_start < end for taken_start, taken_end in taken_spans
        ):
            taken_spans.append((start, end))
            facts[match[group].strip()] = None
            if len(facts) == MAX_KEY_FACTS:
                break
    return tuple(facts)


def anchors_of(text: str) -> tuple[str, ...]:
    """Return the start, the middle and the end of a text; all of it if that is hardly longer."""
    stripped = text.strip()
    if len(stripped) <= 3 * ANCHOR_CHARACTERS:
        return (stripped,)
    starts = (0, (len(stripped) - ANCHOR_CHARACTERS) // 2, len(stripped) - ANCHOR_CHARACTERS)
    return tuple(stripped[start : start + ANCHOR_CHARACTERS] for start in starts)
