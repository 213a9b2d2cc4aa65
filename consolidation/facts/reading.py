"""What is looked up in one text: its words, values, names, literals, negations.

These are what must not be confused between texts. Some thousand texts a second are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, zip_longest

from slowwave.consolidation.text.lead_ins import without_announcements
from slowwave.consolidation.text.sentences import split_sentences
from slowwave.consolidation.text.tokens import Token, stem, stems_of, tokenise

from . import languages
from .days import DEICTIC
from .literals import LiteralSpan, blank_literals, find_literals
from .names import find_proper_names
from .values import KnownValues, TextValue, find_values, is_lower_word

# The maximum number of words from "not" to its content word: "not be in need of".
_REACH = 5
_NEGATORS = frozenset(
    ("not", "no", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot")
) | {"without"}
# Signs with a meaning of their own: no letter, digit, quote or punctuation. A "!" before a word
# negates it, a "-" after one is a grade; units and money are read as values.
_SIGN = re.compile(
    r"\[.?\]|->|<-|[<>=]=?|!=|!(?=\w)|(?<=\w)-(?=[\s.,;]|$)|&&?|\|\|?|[+*^~#@\\]|\$(?!\d)|(?<=\s)/(?=\s)|"
    r"(?<=\s)-(?=\s)|[^\w\s\x00-\x7f°€£\u2010-\u201f\u2026]|[\u00bc-\u00be\u00b2\u00b3\u00b9]"
)
# Kinds of values that are meant verbatim: they name the subject of a text, which may name several.
VERBATIM = frozenset({"identifier", "path", "url"})
# "ABC-12" and "abc-12" are one ticket.
_NUMBERED = re.compile(r"[^\W\d_]+-\d+")
_MEASURES = frozenset({"number", "time", "date", "rate"})


@dataclass(frozen=True)
class Reading:
    """One text, read."""

    text: str

    @cached_property
    def said(self) -> str:
        """The text without introductions such as "User said that"."""
        return without_announcements(self.text)

    @cached_property
    def announced(self) -> bool:
        """Whether it has an introduction: "User said that", "Note:"."""
        return len(self.said) < len(self.text)

    @cached_property
    def literals(self) -> tuple[LiteralSpan, ...]:
        """Code spans and quotations, in order."""
        return tuple(find_literals(self.text))

    @cached_property
    def literal_contents(self) -> frozenset[str]:
        """The contents of the literals."""
        return frozenset(literal.content for literal in self.literals)

    @cached_property
    def unmarked(self) -> str:
        """The text without its literals."""
        return blank_literals(self.text, self.literals)

    @cached_property
    def values(self) -> tuple[TextValue, ...]:
        """Numbers with their units, dates, times, versions, identifiers, paths, in order."""
        return tuple(
            value
            for value in find_values(self.said)
            if value.kind != "count" and not is_lower_word(self.said, value)
        )

    @cached_property
    def known(self) -> KnownValues:
        """The values, in which others are looked up."""
        return KnownValues(self.values)

    @cached_property
    def measured(self) -> frozenset[tuple[str, str]]:
        """What the values measure, each as its kind and its unit."""
        return frozenset(pair for value in self.values for pair in value.measures)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The words in order."""
        return tuple(tokenise(self.said))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words in lower case, without possessive endings."""
        return frozenset(token.bare for token in self.tokens)

    def holds(self, value: TextValue) -> bool:
        """Whether a value is in this text, in any spelling."""
        return self.known.has(value)

    def mentions(self, name: str) -> bool:
        """Whether a name, in lower case, is among the words."""
        return name in self.words or stem(name) in self.stem_set

    @cached_property
    def measures(self) -> tuple[TextValue, ...]:
        """The numbers, times, dates and rates, in order."""
        return tuple(value for value in self.values if value.kind in _MEASURES)

    @cached_property
    def plain(self) -> tuple[Token, ...]:
        """The words outside numbers, times, dates and rates, which are compared as values."""
        return outside(self.tokens, self.measures)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stems of the content words, in order."""
        return tuple(part for token in self.plain for part in stems_of(token.bare))

    @cached_property
    def stem_set(self) -> frozenset[str]:
        """The stems of the content words."""
        return frozenset(self.stems)

    @cached_property
    def signs(self) -> Counter[str]:
        """How often each sign with a meaning of its own occurs."""
        return Counter(found.group().strip() for found in _SIGN.finditer(self.said))

    @cached_property
    def spellings(self) -> dict[str, frozenset[str]]:
        """The spellings of each word and identifier, by its lower case.

        A sentence's first word may have a capital of its own or owe it to its place.
        """
        found: dict[str, set[str]] = {}
        for token, after in zip_longest(self.tokens, self.tokens[1:]):
            word = token.text[: len(token.bare)]
            forms = found.setdefault(token.bare, set())
            forms.add(word.lower() if word.isupper() and _NUMBERED.fullmatch(word) else word)
            # "IT is down" opens with an acronym, "DO NOT" with a stress.
            is_acronym = word.isupper() and after is not None and not after.text.isupper()
            if token.starts_sentence and (word.istitle() or (word.isupper() and not is_acronym)):
                forms.add(word.lower())
        for value in self.values:
            if value.kind in VERBATIM:
                found.setdefault(value.words.lower(), set()).add(value.words)
        return {word: frozenset(forms) for word, forms in found.items()}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in lower case, in order."""
        return tuple(name.words.lower() for name in find_proper_names(self.said, self.values))

    @cached_property
    def negators(self) -> tuple[str, ...]:
        """The negating words, as they are written."""
        return tuple(token.text for token in self.tokens if _denies(token.lower))

    @cached_property
    def denied(self) -> frozenset[str]:
        """The stem of the content word after each negating word."""
        heads: set[str] = set()
        for index, token in enumerate(self.tokens):
            if _denies(token.lower):
                behind = self._clause_behind(index)[:_REACH]
                content = (stems_of(later.bare) for later in behind if stems_of(later.bare))
                heads.update(*islice(content, 1))
        return frozenset(heads)

    def _clause_behind(self, index: int) -> tuple[Token, ...]:
        """Return the words after one, unless a mark follows it: "No, trains run"."""
        behind = self.tokens[index + 1 :]
        between = behind and self.said[self.tokens[index].end : behind[0].start]
        return () if between and between.strip("\"'`“”() ").strip() else behind

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, verbatim."""
        return tuple(split_sentences(self.text))

    @cached_property
    def deictic(self) -> bool:
        """Whether its meaning depends on the day."""
        return DEICTIC.search(self.said) is not None

    @cached_property
    def is_english(self) -> bool:
        """Whether the text is English."""
        return languages.is_english(self.unmarked)


@lru_cache(maxsize=16_384)
def read(text: str) -> Reading:
    """Read a text; the same text is read once."""
    return Reading(text)


def outside(tokens: Sequence[Token], values: Sequence[TextValue]) -> tuple[Token, ...]:
    """Return the words of a text outside its values, both in order."""
    if not values:
        return tuple(tokens)
    taken = frozenset().union(*(range(value.start, value.end) for value in values))
    return tuple(token for token in tokens if token.start not in taken)


def _denies(word: str) -> bool:
    return word in _NEGATORS or word.endswith("n't")
