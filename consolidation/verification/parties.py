"""Who does what to whom, in a statement of a draft and in that of a source.

Each name is taken with the verb that it goes with, and how: it acts, it is acted upon, or it
stands behind "from", "with" or "for". "Ann lent Ben the saw", "Ann lent the saw to Ben", "Ben was
lent the saw by Ann" and "Ben, to whom Ann lent the saw" come out the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.lexicon import word_set
from slowwave.consolidation.text.reading import Reading, cached_per_text
from slowwave.consolidation.text.statements import Statement, Thing
from slowwave.consolidation.text.tokens import Token, is_content, is_past_form

# How it goes with a verb; "to" is one with being acted upon, since "gave Ann the key" is "gave the
# key to Ann".
_PLACES = {"to": "whom", "from": "from", "with": "with", "for": "for", "by": "who"}
_DETERMINERS = word_set("the a an his her their our my its your")
_ASIDE = _DETERMINERS | word_set("dr mr mrs ms")
_PLACING = lexicon.PLACING | lexicon.OPENING | {"of", "on", "about"}
_BE = word_set("am is are was were be been being get gets got")
_ACTING = {frozenset({"who"}), frozenset({"whom"})}
# How many words before its participle the auxiliary of a passive may stand.
_REACH = 4

_PARTING = re.compile(r"[,:;]")
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? ([A-Z][\w-]+)")

# A verb to who goes with it, and how.
_Parties = Mapping[str, Mapping[str, frozenset[str]]]


def titled(reading: Reading) -> list[str]:
    """Return the names behind a title: "Mr. Vesk"."""
    return [found.lower() for found in _TITLED.findall(reading.said)]


def find_role_changes(
    statement: Statement, source: Statement, draft_keys: AbstractSet[str], known: AbstractSet[str]
) -> Iterator[str]:
    """Yield who does otherwise in one statement than in the other: "Ann lends, and not Ben".

    draft_keys: all things of the draft; known: all things of the sources.
    """
    # At the head of a sentence only the other text may show that a word is a name.
    names = frozenset(
        (*statement.reading.names, *source.reading.names, *titled(statement.reading), "user")
    )
    here, there = _parties(statement, names), _parties(source, names)
    pairs = [(verb, verb) for verb in sorted(here.keys() & there.keys())]
    new, lost = sorted(here.keys() - known), sorted(there.keys() - draft_keys)
    if len(new) == len(lost) == 1:
        # Another word for the same: "gave" where the source says "handed".
        pairs.append((new[0], lost[0]))
    for verb, other in pairs:
        ours, theirs = here[verb], there[other]
        for name in sorted(ours.keys() & theirs.keys()) if verb == other else ():
            if {ours[name], theirs[name]} == _ACTING and _acts_by_pronoun(statement, verb):
                yield f"{name} as {', '.join(ours[name])} against {', '.join(theirs[name])}"
        for one, two in combinations(sorted(ours.keys() & theirs.keys()), 2):
            if all(ours[name].isdisjoint(theirs[name]) for name in (one, two)) and (
                ours[one] & theirs[two] or ours[two] & theirs[one]
            ):
                yield f"{one} and {two} in each other's place"


def _acts_by_pronoun(statement: Statement, verb: str) -> bool:
    """Whether a pronoun stands for who acts: "he had asked Ann"."""
    tokens = statement.reading.tokens
    spots = [place for key, place in statement.spots if key == verb]
    return any(
        token.lower in ("he", "she", "they", "user")
        for spot in spots
        for token in tokens[max(0, spot - 2) : spot]
    )


def _parties(statement: Statement, names: frozenset[str]) -> _Parties:
    tokens = statement.reading.tokens
    places = {token.start: at for at, token in enumerate(tokens)}
    verbs = [(places[thing.token.start], thing) for thing in statement.things if thing.is_verb]
    found: dict[str, dict[str, frozenset[str]]] = {}
    for at, token in enumerate(tokens):
        named = token.bare in names and not token.bare.endswith("ing")
        if named and not token.possessive and not _is_joined(tokens, at, names):
            for verb, place in _goes_with(statement, at, verbs):
                ways = found.setdefault(verb, {})
                ways[token.bare] = ways.get(token.bare, frozenset()) | {place}
                if _is_paired(tokens, at):
                    # "Ann and Ben rent" and "Ann rents with Ben".
                    ways[token.bare] |= {"with"}
    return found


def _is_paired(tokens: Sequence[Token], at: int) -> bool:
    return any(
        token.lower == "and" for token in (*tokens[max(0, at - 2) : at], *tokens[at + 1 : at + 2])
    )


def _is_joined(tokens: Sequence[Token], at: int, names: frozenset[str]) -> bool:
    """Whether the name goes on with the next word: of "Pallas Print" the last counts."""
    return at + 1 < len(tokens) and tokens[at].bare != "user" and tokens[at + 1].bare in names


def _goes_with(
    statement: Statement, at: int, verbs: Sequence[tuple[int, Thing]]
) -> Iterator[tuple[str, str]]:
    tokens = statement.reading.tokens
    before = _before(statement, at)
    behind = [(spot, verb) for spot, verb in verbs if spot > at]
    ahead = [(spot, verb) for spot, verb in verbs if spot < at]
    relative = _relative(tokens, at)
    if relative and behind:
        yield behind[0][1].key, relative
        behind = behind[1:]
    if before in _PLACES:
        near = ahead[-1:] or behind[:1]
        yield from ((verb.key, _PLACES[before]) for _, verb in near)
    elif before in _PLACING:
        return
    elif behind and (relative or _acts(tokens, at, behind[0][0])):
        spot, verb = behind[0]
        yield verb.key, "whom" if _is_passive(tokens, spot) else "who"
    elif ahead and not relative:
        yield ahead[-1][1].key, "whom"


@cached_per_text
def names_placed(reading: Reading) -> frozenset[str]:
    """Return the names of which a preposition says how they go with a verb: "to Ann"."""
    statement = Statement(reading.text)
    return frozenset(
        token.bare
        for at, token in enumerate(reading.tokens)
        if token.bare in reading.names and _before(statement, at) in _PLACES
    )


def _before(statement: Statement, at: int) -> str:
    """Return the preposition of the phrase that a name stands in: "on the cluster Ulm"."""
    reading = statement.reading
    tokens = reading.tokens
    while at:
        before = tokens[at - 1]
        between = reading.said[before.start + len(before.text) : tokens[at].start]
        if before.lower in _PLACES or before.lower in _PLACING:
            return before.lower
        if _PARTING.search(between) or before.start in statement.verbs or not _in_phrase(before):
            return ""
        at -= 1
        if before.lower in _DETERMINERS:
            after = tokens[at - 1].lower if at else ""
            return after if after in _PLACES or after in _PLACING else ""
    return ""


def _in_phrase(token: Token) -> bool:
    return token.lower in _ASIDE or token.capitalised or is_content(token.bare)


def _relative(tokens: Sequence[Token], at: int) -> str:
    """Return how a name goes with the verb of its clause: "Ben, to whom Ann lent it"."""
    if tokens[at + 1 : at + 2] and tokens[at + 1].lower == "who":
        return "who"
    for place, word in zip(tokens[at + 1 : at + 5], tokens[at + 2 : at + 6], strict=False):
        if word.lower in ("which", "whom") and place.lower in _PLACES:
            return _PLACES[place.lower]
    return ""


def _acts(tokens: Sequence[Token], at: int, verb: int) -> bool:
    """Whether a name is who acts: no other noun stands between it and the verb."""
    between = tokens[at + 1 : verb]
    return not any(token.capitalised or token.lower in ("and", "to", "the") for token in between)


def _is_passive(tokens: Sequence[Token], verb: int) -> bool:
    before = tokens[max(0, verb - _REACH) : verb]
    return is_past_form(tokens[verb]) and any(token.lower in _BE for token in before)


def find_out_of_order(statement: Statement, sources: Sequence[Statement]) -> Iterator[str]:
    """Yield what comes before another thing here, and behind it in the sources that say which."""
    here = _sequence(statement)
    theirs = [one for one in map(_sequence, sources) if one is not None]
    if here is None or any(here[0] & first and here[1] & then for first, then in theirs):
        return
    for first, then in theirs:
        if here[0] & then and here[1] & first:
            yield f"{', '.join(sorted(here[0] & then))} before {', '.join(sorted(here[1] & first))}"


def _sequence(statement: Statement) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return what comes first and what then, by the only "before" or "after" of a statement.

    None where it is denied, and of what stands on both sides.
    """
    reading = statement.reading
    if reading.negators:
        return None
    marks = [at for at, token in enumerate(reading.tokens) if token.lower in ("before", "after")]
    if len(marks) != 1:
        return None
    mark = reading.tokens[marks[0]]
    comma = reading.said.find(",", mark.start)
    fronted = marks[0] == 0 and comma > 0
    front: set[str] = set()
    back: set[str] = set()
    for thing in statement.things:
        behind = thing.token.start > mark.start
        if fronted:
            behind = thing.token.start < comma
        (back if behind else front).add(thing.key)
    sides = frozenset(front - back), frozenset(back - front)
    return sides if mark.lower == "before" else sides[::-1]
