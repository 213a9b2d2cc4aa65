"""The words of a sentence in one order, whichever way it is put: who acts, does, to what, where.

"In staging, the api is called by the worker" and "The worker calls the api in staging" come out
the same; "The api calls the worker" does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import lexicon
from .tokens import Token, is_content

_PARTICIPLE = re.compile(r"\w*(?:d|n|t|ne|(?<!i)ng|nk)")
# The user may be the one who acts, and not only the one who tells.
_ANNOUNCING = lexicon.ANNOUNCING - {"user", "users"} | {"that"}
_ARTICLES = frozenset({"a", "an", "the"})
# How many words before its "by" the auxiliary of a passive may stand.
_REACH = 5


def in_active_order(tokens: Sequence[Token]) -> Sequence[Token]:
    """Put the words in the order of an active sentence, what stood in front of it at the end."""
    tokens = _fronted_last(without_teller(tokens))
    return _paired_in_order(_owner_first(_active(tokens)))


def is_thing(token: Token) -> bool:
    """Whether a word stands for something that can act or be acted upon, or for what is done."""
    return is_content(token.bare) or token.bare == "user"


def without_teller(tokens: Sequence[Token]) -> Sequence[Token]:
    """Drop the "User" of "User said that ...", who only told it, and what announces it."""
    for index, token in enumerate(tokens[:-1]):
        if token.bare in ("user", "users"):
            told = tokens[index + 1].bare in lexicon.ANNOUNCING
            return _unannounced([*tokens[:index], *tokens[index + 1 :]] if told else tokens)
    return _unannounced(tokens)


def _unannounced(tokens: Sequence[Token]) -> Sequence[Token]:
    start = 0
    while start < len(tokens) and tokens[start].bare in _ANNOUNCING:
        start += 1
    return tokens[start:]


def _fronted_last(tokens: Sequence[Token]) -> Sequence[Token]:
    """Put a phrase that stands in front behind the rest: "In staging the api ..."."""
    if not tokens or tokens[0].lower not in lexicon.PLACING:
        return tokens
    end = _phrase_end(tokens, 1)
    return [*tokens[end:], *tokens[:end]]


def _phrase_end(tokens: Sequence[Token], start: int) -> int:
    """Give where the words end that follow each other from `start` on, articles in front aside."""
    while start < len(tokens) and tokens[start].lower in _ARTICLES:
        start += 1
    while start < len(tokens) and _is_named(tokens[start]):
        start += 1
    return start


def _is_named(token: Token) -> bool:
    return is_thing(token) or token.text[0].isdigit()


def _active(tokens: Sequence[Token]) -> Sequence[Token]:
    """Turn a passive round: what stands behind its "by" acts, by the word before it."""
    found = [index for index in range(len(tokens)) if is_passive_by(tokens, index)]
    if len(found) != 1:
        return tokens
    by = found[0]
    end = _phrase_end(tokens, by + 1)
    return [*tokens[by + 1 : end], tokens[by - 1], *tokens[: by - 1], *tokens[end:]]


def is_passive_by(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word is the "by" behind a passive: "was bought by"."""
    near = {token.lower for token in tokens[max(0, index - _REACH) : index]}
    return (
        tokens[index].lower == "by"
        and bool(near & lexicon.AUXILIARIES)
        and _PARTICIPLE.fullmatch(tokens[index - 1].lower) is not None
    )


def _paired_in_order(tokens: Sequence[Token]) -> Sequence[Token]:
    """Put the two sides of the only "and" or "or" in order, since their order says nothing.

    With two of them it may: "A and B cost 5 and 6 euros".
    """
    found = [index for index, token in enumerate(tokens) if token.lower in ("and", "or")]
    if len(found) != 1 or not 0 < found[0] < len(tokens) - 1:
        return tokens
    at = found[0]
    pair = sorted((tokens[at - 1], tokens[at + 1]), key=lambda token: token.lower)
    return [*tokens[: at - 1], pair[0], tokens[at], pair[1], *tokens[at + 2 :]]


def _owner_first(tokens: Sequence[Token]) -> Sequence[Token]:
    """Turn "the niece of the user" into "the user's niece"."""
    for index in range(1, len(tokens) - 1):
        if tokens[index].lower == "of" and is_thing(tokens[index - 1]):
            end = _owner_end(tokens, index + 1)
            owner = tokens[index + 1 : end]
            return [*tokens[: index - 1], *owner, tokens[index - 1], *_owner_first(tokens[end:])]
    return tokens


def _owner_end(tokens: Sequence[Token], start: int) -> int:
    """Give where an owner ends: one word, or more where names or possessives follow each other."""
    end = start
    while end < len(tokens) and tokens[end].lower in _ARTICLES:
        end += 1
    while end < len(tokens) and is_thing(tokens[end]):
        end += 1
        before, after = tokens[end - 1], tokens[end] if end < len(tokens) else None
        named = after is not None and before.capitalised and after.capitalised
        if not before.possessive and not named:
            break
    return end
