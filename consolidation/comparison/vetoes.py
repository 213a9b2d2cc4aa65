"""Why one sentence does not say all that another says, whatever the entailment network finds.

Only what can be looked up: values, names, code, signs, denials, days, and words that changed
places. The network takes "3pm" for "4pm", and hardly sees who does what to whom.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowwave.consolidation.facts.literals import has_literal
from slowwave.consolidation.facts.reading import Reading
from slowwave.consolidation.text.tokens import is_content, stem
from slowwave.consolidation.thresholds import FEWEST_WORDS

# Values that name what a text is about; it may name several that do not replace each other.
NAMING = frozenset({"path", "identifier", "url"})
# A phrase that moves has three new neighbourhoods, two words that change places have four.
_MOST_BREAKS = 3


@dataclass(frozen=True)
class Veto:
    """Why a sentence is not said by another: the kind of thing, and what each of them says."""

    kind: str
    said: str
    premise: str

    @property
    def why(self) -> str:
        """Return it as a line with both sides."""
        return f"{self.said or 'nothing'} against {self.premise or 'nothing'}"


def find_veto(said: Reading, premise: Reading) -> Veto | None:
    """Find the first reason why `premise` does not say all that `said` says; None without one."""
    return next(_vetoes(said, premise), None)


def _vetoes(said: Reading, premise: Reading) -> Iterator[Veto]:
    lost = [value.words for value in said.values if not premise.holds(value)]
    rivals = [
        value.words
        for value in premise.values
        if value.kind not in NAMING
        and not said.measured.isdisjoint(value.measures)
        and not said.known.allows(value)
    ]
    if lost or rivals:
        yield Veto("value", ", ".join(lost), ", ".join(rivals))
    names = [name for name in said.names if not premise.mentions(name)]
    if names:
        yield _veto("name", names, set(premise.names) - said.words)
    if bool(said.negators) != bool(premise.negators) or (
        said.negators and said.denied.isdisjoint(premise.denied)
    ):
        yield _veto("denial", said.negators, premise.negators)
    literals = [
        literal.content
        for literal in said.literals
        if literal.content not in premise.literal_contents
        and not has_literal(premise.unmarked, literal)
    ]
    if literals:
        yield _veto("literal", literals, premise.literal_contents)
    signs = said.signs - premise.signs
    if signs:
        yield _veto("sign", signs, premise.signs - said.signs)
    for word in sorted(said.spellings.keys() & premise.spellings.keys()):
        here, there = said.spellings[word], premise.spellings[word]
        if here.isdisjoint(there) and _has_meaning_capitals(word, here | there):
            yield _veto("case", here, there)
    if _is_of_a_day(premise) and not _is_of_a_day(said):
        yield Veto("day", said.text, premise.text)
    if not (said.is_english and premise.is_english):
        yield Veto("language", said.text, premise.text)
    yield from _of_words(said, premise)


def _of_words(said: Reading, premise: Reading) -> Iterator[Veto]:
    """Yield what speaks against two sentences that have nearly the same words."""
    here, there = said.stem_set - premise.stem_set, premise.stem_set - said.stem_set
    if len(said.stem_set) < FEWEST_WORDS:
        yield Veto("few words", said.text, premise.text)
    if len(here) == len(there) == 1:
        yield _veto("word", said.spelled(here), premise.spelled(there))
    words, others = parts_of(said), parts_of(premise)
    own, others_own = set(words) - set(others), set(others) - set(words)
    same = not here and not there
    if own and others_own and (same or len(own) == len(others_own) == 1):
        yield _veto("word", own, others_own)
    if _are_turned(words, others) or (same and is_reordered(words, others)):
        yield Veto("order", said.text, premise.text)


def is_reordered(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether more than one phrase stands elsewhere among the words that both have once."""
    order = _places(words, others)
    breaks = sum(second != first + 1 for first, second in pairwise(order))
    return breaks > _MOST_BREAKS


def parts_of(reading: Reading) -> list[str]:
    """Return the stems of all words, of a hyphenated word each part, and the norms of values."""
    norms = {value.start: value.norm for value in reading.measures}
    plain = {token.start for token in reading.plain}
    parts: list[str] = []
    for token in reading.tokens:
        if token.start in norms:
            parts.append(norms[token.start])
        elif token.start in plain:
            parts += [stem(part) for part in token.bare.split("-") if part]
    return parts


def _are_turned(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether three words side by side stand the other way round: "a calls b", "b calls a"."""
    order = _places(words, others)
    threes = zip(order, order[1:], order[2:], strict=False)
    return any(first == second + 1 == third + 2 for first, second, third in threes)


def _has_meaning_capitals(word: str, spelled: Iterable[str]) -> bool:
    """Whether another capital makes another word: in code, and in words such as "US" and "us"."""
    return (
        not is_content(word)
        or not re.fullmatch(r"[^\W\d_]+(?:[-'][^\W\d_]+)*", word)
        or any(not (form.islower() or form.isupper() or form.istitle()) for form in spelled)
    )


def _is_of_a_day(reading: Reading) -> bool:
    """Whether a sentence is about a day: what is so on one day is not so on every day."""
    return reading.deictic or any(value.kind == "date" for value in reading.values)


def _places(words: Sequence[str], others: Sequence[str]) -> list[int]:
    """Return the words that stand once in each of two texts as their places in the other text."""
    here, there = Counter(words), Counter(others)
    both = [word for word in others if here[word] == there[word] == 1]
    place = {word: at for at, word in enumerate(both)}
    return [-1, *(place[word] for word in words if word in place), len(both)]


def _veto(kind: str, said: Iterable[str], premise: Iterable[str]) -> Veto:
    return Veto(kind, ", ".join(sorted(said)), ", ".join(sorted(premise)))
