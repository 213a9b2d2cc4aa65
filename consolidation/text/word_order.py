"""The words of a sentence in one order, whichever way it is put: who acts, does, to what, where.

"In staging, the api is called by the worker" and "The worker calls the api in staging" come out
the same; "The api calls the worker" does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from . import lexicon
from .tokens import Token, is_content, is_past_form

# With these a phrase of time begins that needs no preposition.
OF_TIME = frozenset(
    {"every", "each", "last", "next", "yesterday", "today", "tomorrow", "tonight", "twice", "once"}
)
# What may stand between the subject of a passive and its participle.
_CHAIN = (
    lexicon.PASSIVE_AUXILIARIES
    | lexicon.NEGATORS
    | lexicon.HAVING
    | lexicon.MODAL_VERBS
    | {"also", "always", "still", "just", "already", "only"}
)
_PARTICLES = frozenset({"up", "down", "off", "out", "over", "away", "back"})
# The most words of a thing, and of its owner, in "the main customer of the old firm".
_LONGEST = 3
_LONGEST_PHRASE = 6
# How many words before its participle the auxiliary of a passive may stand, and how many before
# its "by" the participle.
_REACH, _FAR = 5, 8


def in_active_order(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the words in the order of an active sentence, a phrase in front moved to the end."""
    return paired_in_order(_owner_first(active_form(_fronted_last(tokens))))


def is_thing(token: Token) -> bool:
    """Whether a word stands for something that can act or be acted upon, or for what is done."""
    return is_content(token.bare) or token.bare == "user"


