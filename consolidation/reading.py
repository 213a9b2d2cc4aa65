"""What one text says that must not be confused: its words, values, names, negations, roles.

Everything is computed from the text alone, by rules, at some thousand texts a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise

from . import lexicon
from .order import in_active_order, is_passive_by, is_thing
from .tokens import Token, is_content, stem, tokenise
from .values import Value, covered, find_values

# A sentence ends at its mark, with the quote or bracket behind it, before a capital; or at a line.
_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'”)]))\s+(?=[\"'“(\[`]?[A-Z0-9])|\s*\n+\s*")
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|Dr|Mr|Mrs|Ms|St|No|approx|a\.m|p\.m)\.$", re.I)
# How many words after "not" its content word may stand: "not be in need of".
_REACH = 5
_VERB = re.compile(r"[a-z]{2,}(?:s|ed|t|ught|ent|ew|ave|ook)")
_MEASURES = frozenset({"number", "time", "date", "rate"})
_MODALS = frozenset({"has", "had", "will", "and", "can"})
_NO_NAMES = (
    lexicon.FUNCTION
    | lexicon.ANNOUNCING
    | lexicon.NEGATORS
    | lexicon.QUALIFYING
    | lexicon.WEEKDAYS
    | lexicon.NUMBER_WORDS.keys()
    | {f"{day}s" for day in lexicon.WEEKDAYS}
    | set(lexicon.MONTHS)
    | lexicon.UNITS.keys()
)


@dataclass(frozen=True)
class Reading:
    """One text, read."""

    text: str

    @cached_property
    def stated(self) -> tuple[Value, ...]:
        """Numbers with their units, dates, times, versions, identifiers, paths, hosts, quotes.

        In the order of the text, as often as they stand there.
        """
        return tuple(find_values(self.text, self.tokens))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The same, each once, sorted."""
        return tuple(sorted(set(self.stated)))

    @cached_property
    def value_keys(self) -> frozenset[tuple[str, str]]:
        """The values as what they are compared by."""
        return frozenset(value.key for value in self.values)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The words in order."""
        return tuple(tokenise(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words in lower case, without possessive endings."""
        return frozenset(token.bare for token in self.tokens)

    def holds(self, value: Value) -> bool:
        """Whether a value stands here, in this spelling or another."""
        return value.key in self.value_keys or value.stands_in(self.text.lower())

    def mentions(self, name: str) -> bool:
        """Whether a name, in lower case, is among the words."""
        return name in self.words or stem(name) in self.stem_set

    @cached_property
    def measures(self) -> tuple[Value, ...]:
        """The numbers, times and dates in the order of the text."""
        return tuple(value for value in self.stated if value.kind in _MEASURES)

    @cached_property
    def plain(self) -> tuple[Token, ...]:
        """The words without those of numbers, times and dates, which are compared as values."""
        taken = covered(self.measures)
        return tuple(token for token in self.tokens if token.start not in taken)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stems of the content words, in order."""
        return tuple(stem(token.bare) for token in self.plain if is_content(token.bare))

    @cached_property
    def stem_set(self) -> frozenset[str]:
        """The stems of the content words."""
        return frozenset(self.stems)

    @cached_property
    def compounds(self) -> frozenset[str]:
        """The words with hyphens, in lower case: names of services as often as English."""
        return frozenset(token.bare for token in self.plain if "-" in token.bare)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words that are names by their capitals, in lower case, in order."""
        return tuple(_names(self.tokens))

    @cached_property
    def persons(self) -> frozenset[str]:
        """The names that may be people's: plain capitalised words, not behind a number.

        Of names that stand side by side ("Aunt Beatrix") only the last counts.
        """
        named = set(self.names)
        found = set()
        for before, token, after in _with_neighbours(self.tokens):
            plain = _is_plain_name(token)
            joined = after is not None and after.capitalised and after.bare in named
            numbered = before is not None and before.text[0].isdigit()
            if plain and token.bare in named and not joined and not numbered:
                found.add(token.bare)
        return frozenset(found)

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
                behind = self.tokens[index + 1 : index + 1 + _REACH]
                content = (stem(later.bare) for later in behind if is_content(later.bare))
                heads.update(islice(content, 1))
        return frozenset(heads)

    @cached_property
    def flow(self) -> tuple[str, ...]:
        """The stems of the content words and the values, from who acts to what it is done to.

        With the user among them, who may act too. Of "In staging, the api is called by the
        worker twice": worker, call, api, 2, staging.
        """
        measures = {value.start: value.norm for value in self.measures}
        plain = set(self.plain)
        found = []
        for token in in_active_order(self.tokens):
            if token.start in measures:
                found.append(measures[token.start])
            elif token in plain and is_thing(token):
                found.append(stem(token.bare))
        return tuple(found)

    @cached_property
    def actors(self) -> tuple[str, ...]:
        """The same without the values."""
        measures = {value.norm for value in self.measures}
        return tuple(item for item in self.flow if item not in measures)

    @cached_property
    def passive(self) -> bool:
        """Whether it says by whom something was done, as in "was bought by"."""
        return any(is_passive_by(self.tokens, index) for index in range(len(self.tokens)))

    @cached_property
    def telling(self) -> frozenset[str]:
        """The function words that say something: "only", "all", "to", "must", "was"."""
        endings = {token.lower.partition("'")[2] for token in self.tokens}
        written_out = {lexicon.CONTRACTED[end] for end in endings & lexicon.CONTRACTED.keys()}
        return (self.words | written_out) & (lexicon.FUNCTION - lexicon.EMPTY)

    @cached_property
    def owners(self) -> dict[str, frozenset[str]]:
        """The stem of a thing to whom it belongs: "Ann's dog", "the dog of Ann"."""
        found: dict[str, set[str]] = {}
        for index, token in enumerate(self.tokens):
            if token.bare not in self.names and token.bare != "user":
                continue
            if token.possessive:
                things = self.tokens[index + 1 : index + 2]
            else:
                near = self.tokens[max(0, index - 3) : index]
                before = tuple(one for one in near if one.lower != "the")
                things = before[-2:-1] if before and before[-1].lower == "of" else ()
            for thing in things:
                found.setdefault(stem(thing.lower), set()).add(token.bare)
        return {thing: frozenset(owners) for thing, owners in found.items()}

    @cached_property
    def denials(self) -> tuple[str, ...]:
        """The words that deny by their meaning."""
        return tuple(token.text for token in self.tokens if token.lower in lexicon.DENIALS)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, as they stand."""
        return tuple(_sentences(self.text))

    @cached_property
    def normative(self) -> bool:
        """Whether it says what ought to be, not what is."""
        return _is_normative(self.tokens)

    @cached_property
    def deictic(self) -> bool:
        """Whether a word in it means something else on another day."""
        lowers = [token.lower for token in self.tokens]
        return any(word in lexicon.DEICTIC for word in lowers) or any(
            first in lexicon.DEICTIC_BEFORE and second in lexicon.CALENDAR
            for first, second in pairwise(lowers)
        )


@lru_cache(maxsize=65_536)
def read(text: str) -> Reading:
    """Read a text; the same text is read once."""
    return Reading(text)


def _denies(word: str) -> bool:
    return word in lexicon.NEGATORS or word.endswith("n't")


def _sentences(text: str) -> list[str]:
    sentences: list[str] = []
    for part in filter(None, _SENTENCE_END.split(text.strip())):
        if sentences and _ABBREVIATED.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {part}"
        else:
            sentences.append(part)
    return sentences


def _names(tokens: tuple[Token, ...]) -> list[str]:
    return [
        token.bare
        for index, token in enumerate(tokens)
        if token.capitalised
        and token.bare not in _NO_NAMES
        and not token.bare.startswith("i'")
        and (not token.starts_sentence or _opens_as_name(tokens, index))
    ]


def _is_plain_name(token: Token) -> bool:
    """Whether it is written as people's names are: "Zoë", "Anne-Marie", "O'Brien"."""
    word = token.text[: len(token.bare)]
    return len(word) > 1 and word.istitle() and not any(map(str.isdigit, word))


