"""What a text says, as the search for old and new values keeps it from night to night.

Reading a sentence takes a thousand times as long as looking at what was read. So what most pairs
of sentences are told apart by is kept in a short form, and the text is read again only where two
of them may well give one thing two values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from slowwave.consolidation.text import units
from slowwave.consolidation.text.dates import DATE_MARK, current_part

from .attributes import changed_by
from .frames import Frame, Key, frames_of
from .slots import stemmed
from .subjects import COUNTING

# How many texts are kept as they were read: a pair's sentences are mostly in other pairs as well.
_FRAMES = 8_192

# One letter each for how a sentence says it. It tells of how things are, or of a change ...
WAS = "o"
# ... and of what may be so now and was not before.
NEWS = "n"
REPORTED = "r"
ADDS = "a"
CUED = "c"
# It may say so in words alone, without another value or name.
IN_WORDS = "w"
# It may name what has ended.
GIVES_UP = "g"
OF_USER = "u"
# The value is money.
PRICED = "p"

_MARKS: Mapping[str, Callable[[Frame], bool]] = {
    WAS: lambda frame: frame.state or frame.cued,
    NEWS: lambda frame: frame.news,
    REPORTED: lambda frame: frame.reported,
    ADDS: lambda frame: frame.adds,
    CUED: lambda frame: frame.cued,
    IN_WORDS: lambda frame: frame.turned or frame.ends or bool(frame.ended),
    GIVES_UP: lambda frame: bool(frame.given_up or frame.leaving),
    OF_USER: lambda frame: frame.of_user,
    PRICED: lambda frame: any(
        value.measure[1] in units.CURRENCIES for value in frame.values.values()
    ),
}


class SentenceFeatures(Struct, frozen=True, array_like=True, gc=False):
    """One sentence: what it is about, what it says of it, and how."""

    topic_terms: frozenset[str]
    names: frozenset[str]
    # The names' stems, which take longer to find than all else to read.
    name_stems: frozenset[str]
    values: frozenset[Key]
    # The verbs of change in it.
    verbs: frozenset[str]
    # Those of the letters above that hold.
    marks: str

    @property
    def implied(self) -> frozenset[str]:
        """The attributes of which it says that their value changed."""
        return frozenset().union(*map(changed_by, self.verbs))

    @property
    def leads(self) -> frozenset[str]:
        """What leads to another sentence about the same thing.

        Where a name stands, also what is said of it together with it: neither may be rare.
        """
        whose = ["user"] * (OF_USER in self.marks) + [*self.name_stems]
        attributes = [one for one in (*self.topic_terms, *self.implied) if one[0] == "="]
        if not whose or not attributes:
            return self.topic_terms  # as it is: most sentences are such
        return self.topic_terms.union(f"{name}{one}" for name in whose for one in attributes)

    @property
    def core(self) -> frozenset[str]:
        """What it is about, but for the words that may be left out of account, or be the value."""
        return self.topic_terms - self.name_stems - COUNTING

    def holds(self, keys: Iterable[Key]) -> bool:
        """Whether these values stand in it."""
        return all(
            key in self.values
            or (key[0] in ("name", "word") and (key[1] in self.topic_terms or key[1] in self.names))
            for key in keys
        )


def sentence_features(content: str) -> tuple[SentenceFeatures, ...]:
    """Return what a memory's text says of today, sentence by sentence."""
    return tuple(map(_features, frames_in(content)))


@lru_cache(maxsize=_FRAMES)
def frames_in(content: str) -> tuple[Frame, ...]:
    """Return the same, read in full."""
    return tuple(frames_of(DATE_MARK.sub("", current_part(content))))


def _features(frame: Frame) -> SentenceFeatures:
    return SentenceFeatures(
        frame.topic_terms,
        frozenset(frame.names),
        stemmed(frame.names),
        frozenset(frame.values),
        frozenset(token.bare for token in frame.reading.tokens if changed_by(token.bare)),
        "".join(mark for mark, holds in _MARKS.items() if holds(frame)),
    )
