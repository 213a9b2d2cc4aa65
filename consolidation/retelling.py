"""Whether a draft tells again what its sources tell: no thing invented, moved or lost.

A draft may use other words. What is held against it is what other words do not explain: a noun or
an adjective that no source has, and that takes no other's place; a word, a value or a name among
others than in its source; a word of a source, other than a verb, that stands nowhere in the draft.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from . import lexicon
from .company import TOPIC, Weights, in_company, in_place, weights_of
from .guards import first_difference
from .statements import Statement, Thing, statements_of, word_set
from .tokens import Token, stem

# From more than this share of the things of one of them on, verbs aside, a statement of a draft was
# made from one of a source.
_MADE_FROM = 0.5
# From this share of the things of the shorter one on, two sources tell the same.
_TWIN = 0.5
# With more than this share of its words new, or lost, all of a statement is.
_STRANGE = 0.5
# So many words may come from a source that a claim does not cite.
_BORROWED = 1
# Two stems of one word have so many letters in common, and no more behind them.
_COMMON, _ENDING = 4, 4

# Words with which one says a thing again, and which say nothing of their own: they count things,
# speak of speech, or carry a phrase ("is part of", "the cause is").
_CARRYING = frozenset(
    stem(word)
    for word in word_set(
        "additional further extra altogether total possible possibility certain word words line "
        "message comment demand ask request part kind sort type cause reason because case fact "
        "way thing amount number respective respectively same new consist include contain"
    )
)
_OPENERS = word_set(
    "a an the this that these those my your his her its our their each every no any some both all"
)


@dataclass(frozen=True, eq=False)
class Told:
    """A statement of a draft, with the statements of the sources that it cites."""

    statement: Statement
    cited: tuple[Statement, ...]

    @cached_property
    def word_for_word(self) -> bool:
        """Whether a source says it in these words."""
        return any(_same_words(self.statement, one) for one in self.cited)

    @cached_property
    def made_from(self) -> tuple[Statement, ...]:
        """Give the statements of which it tells a good part."""
        return tuple(one for one in self.cited if _shared(one, self.statement) > _MADE_FROM)


def _beside_each_other(
    texts: Mapping[str, Sequence[Statement]],
) -> dict[str, tuple[Statement, ...]]:
    """Give statements that know what others name which tell the same in other words."""
    return {
        source: tuple(
            replace(
                one,
                beside=frozenset().union(*(twin.keys for twin in _twins(one, source, texts))),
            )
            for one in statements
        )
        for source, statements in texts.items()
    }


def _twins(
    statement: Statement, source: str, texts: Mapping[str, Sequence[Statement]]
) -> list[Statement]:
    """Give the statements of other sources that tell the same, as far as shared things show it."""
    return [
        other
        for text, others in texts.items()
        for other in others
        if text != source
        and len(statement.keys & other.keys) >= _TWIN * min(len(statement.keys), len(other.keys))
    ]


def _is_common(statement: Statement, source: str, texts: Mapping[str, Sequence[Statement]]) -> bool:
    others = [text for text in texts if text != source]
    return bool(others) and all(
        _twins(statement, source, {source: (), text: texts[text]}) for text in others
    )


def _told(
    claims: Sequence[tuple[str, Sequence[str]]], texts: Mapping[str, Sequence[Statement]]
) -> Iterator[Told]:
    before = ""
    for claim, ids in claims:
        cited = tuple(one for source in ids for one in texts[source])
        for one in statements_of(claim):
            yield Told(replace(one, before=before), cited)
            before = one.text


def _same_words(one: Statement, other: Statement) -> bool:
    return one.keys == other.keys and first_difference(one.reading, other.reading) is None


def _shared(source: Statement, statement: Statement) -> float:
    """Give the share of the things of either, verbs aside, that the other names, the larger."""
    return max(
        (len(named & other.keys) / len(named))
        for one, other in ((source, statement), (statement, source))
        for named in [{thing.key for thing in one.things if not thing.is_verb} or {""}]
    )


class Retelling:
    """A draft beside its sources, each cut into statements."""

    def __init__(
        self, claims: Sequence[tuple[str, Sequence[str]]], sources: Mapping[str, str]
    ) -> None:
        """Take claims with the ids that they cite, and the texts of the sources by id."""
        texts = _beside_each_other(
            {source: statements_of(text) for source, text in sources.items()}
        )
        # Of these every other source tells the same: other words for them may stand there.
        self._common = frozenset(
            one
            for source, statements in texts.items()
            for one in statements
            if _is_common(one, source, texts)
        )
        self.sources = tuple(one for text in texts.values() for one in text)
        self.weights: Weights = weights_of(tuple(texts.values()))
        self.told = tuple(_told(claims, texts))
        self.keys = frozenset().union(*(one.statement.keys for one in self.told))

    def has_word_for_word(self, source: Statement) -> bool:
        """Whether the draft says a statement of a source in its words."""
        return any(_same_words(one.statement, source) for one in self.told)

    def invented(self, told: Told) -> Iterator[str]:
        """Find the words of a statement that the sources it cites do not have."""
        known = frozenset().union(*(one.context for one in told.cited))
        new = [
            thing
            for thing in told.statement.things
            if not thing.is_value and not _is_known(thing.key, known)
        ]
        foreign = [thing for thing in new if thing.key in self.weights]
        # A word or two that say which thing it is may come from another source.
        if len(foreign) > _BORROWED:
            words = ", ".join(thing.token.bare for thing in foreign)
            yield f"says what none of the sources that it cites says: {words}"
        own = [thing for thing in new if thing not in foreign and thing.key not in _CARRYING]
        if len(own) > _STRANGE * len(told.statement.things):
            yield f"says what no source says: {told.statement.text}"
            return
        spare = self._spare_verbs(told)
        for thing in own:
            if self._in_place_of_another(thing, told):
                continue
            if thing.is_verb and spare:
                spare -= 1
            else:
                yield f"says '{thing.token.bare}', which no source says"

    def moved(self, told: Told) -> Iterator[str]:
        """Find the words and values of a statement that stand among others in its sources."""
        for thing in told.statement.things:
            homes = [one for one in told.cited if thing.key in one.context] or [
                one for one in self.sources if thing.key in one.keys
            ]
            if not homes or self.weights.get(thing.key, 0) <= TOPIC:
                continue
            if not any(self._stands(thing, told.statement, one) for one in homes):
                yield f"says '{thing.token.text}' of another thing than its source"

    def _stands(self, thing: Thing, statement: Statement, source: Statement) -> bool:
        """Whether a thing stands where a source has it.

        A value that the draft gives twice must stand with what it is a value of each time.
        """
        return in_place(thing.key, statement, source, self.weights) and (
            not thing.is_value
            or sum(thing.key in one.statement.keys for one in self.told) < 2
            or thing.key not in source.keys
            or self._has_subject(source, thing, statement)
        )

    def _has_subject(self, source: Statement, value: Thing, statement: Statement) -> bool:
        first = source.things[0]
        return (
            first.is_verb
            or first.key == value.key
            or self.weights[first.key] <= TOPIC
            or _is_known(first.key, statement.context)
        )

    def lost(self, source: Statement) -> Iterator[str]:
        """Find what of a statement of a source the draft does not tell."""
        lost = [thing for thing in source.things if self._is_lost(thing, source)]
        nouns = [thing for thing in lost if not self._may_go(thing, source)]
        if len(nouns) <= self._put_otherwise(source):
            nouns = [thing for thing in nouns if _is_fixed(thing, source)]
        if len(nouns) > _STRANGE * len(source.things):
            yield f"leaves out: {source.text}"
            return
        for thing in nouns:
            yield f"loses '{thing.token.bare}' of: {source.text}"
        gone = {thing.key for thing in lost}
        for clause in source.clauses:
            whole = clause.keys and clause.keys <= gone and len(source.keys) > 1
            if whole and not nouns and not self._put_otherwise(source):
                yield f"loses '{clause.text}' of: {source.text}"

    def _put_otherwise(self, source: Statement) -> int:
        """Count what the draft tells of what others say in place of a statement's words."""
        if source not in self._common:
            return 0
        return sum(
            not _is_known(key, source.keys) for key in source.beside & self.keys if " " not in key
        )

    def _is_lost(self, thing: Thing, source: Statement) -> bool:
        return not any(
            thing.key in one.statement.keys
            and (
                self.weights[thing.key] <= TOPIC
                or in_company(thing.key, one.statement, source, self.weights)
            )
            for one in self.told
        )

    def _may_go(self, thing: Thing, source: Statement) -> bool:
        """Whether a draft may leave a word out, as far as one can tell, and say the same."""
        named = thing.token.bare in source.reading.names
        if _is_known(thing.key, self.keys):
            # Where it stands in the draft is another place, but only a name makes another fact.
            return not named or any(
                one.statement.points_back for one in self.told if source in one.made_from
            )
        if named or thing.is_value:
            return False
        return (
            thing.is_verb
            or thing.key in _CARRYING
            or _heads(thing, source)
            or any(self._replaced(thing, source, one) for one in self.told)
        )

    def _spare_verbs(self, told: Told) -> int:
        """Count the verbs of its sources that a statement has not: others may take their place."""
        return sum(
            1
            for one in told.made_from
            for verb in (*_verbs(one), *_light_verbs(one))
            if verb not in told.statement.keys
        )

    def _in_place_of_another(self, thing: Thing, told: Told) -> bool:
        return any(
            self._replaces(thing, told.statement, lost, one)
            for one in told.made_from
            for lost in one.things
            if lost.key not in self.keys
        )

    def _replaced(self, lost: Thing, source: Statement, told: Told) -> bool:
        return source in told.cited and any(
            self._replaces(thing, told.statement, lost, source)
            for thing in told.statement.things
            if thing.key not in self.weights
        )

    def _replaces(self, new: Thing, statement: Statement, lost: Thing, source: Statement) -> bool:
        """Whether a new word stands where a source has a verb that the draft has not."""
        if new.is_value or lost.is_value or new.key in self.weights:
            return False
        here, there = statement.things.index(new), source.things.index(lost)
        after, other = statement.order[here + 1 : here + 2], source.order[there + 1 : there + 2]
        noun = any(
            _in_noun_place(one.reading.tokens, thing.token)
            for one, thing in ((statement, new), (source, lost))
        )
        return bool(after) and after == other and not noun