def fronted_forms(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield a sentence with the phrase in front of it put last, for every length of that phrase."""
    yield tokens
    if tokens and tokens[0].lower in lexicon.PLACING | OF_TIME:
        for end in range(1, min(_LONGEST_PHRASE, len(tokens) - 1) + 1):
            yield [*tokens[end:], *tokens[:end]]


def _fronted_last(tokens: Sequence[Token]) -> Sequence[Token]:
    """Move a phrase from the front to the end: "In staging the api ..."."""
    if not tokens or tokens[0].lower not in lexicon.PLACING:
        return tokens
    end = _phrase_end(tokens, 1)
    return [*tokens[end:], *tokens[:end]]


def _phrase_end(tokens: Sequence[Token], start: int) -> int:
    """Return where the words end that follow each other from `start` on, but for articles."""
    while start < len(tokens) and tokens[start].lower in lexicon.DETERMINERS:
        start += 1
    first = start
    while start < len(tokens) and _goes_on(tokens, start):
        if start > first and (tokens[start].starts_sentence or tokens[start].lower in OF_TIME):
            break
        start += 1
    return start


def _goes_on(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word belongs to a phrase of things: "Kim and Lee", "two engineers"."""
    linked = tokens[at].lower in ("and", "or") and at + 1 < len(tokens)
    return _is_named(tokens[at + 1] if linked else tokens[at])


def _is_named(token: Token) -> bool:
    counted = token.text[0].isdigit() or token.lower in lexicon.NUMBER_WORDS
    return is_thing(token) or counted or token.lower in lexicon.TITLES


def active_form(tokens: Sequence[Token]) -> Sequence[Token]:
    """Make a passive active: what stands behind its "by" acts, by the participle before it."""
    spots = [index for index, token in enumerate(tokens) if token.lower == "by"]
    found = [index for index in spots if is_passive_by(tokens, index)]
    if len(found) != 1:
        return tokens
    by = found[0]
    verb = _participle_before(tokens, by)
    assert verb is not None  # noqa: S101 - is_passive_by has found it
    chain = verb
    while chain > 0 and tokens[chain - 1].lower in _CHAIN:
        chain -= 1
    end = _phrase_end(tokens, by + 1)
    agent = [token for token in tokens[by + 1 : end] if token.lower not in lexicon.ARTICLES]
    moods = [
        token for token in tokens[chain:verb] if token.lower not in lexicon.PASSIVE_AUXILIARIES
    ]
    # "Signed off by Ann" is "Ann signed off".
    behind = verb + 1 + (tokens[verb + 1].lower in _PARTICLES)
    deed = tokens[verb:behind]
    return [*agent, *moods, *deed, *tokens[:chain], *tokens[behind:by], *tokens[end:]]


def is_passive_by(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word is the "by" of a passive: "was bought (for Ann) by"."""
    return tokens[index].lower == "by" and _participle_before(tokens, index) is not None


def _participle_before(tokens: Sequence[Token], by: int) -> int | None:
    """Return where the participle of a passive stands, going by its "by"."""
    for verb in range(by - 1, max(0, by - _FAR) - 1, -1):
        if tokens[verb].starts_sentence:
            return None
        near = tokens[max(0, verb - _REACH) : verb]
        if is_past_form(tokens[verb]) and any(
            one.lower in lexicon.PASSIVE_AUXILIARIES for one in near
        ):
            return verb
    return None


def paired_in_order(tokens: Sequence[Token]) -> Sequence[Token]:
    """Put the two sides of the only "and" or "or" in order, since their order says nothing.

    With two of them it may: "A and B cost 5 and 6 euros".
    """
    tokens = [token for token in tokens if token.lower not in lexicon.ARTICLES]
    found = [index for index, token in enumerate(tokens) if token.lower in ("and", "or")]
    if len(found) != 1 or not 0 < found[0] < len(tokens) - 1:
        return tokens
    at = found[0]
    pair = sorted((tokens[at - 1], tokens[at + 1]), key=lambda token: token.lower)
    return [*tokens[: at - 1], pair[0], tokens[at], pair[1], *tokens[at + 2 :]]


def owner_forms(tokens: Sequence[Token], most: int) -> Iterator[Sequence[Token]]:
    """Yield a sentence with each "A of B" turned into "B A", for every length of A and B.

    Which words belong to A and to B only grammar knows; who compares two sentences may try.
    The sentence itself comes first; with more than `most` of them nothing is turned.
    """
    yield tokens
    spots = [at for at in range(1, len(tokens) - 1) if tokens[at].lower == "of"]
    if not spots or len(spots) > most:
        return
    for things, owners in product(range(1, _LONGEST + 1), repeat=2):
        turned = _owner_turned(tokens, spots[-1], things, owners)
        if turned is not None:
            # Behind the one that was turned, none is left: the next is in front of it.
            yield from owner_forms(turned, most)


def _owner_turned(
    tokens: Sequence[Token], at: int, things: int, owners: int
) -> Sequence[Token] | None:
    start = at - things
    first = at + 1
    while first < len(tokens) and tokens[first].lower in lexicon.DETERMINERS:
        first += 1
    end = first + owners
    whole = start >= 0 and end <= len(tokens)
    if not whole or not all(map(_is_named, (*tokens[start:at], *tokens[first:end]))):
        return None
    return [*tokens[:start], *tokens[first:end], *tokens[start:at], *tokens[end:]]


def _owner_first(tokens: Sequence[Token]) -> Sequence[Token]:
    """Turn "the niece of the user" into "the user's niece"."""
    for index in range(1, len(tokens) - 1):
        if tokens[index].lower == "of" and is_thing(tokens[index - 1]):
            end = _owner_end(tokens, index + 1)
            owner = tokens[index + 1 : end]
            return [*tokens[: index - 1], *owner, tokens[index - 1], *_owner_first(tokens[end:])]
    return tokens


def _owner_end(tokens: Sequence[Token], start: int) -> int:
    """Return where an owner ends: one word, or more where names or possessives follow."""
    end = start
    while end < len(tokens) and tokens[end].lower in lexicon.ARTICLES:
        end += 1
    while end < len(tokens) and is_thing(tokens[end]):
        end += 1
        before, after = tokens[end - 1], tokens[end] if end < len(tokens) else None
        named = after is not None and before.capitalised and after.capitalised
        if not before.possessive and not named:
            break
    return end
