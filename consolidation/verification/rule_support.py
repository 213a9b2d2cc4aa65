"""Whether a rule is what its sources voice: enough of them, and what most of them say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from slowwave.consolidation.proposals import Draft, Source
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.statements import Statement
from slowwave.consolidation.text.stem_matching import is_known
from slowwave.consolidation.text.tokens import is_past_form, stem
from slowwave.consolidation.thresholds import EXTRACT_SOURCES, MOST_VOICES, NEARLY_ALL_VOICES

from .alignment import Alignment
from .content_words import without_days
from .stance import denies_unlike_most, lost_by_most


def find_unsupported(
    draft: Draft, known: Mapping[str, Source], alignment: Alignment
) -> Iterator[str]:
    """Find what keeps a rule from being what its sources say."""
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
    yield from _voiced_by_few(read(without_days(claim.text)), readings)
    changed = [stated.statement for stated in alignment.statements if not stated.word_for_word]
    if changed:
        yield from _missing_in_rule(read(without_days(claim.text)), readings)
    # What all voices of a rule name is what it is about, and weighs as much as the rest.
    evenly = dict.fromkeys(alignment.weights, 1.0)
    texts = list(alignment.texts.values())
    yield from lost_by_most(texts, [stated.statement for stated in alignment.statements], evenly)
    # What one of the voices says in these words denies no more than that voice does.
    for rule in changed:
        if denies_unlike_most(rule, texts, evenly):
            yield f"denies what its sources say: {rule.text}"


def _voiced_by_few(rule: Reading, readings: Sequence[Reading]) -> Iterator[str]:
    """Find details that only few of the sources of a rule give."""
    enough = min(EXTRACT_SOURCES, int(MOST_VOICES * len(readings)) + 1)
    for value in rule.values:
        if sum(other.holds(value) for other in readings) < enough:
            yield f"too few sources support the {value.kind} {value.text}"
    for name in dict.fromkeys(rule.names):
        if sum(other.mentions(name) for other in readings) < enough:
            yield f"too few sources support the name {name}"


def _missing_in_rule(rule: Reading, readings: Sequence[Reading]) -> Iterator[str]:
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
    """Return the words, but for verbs, that nearly all sources of a rule have and it has not."""
    words = Counter(word for other in readings for word in other.stem_set)
    verbs = {
        thing.key for other in readings for thing in Statement(other.text).things if thing.is_verb
    }
    verbs |= {stem(one.bare) for other in readings for one in other.tokens if is_past_form(one)}
    return [
        word
        for word, voices in sorted(words.items())
        if voices > NEARLY_ALL_VOICES * len(readings)
        and not rule.mentions(word)
        and not is_known(word, rule.stem_set | _positives(rule.stem_set))
        and word not in verbs
    ]


def _positives(stems: Iterable[str]) -> frozenset[str]:
    """Return words without what reverses them: "unacknowledged" speaks of acknowledging."""
    return frozenset(one.removeprefix("un") for one in stems)


def _own_words(rule: Reading, readings: Sequence[Reading]) -> list[str]:
    known = frozenset().union(*(other.stem_set for other in readings))
    return [word for word in rule.stem_set if not is_known(word, known)]
