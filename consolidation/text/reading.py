"""What one text says that must not be confused: its words, values, names, negations.

Everything is computed from the text alone, by rules, at some thousand texts a second.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise

from . import lexicon
from .announcing import without_announcements
from .bare_units import find_bare_units
from .literals import Literal, around_literals, blank_literals, find_literals
from .names import find_names
from .normalise import normalise
from .sentences import split_sentences
from .tokens import Token, stem, stems_of, tokenise
from .values import Value, covered, find_values

# How many words after "not" its content word may stand: "not be in need of".
_REACH = 5
# What compares, computes, points, grades or shows: no letter, digit, quote or punctuation. A "!"
# before a word denies it, a "-" behind one grades it; units and money are read as values.
_SIGN = re.compile(
    r"->|<-|[<>=]=?|!=|!(?=\w)|(?<=\w)-(?=[\s.,;]|$)|&&?|\|\|?|[+*^~#@\\]|\$(?!\d)|(?<=\s)/(?=\s)|"
    r"(?<=\s)-(?=\s)|[^\w\s\x00-\x7f°€£\u2010-\u201f\u2026]|[\u00bc-\u00be\u00b2\u00b3\u00b9]"
)
# Units that mean something else with another capital.
_UNIT_BY_CASE = re.compile(r"(?<=\d)\s?([kKMGT]i?[bB](?:/s|ps)?|[mM][Wg])\b")
# What is meant to the letter.
_SPELLED = frozenset({"identifier", "path", "url", "quoted"})
# "ABC-12" and "abc-12" are one ticket.
_NUMBERED = re.compile(r"[^\W\d_]+-\d+")
_MARKS = "`\"'\u201c\u201d .,;:!?"
_MEASURES = frozenset({"number", "time", "date", "rate"})


@dataclass(frozen=True)
class Reading:
    """One text, read."""

    text: str

    @cached_property
    def said(self) -> str:
        """The text with its contractions, abbreviations and spellings brought to one form."""
        return normalise(self.text)

    @cached_property
    def bare(self) -> str:
        """The text without what announces its statements, in its own spelling."""
        return around_literals(self.text, without_announcements)

    @cached_property
    def announced(self) -> bool:
        """Whether something announces its statements: "User said that", "Note:"."""
        return len(self.bare) < len(self.text)

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """What is meant to the letter, in the order of `bare`."""
        return find_literals(self.bare)

    @cached_property
    def literal_contents(self) -> dict[str, None]:
        """What the literals are compared by, each once, in their order."""
        return dict.fromkeys(one.content for one in self.literals)

    @cached_property
    def unmarked(self) -> str:
        """The text without the literals that are marked."""
        return blank_literals(self.bare, (one for one in self.literals if one.marked))

    @cached_property
    def stated(self) -> tuple[Value, ...]:
        """Numbers with their units, dates, times, versions, identifiers, paths, hosts, quotes.

        In the order of the text, as often as they stand there.
        """
        return tuple(find_values(self.said, self.tokens))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The same, each once, sorted."""
        return tuple(sorted(set(self.stated)))

    @cached_property
    def value_keys(self) -> frozenset[tuple[str, str]]:
        """The values as what they are compared by."""
        return frozenset(value.key for value in self.values)

    @cached_property
    def bare_units(self) -> frozenset[tuple[str, str]]:
        """The units that stand without a number, each with what it measures."""
        return find_bare_units(self.said, self.tokens, covered(self.stated), self.denied)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The words in order."""
        return tuple(tokenise(self.said))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words in lower case, without possessive endings."""
        return frozenset(token.bare for token in self.tokens)

    def holds(self, value: Value) -> bool:
        """Whether a value stands here, in this spelling or another."""
        return value.key in self.value_keys or value.stands_in(self._small)

    def mentions(self, name: str) -> bool:
        """Whether a name, in lower case, is among the words."""
        return name in self.words or stem(name) in self.stem_set

    def spelled(self, stems: Iterable[str]) -> list[str]:
        """Return stems as words that stand here, for people to read."""
        return [self._forms.get(one, one) for one in stems]

    @cached_property
    def _small(self) -> str:
        return self.said.lower()

    @cached_property
    def _forms(self) -> dict[str, str]:
        """The first word of each stem."""
        return {stem(token.bare): token.bare for token in reversed(self.tokens)}

    @cached_property
    def measures(self) -> tuple[Value, ...]:
        """The numbers, times and dates in the order of the text."""
        return tuple(value for value in self.stated if value.kind in _MEASURES)

    @cached_property
    def plain(self) -> tuple[Token, ...]:
        """The words without those of numbers, times and dates, which are compared as values."""
        if not self.measures:
            return self.tokens
        taken = covered(self.measures)
        return tuple(token for token in self.tokens if token.start not in taken)

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
        """The signs that say something by themselves, as often as they occur."""
        return Counter(found.group().strip() for found in _SIGN.finditer(self.said))

    @cached_property
    def cased(self) -> dict[str, frozenset[str]]:
        """Each word whose capitals may be meaning by its lower case, as it is spelled.

        Codes and names with capitals inside; and words that are names with a capital, and say
        little without one ("ask Will"), where no sentence begins with them.
        """
        found: dict[str, set[str]] = {}
        for at, token in enumerate(self.tokens):
            word = token.text[: len(token.bare)]
            if word.isupper() and _NUMBERED.fullmatch(word):
                word = word.lower()
            humped = not (word.islower() or word.isupper())
            code = humped or (not word.isalpha() and any(map(str.isdigit, word)))
            little = token.bare in lexicon.FUNCTION
            if little and token.starts_sentence and not self._is_acronym(at):
                # Its capital is that of the sentence, or of a name.
                found.setdefault(token.bare, set()).update((token.bare, word))
                continue
            if little or (code and not (token.starts_sentence and word.istitle())):
                found.setdefault(token.bare, set()).add(word)
        for unit in _UNIT_BY_CASE.findall(self.said):
            found.setdefault(unit.lower(), set()).add(unit)
        for value in self.values:
            if value.kind in _SPELLED:
                found.setdefault(value.norm, set()).add(value.text.strip(_MARKS))
        return {word: frozenset(spelled) for word, spelled in found.items()}

    def _is_acronym(self, at: int) -> bool:
        """Whether a word is in capitals, and the next one is not: "IT is down", no "DO NOT"."""
        word, after = self.tokens[at].text, self.tokens[at + 1 : at + 2]
        return len(word) > 1 and word.isupper() and bool(after) and not after[0].text.isupper()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words that are names by their capitals, in lower case, in order."""
        return tuple(find_names(self.tokens))

    @cached_property
    def negators(self) -> tuple[str, ...]:
        """The words that deny, as they stand."""
        return tuple(token.text for token in self.tokens if _denies(token.lower))

    @cached_property
    def denied(self) -> frozenset[str]:
        """The stem of the content word that each denying word comes before."""
        heads: set[str] = set()
        for index, token in enumerate(self.tokens):
            if _denies(token.lower):
                behind = self._clause_behind(index)[:_REACH]
                content = (stems_of(later.bare) for later in behind if stems_of(later.bare))
                heads.update(*islice(content, 1))
        return frozenset(heads)

    def _clause_behind(self, index: int) -> tuple[Token, ...]:
        """Return the words behind one; none where a mark follows it: "No, trains run"."""
        behind = self.tokens[index + 1 :]
        mark = behind and self._between(self.tokens[index], behind[0]).strip()
        return () if mark else behind

    def _between(self, before: Token, after: Token) -> str:
        return self.said[before.end : after.start].strip("\"'`“”() ")

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, as they stand."""
        return tuple(split_sentences(self.text))

    @cached_property
    def deictic(self) -> bool:
        """Whether a word in it means something else on another day."""
        lowers = [token.lower for token in self.tokens]
        return any(word in lexicon.DEICTIC for word in lowers) or any(
            first in lexicon.DEICTIC_BEFORE and second in lexicon.CALENDAR
            for first, second in pairwise(lowers)
        )


@lru_cache(maxsize=16_384)
def read(text: str) -> Reading:
    """Read a text; the same text is read once."""
    return Reading(text)


def _denies(word: str) -> bool:
    return word in lexicon.NEGATORS or word.endswith("n't")