def _is_fixed(thing: Thing, source: Statement) -> bool:
    """Whether no other word can take its place."""
    return thing.is_value or thing.token.bare in source.reading.names


def _is_known(key: str, known: frozenset[str]) -> bool:
    return key in known or any(_of_one_word(key, other) for other in known)


def _of_one_word(one: str, other: str) -> bool:
    """Whether two stems are of one word: "publish" and "public", "back" and "backup"."""
    if " " in one or " " in other or one[:_COMMON] != other[:_COMMON]:
        return False
    common = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    rest = sorted((len(one) - common, len(other) - common))
    return rest[0] <= 1 and rest[1] <= _ENDING and rest[1] < common


def _verbs(statement: Statement) -> Iterator[str]:
    yield from (thing.key for thing in statement.things if thing.is_verb)


def _light_verbs(statement: Statement) -> Iterator[str]:
    """Give what stands for a verb that says nothing: "has", "gets", a colon."""
    words = statement.reading.words & {"has", "have", "had", "get", "gets", "got"}
    yield from sorted(words)
    if ":" in statement.text or not any(thing.is_verb for thing in statement.things):
        yield ":"


def _heads(thing: Thing, statement: Statement) -> bool:
    """Whether a word only says what a statement is about: "The trip: we leave at 9"."""
    head, colon, _ = statement.reading.said.partition(":")
    return (
        bool(colon)
        and thing.token.start < len(head)
        and not any(other.is_verb for other in statement.things if other.token.start < len(head))
    )


def _in_noun_place(tokens: Sequence[Token], token: Token) -> bool:
    at = tokens.index(token)
    before = tokens[at - 1] if at else None
    if before is None or before.lower == "to":
        return False
    return before.lower in _OPENERS | lexicon.PLACING | lexicon.OPENING or before.possessive