def _with_neighbours(
    tokens: tuple[Token, ...],
) -> Iterator[tuple[Token | None, Token, Token | None]]:
    return zip((None, *tokens), tokens, (*tokens[1:], None), strict=False)


def _opens_as_name(tokens: tuple[Token, ...], index: int) -> bool:
    """Tell a name at the head of a sentence from a word that is capitalised for standing there.

    It is a name if it is possessive, or another capitalised word follows, or a verb does that
    something follows in turn which can stand after a verb.
    """
    token = tokens[index]
    if token.lower in lexicon.IMPERATIVES or token.lower in lexicon.NORMATIVE:
        return False
    if token.text[1:].isupper() or token.possessive:
        return True
    after, third = (*tokens[index + 1 : index + 3], None, None)[:2]
    if after is None or after.starts_sentence:
        return False
    if after.capitalised and after.bare not in _NO_NAMES:
        return True
    if after.lower in lexicon.AUXILIARIES or after.lower in _MODALS:
        return not token.lower.endswith("s")
    if third is None or not _VERB.fullmatch(after.lower):
        return False
    return third.lower in lexicon.FUNCTION or third.capitalised or third.text[0].isdigit()


def _is_normative(tokens: tuple[Token, ...]) -> bool:
    lowers = [token.lower for token in tokens]
    if any(word in lexicon.NORMATIVE for word in lowers):
        return True
    return any(token.starts_sentence and token.lower in lexicon.IMPERATIVES for token in tokens)
