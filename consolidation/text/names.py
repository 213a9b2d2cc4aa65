"""Which words are names: those that are capitalised where no rule of spelling asks for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import lexicon, spellings, units
from .tokens import Token

_VERB = re.compile(r"[a-z]{2,}(?:s|ed|t|ught|ent|ew|ave|ook)")
_MODALS = frozenset({"has", "had", "will", "and", "can"})
_NO_NAMES = (
    lexicon.FUNCTION
    | lexicon.ANNOUNCING
    | lexicon.HEDGES
    | lexicon.NEGATORS
    | lexicon.OPENING
    | set(lexicon.WEEKDAYS)
    | lexicon.NUMBER_WORDS.keys()
    | {f"{day}s" for day in lexicon.WEEKDAYS}
    | set(lexicon.MONTHS)
    | {form.lower() for form in spellings.SPELLINGS.values() if "PR" in form}
    | units.UNITS.keys()
)


def find_names(tokens: Sequence[Token]) -> list[str]:
    """Return the words that are names, in lower case, in order."""
    return [
        token.bare
        for index, token in enumerate(tokens)
        if token.capitalised
        and token.bare not in _NO_NAMES
        and not token.bare.startswith("i'")
        and (not token.starts_sentence or _opens_as_name(tokens, index))
    ]


def _opens_as_name(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word at the head of a sentence is a name, and not capitalised for standing there.

    It is a name if it is possessive, or another capitalised word follows, or a verb does that
    something follows in turn which can stand after a verb.
    """
    token = tokens[index]
    if token.lower in lexicon.IMPERATIVES or token.lower in lexicon.NORMATIVE:
        return False
    if token.text[1:].isupper() or token.possessive:
        return True
    after, third = (*tokens[index + 1 : index + 3], None, None)[:2]
    if after is None or after.starts_sentence:
        return False
    if after.capitalised and after.bare not in _NO_NAMES:
        return True
    if after.lower in lexicon.PASSIVE_AUXILIARIES or after.lower in _MODALS:
        return not token.lower.endswith("s")
    if third is None or not _VERB.fullmatch(after.lower):
        return False
    return third.lower in lexicon.FUNCTION or third.capitalised or third.text[0].isdigit()
