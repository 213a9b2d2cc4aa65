"""What two sentences give one thing: its old value and its new one.

A number, a time or a path; a name; an address of both; words; or that it is so no longer.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from slowwave.consolidation.text.cues import BEFORE_A_THING
from slowwave.consolidation.text.tokens import is_content, stem
from slowwave.consolidation.text.values import FAMILIES, Value
from slowwave.consolidation.thresholds import MOST_VALUE_WORDS, SHARED_MATTER, WHOLE_TOPIC

from .attributes import SINGLE, attribute_of
from .frames import Frame, Key

# That somebody does now what another did; otherwise two people may well do the same.
_SUCCEEDED = re.compile(
    r"\b(?:taken over|took over|takes over|replaced|replaces|succeeded|succeeds|instead of)\b", re.I
)
# What may stand between two values that are one: "Friday at 4", "from 8 to 12".
_BESIDE = re.compile(r"[ ,]*(?:(?:at|from|to|till|until|on|the|and|of) ?)*")
_ACTING = re.compile(r"(?:is|are|was|has|had|[a-z]{2,}s)$")
# A thing of which there is one: "the head of marketing", "our contact".
_THE_ONE = r"(?:\b(?i:the|my|our|your|his|her|its|their)|['’]s) [\w' -]{0,60}"
# Where a name is what such a thing is: what stands in front of the name, and what behind it.
_IN_FRONT = re.compile(
    rf"(?:{_THE_ONE}|^[A-Z][a-z]+(?: [a-z]+){{0,5}} (?:of|for) [\w' -]*(?=:))"
    r"(?:,| is| are|:)(?: called| named| at| by| with| from)?(?: the)? (?:Mr|Mrs|Ms|Dr)?\.? ?\Z"
)
_BEHIND = re.compile(
    rf"(?: [A-Z]\w*)*(?:,| is| are) {_THE_ONE}| \w+ (?:is|are) {_THE_ONE}"
    rf"|\b[^.;]*, (?:he|she|it|they|who|which) (?:is|are) {_THE_ONE}"
)
# "The platform team", "the customer data team": more words are another matter.
MOST_PHRASE_WORDS = 2
_EDGE = re.compile(r"\b")


@dataclass(frozen=True)
class Slot:
    """The values that a thing had, and has now."""

    kind: str
    old: str
    new: str
    # What tells the two values apart.
    old_keys: frozenset[Key]
    new_keys: frozenset[Key]
    # The words of the frames that are the values.
    old_words: frozenset[str] = frozenset()
    new_words: frozenset[str] = frozenset()
    # Whether the later sentence names the earlier value as one that has ended.
    ended: bool = False


def slot_of(old: Frame, new: Frame) -> Slot | None:
    """Return the values that two sentences differ in; None if they differ in more or in none."""
    slot = _value_slot(old, new) or _name_slot(old, new) or _place_slot(old, new)
    return slot or _word_slot(old, new) or _denial_slot(old, new) or _phrase_slot(old, new)


def names_the_one(frame: Frame, name: str) -> bool:
    """Whether it says who or what the one thing of its kind is: "the head of marketing is Ann"."""
    text = frame.reading.said
    return any(
        (_EDGE.match(text, end) and _IN_FRONT.search(text, 0, start))
        or (_EDGE.match(text, start) and _BEHIND.match(text, end))
        for start, end in _places(text, name)
    )


def _places(text: str, name: str) -> Iterator[tuple[int, int]]:
    start = text.find(name)
    while start >= 0:
        yield start, start + len(name)
        start = text.find(name, start + 1)


def _value_slot(old: Frame, new: Frame) -> Slot | None:
    left = [value for key, value in old.values.items() if key not in new.values]
    right = [value for key, value in new.values.items() if key not in old.values]
    if not right or _other_names(old, new):
        return None
    over = [
        value
        for key, value in new.values.items()
        if key in old.values and value.start in new.given_up
    ]
    ended = bool(over)
    left = over or left
    if new.cued or ended:
        # What explains a change may tell other values as well.
        right = [one for one in right if any(_of_one_measure(one, other) for other in left)]
    left.sort(key=lambda value: value.start)
    right.sort(key=lambda value: value.start)
    if not _one_slot(new if ended else old, left, new, right):
        return None
    return Slot(
        left[0].kind,
        " ".join(value.text for value in left),
        " ".join(value.text for value in right),
        frozenset(value.key for value in left),
        frozenset(value.key for value in right),
        ended=ended,
    )


def _one_slot(old: Frame, left: Sequence[Value], new: Frame, right: Sequence[Value]) -> bool:
    """Whether values stand for each other one by one, side by side: "first Thursday"."""
    if len(left) != len(right) or not left:
        return False
    pairs = zip(left, right, strict=True)
    return all(_of_one_measure(*pair) for pair in pairs) and _near(old, left) and _near(new, right)


def _near(frame: Frame, values: Sequence[Value]) -> bool:
    ends = [value.end for value in values]
    between = (
        frame.reading.said[end : value.start] for end, value in zip(ends, values[1:], strict=False)
    )
    return all(map(_BESIDE.fullmatch, between))


def _other_names(old: Frame, new: Frame) -> set[str]:
    """Return names that only one of them has; what explains a change may name more."""
    here = {name for name in old.names if not new.reading.mentions(name)}
    there = {name for name in new.names if not old.reading.mentions(name)}
    return here if new.cued else here | there


def _of_one_measure(one: Value, other: Value) -> bool:
    if one.norm.partition(" ")[0] == other.norm.partition(" ")[0]:
        return False
    units = {one.measure[1], other.measure[1]}
    if one.kind != other.kind:
        kin = FAMILIES.get(one.kind, one.kind) == FAMILIES.get(other.kind, other.kind)
        return kin and units == {""}
    return one.kind != "number" or len(units) == 1 or "" in units


def _name_slot(old: Frame, new: Frame) -> Slot | None:
    if not new.cued and old.values.keys() ^ new.values.keys():
        return None
    gone = [name for name in old.names if not new.reading.mentions(name)]
    right = [name for name in new.names if not old.reading.mentions(name)]
    # A name that the later sentence gives up may have been longer: "the Fabia".
    over = _named_at(old, new, new.given_up)
    left = [*gone, *over]
    if not over or not _together(old, left):
        over = _named_at(old, new, new.leaving)
        left = [*gone, *over]
    if not over:
        left, right = _the_named(old, left), _the_named(new, right)
    if not left or not right or not _together(old, left) or not _together(new, right):
        return None
    if _owning(old, left) or _owning(new, right) or old.values.keys() - new.values.keys():
        return None
    if not over and (_in_full(old, left) or _in_full(new, right)):
        return None
    deed = _deed(old, left)
    if deed is not None and not over and not _SUCCEEDED.search(new.reading.said):
        # Of what one person does at a time, another does it now.
        other = _deed(new, right)
        if other is None or attribute_of(deed) not in SINGLE & {attribute_of(other)}:
            return None
    return Slot(
        "name",
        _spelled(old, left),
        _spelled(new, right),
        _keys("name", left),
        _keys("name", right),
        stemmed(left),
        stemmed(right),
        bool(over),
    )


def _named_at(old: Frame, new: Frame, places: Container[int]) -> list[str]:
    # A name at the head of a sentence is none there by its capital alone.
    named = {token.bare for token in new.reading.tokens if token.start in places}
    return [name for name in old.names if name in named]


def _the_named(frame: Frame, names: Sequence[str]) -> list[str]:
    """Return those names that say who the one of a kind is: "our adviser is Ann Bell in Thun"."""
    runs: list[list[str]] = []
    for name in sorted(names, key=lambda one: frame.names[one]):
        if runs and _together(frame, [*runs[-1], name]):
            runs[-1].append(name)
        else:
            runs.append([name])
    if len(runs) < 2:
        return list(names)
    said = [run for run in runs if names_the_one(frame, _spelled(frame, run))]
    return said[0] if said else list(names)


def _in_full(frame: Frame, names: Sequence[str]) -> bool:
    """Whether it is the first name of somebody whose other name is none of these."""
    after = frame.reading.tokens[max(frame.names[name] for name in names) + 1 :][:1]
    return any(one.bare in frame.names and not one.starts_sentence for one in after)


def _place_slot(old: Frame, new: Frame) -> Slot | None:
    """Return an address, of names and a number, for one that somebody moved from."""
    here, there = _only(old, new), _only(new, old)
    moved = new.implied & SINGLE if new.cued else new.topic_terms & {"=home"}
    if not here or not there or not moved & old.topic_terms:
        return None
    return Slot(
        "place",
        _span(old, here),
        _span(new, there),
        _all_keys(old, new),
        _all_keys(new, old),
        stemmed(name for name in old.names if not new.reading.mentions(name)),
        stemmed(name for name in new.names if not old.reading.mentions(name)),
    )


def _only(frame: Frame, other: Frame) -> list[tuple[int, int]]:
    """Return where the values and names stand that the other does not have."""
    values = [(one.start, one.end) for key, one in frame.values.items() if key not in other.values]
    tokens = [
        frame.reading.tokens[at]
        for name, at in frame.names.items()
        if not other.reading.mentions(name)
    ]
    if not values or not tokens:
        return []
    return sorted([*values, *((one.start, one.start + len(one.text)) for one in tokens)])


def _span(frame: Frame, places: Sequence[tuple[int, int]]) -> str:
    return frame.reading.said[places[0][0] : max(end for _, end in places)]


def _all_keys(frame: Frame, other: Frame) -> frozenset[Key]:
    values = frozenset(key for key in frame.values if key not in other.values)
    return values | _keys("name", (one for one in frame.names if not other.reading.mentions(one)))


def _owning(frame: Frame, names: Sequence[str]) -> bool:
    """Whether the thing is theirs: Ann's and Ben's are two things."""
    return any(frame.reading.tokens[frame.names[name]].possessive for name in names)


def _deed(frame: Frame, names: Sequence[str]) -> str | None:
    """Return what a name does, to go by the verb behind it; None if it does nothing."""
    after = frame.reading.tokens[max(frame.names[name] for name in names) + 1 :]
    # Behind the rest of the name, if it has more.
    verb = next((token for token in after if not token.capitalised), None)
    return verb.lower if verb is not None and _ACTING.match(verb.text) is not None else None


def _together(frame: Frame, names: Sequence[str]) -> bool:
    places = sorted(frame.names[name] for name in names)
    return places[-1] - places[0] == len(places) - 1


def _spelled(frame: Frame, names: Sequence[str]) -> str:
    places = sorted(frame.names[name] for name in names)
    return " ".join(frame.reading.tokens[at].text for at in places)


def stemmed(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of some words."""
    return frozenset(map(stem, words))


