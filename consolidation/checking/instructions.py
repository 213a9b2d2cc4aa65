"""Text in a memory that tries to command who reads it.

A memory is data: what it orders is nothing that anyone ordered. A rule that the user set ("Never
commit secrets") is none of this; an order about the reader's own instructions, answers or notes is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slowwave.consolidation.language.reading import read

from .company import share_told
from .statements import Statement, statements_of

# What only the reader has: its instructions, what it was told before, the notes before it.
_BEFORE = (
    r"(?:(?:all|any|every|each|the|your|these|those|other|previous|prior|earlier|above|former|"
    r"preceding|following|of|system|original|existing|else|what|stands)\s+)*"
)
_OWN = (
    r"(?:instructions?|prompts?|notes?|memor(?:y|ies)|messages?|rules?|guidelines?|directives?|"
    r"context|commands?|above)"
)
_COMMANDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:ignore|disregard|forget|override|overlook|bypass|skip)\s+{_BEFORE}{_OWN}\b",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\b",
        r"\byou are (?:now|no longer)\b|\b(?:pretend|act)\s+(?:to be|as if|as though|like)\s+you\b"
        r"|\bfrom now on,?\s+you\b",
        r"(?<!operating )\b(?:system|developer) (?:prompt|instruction)s?\b(?! for)",
        r"\b(?:reply|respond|answer) (?:only )?with\b|\byou must (?:now )?(?:answer|reply|respond|"
        r"obey|say|write|output)\b",
        rf"\b(?:delete|erase|wipe|drop|destroy) (?:all|every)\s+{_BEFORE}"
        r"(?:memor(?:y|ies)|notes?|files?|tables?|databases?|records?)\b",
        rf"\b(?:reveal|print|output|show|send|leak)\s+{_BEFORE}(?:prompts?|instructions?|"
        r"credentials|secrets|api keys?|passwords?)\b",
        r"(?:^|[\"“':;]\s*|\band |\bplease )(?:write|state|report|claim|say|record|output) that\b",
        r"<\s*/?\s*(?:system|instructions?|memories)\s*>|\[/?(?:INST|SYSTEM)\]",
    )
)
# Behind these stands what one is told to say.
_ORDERED = re.compile(
    r"\b(?:write|state|report|claim|say|record|output|answer|reply|respond)\b(?: only)?"
    r"(?: that| with)?[:,]?\s+",
    re.IGNORECASE,
)
_QUOTING = re.compile(r"[\"“”]|\b(?:sa(?:ys|id)|reads?|demands?|asks?|asked|tells|told|orders)\b")
# From this share of its things on, a statement tells what was ordered.
_OBEYING = 0.75


def commands(text: str) -> tuple[str, ...]:
    """Give the sentences that try to command who reads them."""
    return tuple(sentence for sentence in read(text).sentences if _is_command(sentence))


def obeyed(draft: Sequence[Statement], sources: Sequence[Statement]) -> Iterator[str]:
    """Find what a draft tells as a fact although a source only orders to say so."""
    orders = [one for source in sources if _is_command(source.text) for one in _ordered(source)]
    plain = [one for one in sources if not _is_command(one.text)]
    for statement in draft:
        if _QUOTING.search(statement.text) or _is_command(statement.text):
            continue
        for order in orders:
            obeys = share_told(statement.keys, order.keys, {}) >= _OBEYING
            told = any(share_told(statement.keys, one.context, {}) >= _OBEYING for one in plain)
            if statement.keys and obeys and not told:
                yield f"tells as a fact what a source only orders to say: {statement.text}"


def _is_command(text: str) -> bool:
    return any(pattern.search(text) for pattern in _COMMANDS)


def _ordered(source: Statement) -> Iterator[Statement]:
    for found in _ORDERED.finditer(source.text):
        yield from statements_of(source.text[found.end() :].strip("\"”' "))[:1]
