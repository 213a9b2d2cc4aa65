"""What a text demands: its sentences that say what ought to be, and how they turn it.

What is left of "Never commit without asking", "Ask before committing" and "A commit needs the
user's ok" once the words that only demand are gone is one demand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from . import lexicon
from .case_folding import fold_case
from .dates import DATE_MARK
from .lexicon import word_set
from .reading import Reading, read
from .tokens import stem


@lru_cache(maxsize=1)
def _of_demanding() -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of who consents, and of what only frames a demand.

    When first asked for: stems need a dictionary that takes a moment to load.
    """
    framing = lexicon.NORMATIVE | lexicon.DENIALS | lexicon.NEGATORS | lexicon.ANNOUNCING
    consenting, frame = (frozenset(map(stem, words)) for words in (_CONSENTING, _FRAMING | framing))
    return consenting, frame


# A text without any of these, in small letters, demands nothing, whatever else it says.
_MAY_DEMAND = re.compile(
    r"\b(?:must|should|shall|ought|always|never|not?|nothing|nobody|without|unless|only|first|"
    r"needs?|ha(?:s|ve) to|requires?|required|(?:is|are) to be|wants?|asks?|asked|insist\w*|"
    r"allowed|permitted|please|avoid\w*|forb\w+|prohibit\w+|keep|leave)\b|n['\u2019]t\b|\u2192|->"
)
# These demand it, and do not only tell of it.
_DEMANDS = re.compile(
    r"\b(?:must|should|shall|ought|always|never|avoid|forbidden|prohibited|mandatory|required|"
    r"do not|don't|ha(?:s|ve) to|(?:is|are) (?:not )?to be|(?:only|not) allowed|allowed only|"
    r"may (?:only|not)|under no circumstances|user (?:wants|does not want))\b|"
    r"(?:^|: |\bsa(?:id|ys) )no(?:thing)?\b|"
    r"\bno\b.*\bwithout\b|(?:^|\u2192 |-> )ask\b|\bneeds?\b",
    re.IGNORECASE,
)
# These free from a demand.
_RELEASES = re.compile(
    r"\b(?:no|not|never)\b[^.;]*\b(?:needed|necessary|required|need|ha(?:s|ve) to)\b|"
    r"\bneed not\b|\bdo(?:es)? not must\b",
    re.IGNORECASE,
)
# Who asks and who agrees is one demand, whichever side it is told from.
_CONSENT = "consent"
_CONSENTING = word_set(
    "ask approve approval confirm confirmation permission consent ok okay agree agreement yes"
)
# Verbs that stand for the noun behind them, and words of how a demand was voiced.
_FRAMING = word_set(
    "make do happen take have give get put let keep beforehand first ever again advance prior "
    "annoyed upset cross angry unhappy complained repeated reminded insisted asked wants want "
    "whenever unless circumstances allow allowed need require explicit"
)
# Each of these turns what is demanded round: "never X without Y" demands Y.
_TURNING = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|avoid\w*|forbid\w*|prohibit\w*|without|unless|until|"
    r"reject\w*|refuse\w*|off limits|lacks?|lacking|another\b[^.;]*\bthan)\b",
    re.IGNORECASE,
)
EXCEPTING = re.compile(r"\b(?:except\w*|only|apart|but|other than|even)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Demand:
    """A text as what it demands."""

    text: str

    @cached_property
    def whole(self) -> Reading:
        """All that it says."""
        return read(DATE_MARK.sub("", self.text))

    @cached_property
    def core(self) -> Reading:
        """The sentences that demand; all of it if none does plainly."""
        plain = [one for one in self.whole.sentences if _is_plain(read(one))]
        return read(" ".join(plain)) if plain else self.whole

    @cached_property
    def plain(self) -> bool:
        """Whether a sentence of it demands something, and does not only tell of it."""
        return any(_is_plain(read(one)) for one in self.whole.sentences)

    @cached_property
    def words(self) -> frozenset[str]:
        """The content words of the demand."""
        return demanded_words(self.core)

    @cached_property
    def turned(self) -> bool:
        """Whether it forbids what its words say."""
        return len(_TURNING.findall(self.core.said)) % 2 == 1


@lru_cache(maxsize=4_096)
def demand_of(text: str) -> Demand:
    """Return what a text demands, computed once for each text."""
    return Demand(text)


def may_demand(text: str) -> bool:
    """Whether a text may say what ought to be."""
    # All texts of a file are asked: a pattern that takes notice of capitals is three times as fast.
    return _MAY_DEMAND.search(fold_case(text)) is not None


def _is_plain(reading: Reading) -> bool:
    demands = reading.normative or _DEMANDS.search(reading.said) is not None
    # A question demands an answer, and nothing else.
    demands = demands and "?" not in reading.text
    return demands and not _RELEASES.search(reading.said)


def is_order(reading: Reading) -> bool:
    """Whether it demands in so many words: it opens with an imperative, or says "must"."""
    imperative = reading.normative and reading.words.isdisjoint(lexicon.NORMATIVE)
    demands = imperative or _DEMANDS.search(reading.said) is not None
    return demands and _is_plain(reading)


def demanded_words(reading: Reading) -> frozenset[str]:
    """Return the content words that say what is demanded, those of consent as one."""
    return frozenset(map(unify_consent, reading.stem_set)) - _of_demanding()[1]


def unify_consent(word: str) -> str:
    """Return a word, or what stands for all words of consent."""
    return _CONSENT if word in _of_demanding()[0] else word


def is_framing(word: str) -> bool:
    """Whether a word only says that something is demanded."""
    return word in _of_demanding()[1]