def _word_slot(old: Frame, new: Frame) -> Slot | None:
    ruling = old.reading.normative or new.reading.normative
    if ruling or old.values.keys() ^ new.values.keys() or _other_names(old, new):
        return None
    over = _terms_at(new, new.ended)
    left = old.topic_terms - new.topic_terms - new.implied
    right = new.topic_terms - old.topic_terms - over
    ended = bool(over & old.topic_terms) and not old.reading.negators
    if ended:
        left = old.topic_terms & (over - _terms_at(new, _rest(new)))
    elif not new.turned or (old.cued and (len(left) > 1 or len(right) > 1)):
        # What tells of a change itself is about more than the value: then only that may differ.
        return None
    if not 0 < len(left) <= MOST_VALUE_WORDS or not 0 < len(right) <= MOST_VALUE_WORDS:
        return None
    said, says = " ".join(old.spelled(left)), " ".join(new.spelled(right))
    keys = _keys("word", left), _keys("word", right)
    return Slot("word", said, says, *keys, left, right, ended)


def _denial_slot(old: Frame, new: Frame) -> Slot | None:
    """Return what was so, and is no longer: "diesel cars are allowed", "no longer allowed"."""
    over = _terms_at(new, new.ended) & old.topic_terms
    if not new.ends or old.reading.negators or _other_names(old, new):
        return None
    if not over and len(old.topic_terms & new.topic_terms) < WHOLE_TOPIC * len(old.topic_terms):
        return None
    ended = over or old.topic_terms & new.topic_terms
    said = " ".join(old.spelled(ended))
    return Slot(
        *("word", said, f"no longer {said}"),
        *(_keys("word", ended), frozenset({("word", "no longer")})),
        ended=True,
    )


