"""Does a draft say what its sources say, all of it, and nothing else? Decided without a model.

Every check is on the text: what a rule can read (values, names, denials, roles) must agree both
ways. Whoever wrote the draft, it passes here or is not written to the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from slowwave.consolidation.comparison.guards import certain_conflict
from slowwave.consolidation.proposals import Claim, Draft, Operation, Source
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.injection import obeyed
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.statements import Statement, is_known, word_set
from slowwave.consolidation.text.tokens import Token, is_past_form, stem
from slowwave.consolidation.text.values import Value
from slowwave.consolidation.thresholds import DRAFT_SIMILARITY, EXTRACT_SOURCES

from .faults import Fault
from .joints import addressed, blended
from .parties import titled, turned
from .retelling import Retelling, Told
from .slots import new_in_slots, singled_out
from .stance import (
    denials_lost,
    denied_otherwise,
    denies_unlike_most,
    lost_by_most,
    moods_lost,
    on_whose_word,
)
from .wording import new_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOW = re.compile(r"\b(?:for )?(?:now|currently)\b", re.IGNORECASE)
_THIS_YEAR = re.compile(r"\bthis year\b", re.IGNORECASE)
# Behind these "the two" acts, and is no number of anything.
_ACTING = re.compile(r" (?:are|were|have|had|will|would|can|could|may|might|must|should|do|did)\b")
# The words that say by what something is counted, by the norm of the unit.
_COUNTED_BY = {
    "h": word_set("hour hours hourly"),
    "d": word_set("day days daily"),
    "night": word_set("night nights nightly"),
    "wk": word_set("week weeks weekly"),
    "mo": word_set("month months monthly"),
    "yr": word_set("year years yearly annual annually"),
    "min": word_set("minute minutes"),
    "s": word_set("second seconds"),
}
# Nouns that open a sentence as often as a name does.
_COMMON_OPENERS = word_set("work target start goal match training shirts price cost plan")
_RATE = re.compile(
    r"\b(?:an?|per) (second|minute|hour|day|night|week|month|year)\b"
    r"(?! (?:ago|earlier|later|before))",
    re.IGNORECASE,
)
# Behind a number, the end of a range that has the unit; and "the 429s".
_RANGE = re.compile(r" ?(?:to|and|or|-|\u2013) ?[\d.,]+ ?([%\w/]+)")
_PLURAL = re.compile(r"\d{3,}s")
# Of the sources of a rule more than this share must have a value or a name for the rule to give it;
# and what so many have, the rule must not leave out.
MOST_VOICES = 0.5
# A word that so many of them say is what the rule is about.
ALL_VOICES = 0.75


def find_faults(draft: Draft, sources: Sequence[Source], operation: Operation) -> list[Fault]:
    """Give what is wrong with a draft; nothing if it may be written.

    Checks that each claim cites given sources only, that nothing in it is invented or moved to
    where it is not true, that a synthesis loses nothing, that a rule has its supporters, that no
    order in a source is taken for a fact, and that the draft is not longer than what it stands for.
    """
    known = {source.id: source for source in sources}
    faults = [Fault(why) for why in _structure(draft, known)]
    if faults:
        return faults
    for at, claim in enumerate(draft.claims):
        cited = [known[one] for one in claim.sources]
        faults += [Fault(why, claim=at) for why in _invented(claim, cited)]
    retelling = Retelling(
        [(_bare(claim.text), claim.sources) for claim in draft.claims],
        {source.id: _bare(source.text) for source in sources},
    )
    for one in retelling.told:
        faults += _new_words(retelling, one)
        faults += _misjoined(one)
    whole = list(_retold(retelling, operation))
    if operation == "extract":
        whole += _unsupported(draft, known, retelling)
    else:
        whole += _lost(draft, sources)
        whole += _untold(retelling)
    faults += map(Fault, whole)
    if len(DATE_MARK.sub("", draft.text)) > sum(len(source.text) + 2 for source in sources):
        faults.append(Fault("the draft is longer than its sources together"))
    return list(dict.fromkeys(faults))


def find_distance(
    draft_vector: NDArray[np.float32],
    sources: Sequence[Source],
    operation: Operation = "synthesize",
) -> list[str]:
    """Give the fault of a draft that lies too far from one of its sources, if there is one.

    draft_vector: float32, shape (d,), unit length, of the same model as the sources' vectors. The
    voices of a rule are found by what they demand and may lie far apart: one of them must be near.
    """
    found = [float(source.vector @ draft_vector) for source in sources]
    nearness, whom = (max(found), "any") if operation == "extract" else (min(found), "one")
    if nearness >= DRAFT_SIMILARITY:
        return []
    return [f"the draft has a similarity of only {nearness:.2f} to {whom} of its sources"]


def find_loss(staying: str, leaving: Sequence[str]) -> list[str]:
    """Give what would be lost if `staying` stood for the texts in `leaving` too."""
    faults = []
    for text in leaving:
        conflict = certain_conflict(read(staying), read(text))
        if conflict is not None:
            faults.append(f"the two differ in a {conflict.guard}: {conflict.why}")
        faults += [f"loses {lost}" for lost in _missing(read(text), [read(staying)])]
    return faults


def _structure(draft: Draft, known: Mapping[str, Source]) -> Iterator[str]:
    if not draft.claims or not all(claim.text.strip() for claim in draft.claims):
        yield "the draft says nothing"
    for claim in draft.claims:
        if not claim.sources:
            yield f"a claim cites no source: {_short(claim.text)}"
        for cited in claim.sources:
            if cited not in known:
                yield f"a claim cites an id that was not given: {cited}"


def _invented(claim: Claim, cited: Sequence[Source]) -> Iterator[str]:
    reading = _unmarked(claim.text)
    readings = [_unmarked(source.text) for source in cited]
    yield from _misdated(claim, cited)
    # On what day a source was said may be told within the claim.
    days = [read(source.observed_at[:10]) for source in cited]
    for invented in _missing(reading, [*readings, *days]):
        yield f"invents {invented}"


def _unmarked(text: str) -> Reading:
    """Read a text without the days on which its sentences were said."""
    return read(_bare(text))


def _bare(text: str) -> str:
    return DATE_MARK.sub("", text)


def _misdated(claim: Claim, cited: Sequence[Source]) -> Iterator[str]:
    marks = list(DATE_MARK.finditer(claim.text))
    said = {source.observed_at[:10] for source in cited}
    relative = {source.observed_at[:10] for source in cited if _is_relative(source.text)}
    known = relative if _is_relative(claim.text) and relative else said
    stated = _days(mark for source in cited for mark in DATE_MARK.finditer(source.text))
    for mark in marks:
        # Since when something is so, or until when it was, is when it was first said.
        spanning = mark[2] is not None or mark[0].startswith(("[since", "[noted"))
        for day in sorted(_days([mark]) - stated - (said if spanning else known)):
            yield f"invents the date {day}"
    if not marks and _is_dated_by_day(claim.text, cited):
        days = " or ".join(f"[{day}]" for day in sorted(known | stated))
        yield f"speaks of a day without {days} in front: {_short(claim.text)}"


def _is_relative(text: str) -> bool:
    """Whether a text speaks of a day by when it was said: "yesterday's run", "on Monday"."""
    reading = read(text)
    weekday = any(value.kind == "weekday" for value in reading.values)
    return weekday or reading.deictic or not reading.words.isdisjoint(lexicon.DEICTIC)


def _is_dated_by_day(text: str, cited: Sequence[Source]) -> bool:
    """Whether a text turns false without the day on which it was said.

    "This year" does not where all was said in one year: the memory's own day tells which. "For
    now" says no more than that it is so.
    """
    if len({source.observed_at[:4] for source in cited}) == 1:
        text = _THIS_YEAR.sub("", text)
    return read(_NOW.sub("", text)).deictic


def _days(marks: Iterable[re.Match[str]]) -> set[str]:
    return {day for mark in marks for day in mark.groups() if day is not None}


def _retold(retelling: Retelling, operation: Operation) -> Iterator[str]:
    """Find what a draft says otherwise than its sources, statement by statement."""
    told = [one for one in retelling.told if not one.word_for_word]
    common = len(_common_lost(retelling)) if operation == "extract" else None
    for one in told:
        yield from _turned(retelling, one)
    beside = [(one.statement, one.cited) for one in told]
    yield from denied_otherwise(beside, retelling.weights)
    if operation == "extract":
        statements = [one.statement for one in retelling.told]
        # What all voices of a rule name is what it is about, and weighs as much as the rest.
        evenly = dict.fromkeys(retelling.weights, 1.0)
        texts = list(retelling.texts.values())
        yield from lost_by_most(texts, statements, evenly)
        # What one of the voices says in these words denies no more than that voice does.
        for rule in (one.statement for one in told):
            if denies_unlike_most(rule, texts, evenly):
                yield f"denies what its sources say: {rule.text}"
    yield from obeyed([one.statement for one in told], retelling.sources)


def _new_words(retelling: Retelling, told: Told) -> Iterator[Fault]:
    if told.word_for_word:
        return
    for word in dict.fromkeys(
        one.text for one in new_words(told, retelling.spare_in_sources(told), retelling.known)
    ):
        why = f"says '{word}', which no source that it cites says: {_short(told.statement.text)}"
        yield Fault(why, told.claim, soft=True, words=(word,))


def _misjoined(told: Told) -> Iterator[Fault]:
    """Find what a statement joins that no source does: words, and to whom it is done."""
    if told.word_for_word:
        return
    said = _short(told.statement.text)
    for word in new_in_slots(told):
        yield Fault(
            f"says '{word}', as no source that it cites does: {said}", told.claim, words=(word,)
        )
    for one, other in blended(told):
        why = f"joins '{one}' and '{other}', which no source that it cites does: {said}"
        yield Fault(why, told.claim, words=(one, other))
    for one, other in addressed(told):
        why = f"names '{one}' where its sources name '{other}': {said}"
        yield Fault(why, told.claim, words=(one, other))


def _common_lost(retelling: Retelling) -> list[str]:
    """Give the words that half of the sources of a rule have and the rule has not."""
    voices = Counter(
        key
        for statements in retelling.texts.values()
        for key in frozenset().union(*(one.keys for one in statements))
    )
    return [
        key
        for key, count in voices.items()
        if count >= MOST_VOICES * len(retelling.texts) and not is_known(key, retelling.keys)
    ]


def _turned(retelling: Retelling, told: Told) -> Iterator[str]:
    """Find what a statement turns round: who does what, whose it is, what stands where."""
    reading = told.statement.reading
    known = retelling.weights.keys()
    for source in told.made_from:
        for why in turned(told.statement, source, retelling.keys, known):
            yield f"turns round who does what: {why}"


def _untold(retelling: Retelling) -> Iterator[str]:
    """Find what sources say and a draft leaves out, statement by statement."""
    sources = [one for one in retelling.sources if not retelling.has_word_for_word(one)]
    for source in sources:
        yield from retelling.lost(source)
        for word in singled_out(source, retelling.keys):
            yield f"loses '{word}' of: {source.text}"
    told = [one.statement for one in retelling.told]
    yield from denials_lost(sources, told, retelling.weights)
    yield from moods_lost(sources, told, retelling.weights)
    yield from on_whose_word(told, sources)


def _lost(draft: Draft, sources: Sequence[Source]) -> Iterator[str]:
    readings = [read(claim.text) for claim in draft.claims]
    cited = {source for claim in draft.claims for source in claim.sources}
    for source in sources:
        if source.id not in cited:
            yield f"leaves out a source: {_short(source.text)}"
        for lost in _missing(read(source.text), readings):
            yield f"loses {lost}"


def _is_pronoun(value: Value, reading: Reading) -> bool:
    """Whether a number stands for those spoken of: "the two might rent a car"."""
    before, after = reading.said[: value.start], reading.said[value.end :]
    if not before.lower().endswith("the "):
        return False
    return value.text.lower() == "two" or bool(_ACTING.match(after))


def _missing(reading: Reading, others: Sequence[Reading]) -> Iterator[str]:
    """Give the values and names of a text that stand in none of the others."""
    for value in reading.values:
        if not _is_pronoun(value, reading) and not any(
            _tells(other, one) for other in others for one in _forms(value, reading)
        ):
            yield f"the {value.kind} {value.text}"
    for name in _names(reading):
        if not any(other.mentions(name) for other in others):
            yield f"the name {name}"
    for unit in _rates(reading):
        if all(_COUNTED_BY[unit].isdisjoint(other.words) for other in others):
            yield f"the rate by {unit}"


def _names(reading: Reading) -> Iterator[str]:
    """Give the names in a text, without the words that only open a sentence."""
    with_title = titled(reading)
    opening = [one.bare for one in reading.tokens if one.starts_sentence and _is_proper(one)]
    for name in dict.fromkeys((*reading.names, *with_title, *opening)):
        tokens = [one for one in reading.tokens if one.bare == name and one.capitalised]
        if name in with_title or not all(map(_only_opens, tokens)):
            yield name


def _is_proper(token: Token) -> bool:
    """Whether a word is known to be a name only."""
    import simplemma

    dated = token.bare.removesuffix("s") in lexicon.WEEKDAYS.union(lexicon.MONTHS)
    return token.capitalised and not dated and simplemma.lemmatize(token.bare, "en")[0].isupper()


def _only_opens(token: Token) -> bool:
    """Whether a word may have its capital from its place alone: an English word, not a name."""
    import simplemma

    if not token.starts_sentence:
        return False
    word = token.bare
    formed = is_past_form(token) or word.endswith(("ly", "er", "ing"))
    common = word in _COMMON_OPENERS
    return (formed or common) and simplemma.lemmatize(word, "en").islower()


def _rates(reading: Reading) -> set[str]:
    """Give the units by which something is counted: "2 litres of syrup a week"."""
    found = {word.lower() for word in _RATE.findall(reading.said)}
    return {unit for unit, words in _COUNTED_BY.items() if not words.isdisjoint(found)}


def _forms(value: Value, reading: Reading) -> Iterator[Value]:
    """Give a value as it may stand elsewhere: "from 11 to 2 minutes" has 11 minutes."""
    yield value
    if value.kind == "number" and (ranging := _RANGE.match(reading.said[value.end :])):
        yield from read(f"{value.text} {ranging[1]}").values
    if _PLURAL.fullmatch(value.text):
        yield from read(value.text[:-1]).values


def _tells(reading: Reading, value: Value) -> bool:
    """Whether a text has a value, in this form or another."""
    plural = f"{value.text}s"
    if reading.holds(value) or (
        # A pattern is dear to make, and of few values a text has the plural.
        plural in reading.said and re.search(rf"\b{re.escape(plural)}\b", reading.said)
    ):
        return True
    if value.kind == "rate":
        # "Three runs a week", "weekly runs", "each week".
        counted = _COUNTED_BY.get(value.norm)
        return counted is not None and not counted.isdisjoint(reading.words)
    # "Each a week" and "a week": a length of time by itself, and how often by its place.
    if value.kind != "number" or not value.text[0].isalpha():
        return False
    spelled = rf"\b{re.escape(value.text)}(?!\w)"
    return re.search(spelled, reading.said, re.IGNORECASE) is not None


def _unsupported(draft: Draft, known: Mapping[str, Source], retelling: Retelling) -> Iterator[str]:
    if len(draft.claims) != 1:
        yield "a rule is one claim"
        return
    claim = draft.claims[0]
    readings = [read(known[cited].text) for cited in dict.fromkeys(claim.sources)]
    # Where a memory stands for others that were merged into it, five voices are fewer sources.
    enough = min(EXTRACT_SOURCES, len(known))
    if len(readings) < enough:
        yield f"only {len(readings)} sources support the rule; {enough} must"
        return
    if not all(told.word_for_word for told in retelling.told):
        yield from _left_out_of_rule(_unmarked(claim.text), readings)


def _left_out_of_rule(rule: Reading, readings: Sequence[Reading]) -> Iterator[str]:
    """Find what most sources of a rule say and the rule does not."""
    values = Counter(value.key for other in readings for value in other.values)
    shown = {value.key: value for other in readings for value in other.values}
    for key, voices in sorted(values.items()):
        if voices > MOST_VOICES * len(readings) and not rule.holds(shown[key]):
            yield f"loses the {shown[key].kind} {shown[key].text}, which most sources give"
    lost = _words_of_most(rule, readings)
    if len(lost) > len(_own_words(rule, readings)):
        for spelled in readings[0].spelled(lost):
            yield f"loses '{spelled}', which nearly all sources say"


def _words_of_most(rule: Reading, readings: Sequence[Reading]) -> list[str]:
    """Give the words, verbs aside, that nearly all sources of a rule have and the rule has not."""
    words = Counter(word for other in readings for word in other.stem_set)
    verbs = {
        thing.key for other in readings for thing in Statement(other.text).things if thing.is_verb
    }
    verbs |= {stem(one.bare) for other in readings for one in other.tokens if is_past_form(one)}
    return [
        word
        for word, voices in sorted(words.items())
        if voices > ALL_VOICES * len(readings)
        and not rule.mentions(word)
        and not is_known(word, rule.stem_set | _positives(rule.stem_set))
        and word not in verbs
    ]


def _positives(stems: Iterable[str]) -> frozenset[str]:
    """Give words without what turns them round: "unacknowledged" speaks of what is acknowledged."""
    return frozenset(one.removeprefix("un") for one in stems)


def _own_words(rule: Reading, readings: Sequence[Reading]) -> list[str]:
    known = frozenset().union(*(other.stem_set for other in readings))
    return [word for word in rule.stem_set if not is_known(word, known)]


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
