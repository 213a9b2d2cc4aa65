"""Who acts, or has to: "we pay it", "it is paid by us", "it is on us", and "Norrland pays it".

Two texts of which one says so of who writes and the other of somebody else are not one, however
near they are in words. Only plain sentences are read: a pronoun or a name right before its verb
in a main clause, who stands behind the "by" of a passive, and the pronoun whose task something is.
"""

from __future__ import annotations

from itertools import pairwise

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.lexicon import word_set
from slowwave.consolidation.text.reading import Reading, cached_per_text
from slowwave.consolidation.text.statements import Statement
from slowwave.consolidation.text.tokens import Token
from slowwave.consolidation.text.word_order import is_passive_by

# The pronouns for who writes, each with the form that acts; "our" only says whose a thing is.
_WRITERS = {"we": "we", "us": "we", "ours": "we", "i": "i", "me": "i", "mine": "i"}
_ACTING = word_set("we i they he she")
_OBJECTS = word_set("us me")
_OWNERS = word_set("ours mine")
# Behind "is", before a pronoun: what is on us, for us, up to us, down to us or left to us, we do.
_BEARING = (("on",), ("for",), ("up", "to"), ("down", "to"), ("left", "to"))
# A clause that one of these opens is not the main one.
_ASIDE = word_set(
    "that which who whom whose where when whenever while if once because as although though unless "
    "until since after before so whether what how"
)


def writers(reading: Reading) -> frozenset[str]:
    """Return who writes, where a pronoun stands for them as one who acts or is acted upon."""
    return frozenset(_WRITERS[word] for word in _WRITERS.keys() & reading.words)


def other_party(left: Reading, right: Reading) -> str | None:
    """Return who does it where in one text alone it is who writes; None where it is not plain.

    Whose task it is must stand in both: "the freight is on us" is not "the freight is paid".
    """
    tasks = _whose_task(left), _whose_task(right)
    here, there = tasks[0] or _actor(left), tasks[1] or _actor(right)
    if here == there:
        return None
    written = not {here, there}.isdisjoint(_WRITERS.values())
    return (
        ", ".join(filter(None, (here, there)))
        if any(tasks) or (written and here and there)
        else None
    )


@cached_per_text
def _whose_task(reading: Reading) -> str | None:
    """Return who writes, where something is their task: "is on us", "is mine", "is paid by us"."""
    tokens = reading.tokens
    for at, token in enumerate(tokens):
        words = tuple(one.lower for one in tokens[at + 1 : at + 4])
        if is_passive_by(tokens, at) and words and words[0] in _OBJECTS:
            return _WRITERS[words[0]]
        if token.lower not in lexicon.BEING:
            continue
        if words and words[0] in _OWNERS:
            return _WRITERS[words[0]]
        for bearing in _BEARING:
            behind = words[len(bearing) :]
            if words[: len(bearing)] == bearing and behind and behind[0] in _OBJECTS:
                return _WRITERS[behind[0]]
    return None


@cached_per_text
def _actor(reading: Reading) -> str | None:
    """Return who acts in the first main clause: a pronoun or a name; None where it is not plain."""
    tokens = reading.tokens
    for at, after in enumerate(tokens[1:]):
        if after.bare in reading.names and is_passive_by(tokens, at):
            return after.bare
    verbs = Statement(reading.text).verbs
    for at, (token, after) in enumerate(pairwise(tokens)):
        named = token.bare in reading.names and not token.possessive and after.start in verbs
        if (named or token.lower in _ACTING) and not _is_aside(reading, at):
            return token.bare
    return None


def _is_aside(reading: Reading, at: int) -> bool:
    """Whether a word stands in a clause that hangs on another: "batteries that we send back"."""
    behind: Token = reading.tokens[at]
    for before in reversed(reading.tokens[:at]):
        if reading.said[before.end : behind.start].strip():
            return False
        if before.lower in _ASIDE:
            return True
        behind = before
    return False