def _phrase_slot(old: Frame, new: Frame) -> Slot | None:
    """Return the word or two in which two sentences differ: "is owned by the platform team".

    Of a thing that has one of its kind at a time, and behind the verb: in front of it they would
    say of which thing it is told.
    """
    left, right = ([token.lower for token in one.reading.tokens] for one in (old, new))
    start = _common_length(left, right)
    behind = _common_length(left[start:][::-1], right[start:][::-1])
    said, says = left[start : len(left) - behind], right[start : len(right) - behind]
    before = old.reading.tokens[:start]
    led = bool(before) and before[-1].lower in BEFORE_A_THING
    topics = {old.term_of(token) for token in before} & old.topic_terms
    ones = [
        0 < len(words) <= MOST_PHRASE_WORDS and all(map(_is_one_word, words))
        for words in (said, says)
    ]
    if new.cued or not led or len(topics) < SHARED_MATTER or not topics & SINGLE or not all(ones):
        return None
    old_words, new_words = (
        frozenset(frame.term_of(token) for token in frame.reading.tokens if token.lower in words)
        for frame, words in ((old, said), (new, says))
    )
    keys = _keys("word", old_words), _keys("word", new_words)
    return Slot("phrase", " ".join(said), " ".join(says), *keys, old_words, new_words)


def _is_one_word(word: str) -> bool:
    return is_content(word) and "-" not in word


def _common_length(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _terms_at(frame: Frame, places: Container[int]) -> frozenset[str]:
    tokens = frame.reading.tokens
    terms = {frame.term_of(token) for token in tokens if token.start in places}
    return frozenset(terms) & frame.topic_terms


def _rest(frame: Frame) -> frozenset[int]:
    return frozenset(range(len(frame.reading.said))) - frame.ended


def _keys(kind: str, words: Iterable[str]) -> frozenset[Key]:
    return frozenset((kind, word) for word in words)
