"""Guards over wording: the same sentence but for a word or two, and words that only one has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from slowwave.consolidation import thresholds
from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import Reading, cached_per_text

from .objections import Objection

# The fewest letters of a word that may be short for another.
_SHORTENED = 3
_PASSIVE = frozenset({"by", "was", "were"})


def other_term(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same sentence but for a word or two: "the company cars" against "the vans"."""
    # With other little words next to it, the verb may be another one for the same.
    fits = len(left.stems) == len(right.stems) and left.telling == right.telling
    shared = _in_both(left.stems, right.stems) if fits else None
    if shared is None:
        return
    start, end = shared
    here, there = left.stems[start : len(left.stems) - end], right.stems[start : -end or None]
    enough = start + end >= (1 if len(here) == 1 else thresholds.MOST_OTHER_WORDS + 1)
    if (
        0 < len(here) <= thresholds.MOST_OTHER_WORDS
        and enough
        and not _denied_otherwise(left, right, (here[0], there[0]))
    ):
        one, other = " ".join(left.spelled(here)), " ".join(right.spelled(there))
        doubtful = len(here) > 1 or _misspelt(here[0], there[0]) or _are_verbs(one, other)
        yield Objection("term", one, other, doubtful=doubtful)


def qualified(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find the same sentence but for one word more: "API access" against "API write access"."""
    if abs(len(left.stems) - len(right.stems)) != 1:
        return
    fewer, more = sorted((left.stems, right.stems), key=len)
    if len(fewer) <= thresholds.MOST_OTHER_WORDS:
        return
    start, end = _in_both(left.stems, right.stems) or (0, 0)
    if start + end == len(fewer) and start and end:
        here, there = (
            ", ".join(one.spelled(more[start : start + 1])) if one.stems == more else ""
            for one in (left, right)
        )
        yield Objection("qualifier", here, there, doubtful=True)


def _in_both(left: Sequence[str], right: Sequence[str]) -> tuple[int, int] | None:
    """Return how many words two have in common at the start, and then at the end."""
    most = min(len(left), len(right))
    start = next((at for at in range(most) if left[at] != right[at]), most)
    ends = range(1, most - start + 1)
    end = next((at - 1 for at in ends if left[-at] != right[-at]), most - start)
    return None if start == len(left) == len(right) else (start, end)


def _are_verbs(one: str, other: str) -> bool:
    """Whether two words are verbs by their endings: "starting" may be "launching"."""
    return any(one.endswith(ending) and other.endswith(ending) for ending in ("ing", "ed"))


def _misspelt(one: str, other: str) -> bool:
    """Whether one may be the other with a slip of the pen, or short for it: "rec", "recreation"."""
    if min(len(one), len(other)) >= _SHORTENED and (one.startswith(other) or other.startswith(one)):
        return True
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= thresholds.MISSPELT


def _denied_otherwise(left: Reading, right: Reading, words: tuple[str, str]) -> bool:
    """Whether one word differs because one says "do not use" and the other "avoid"."""
    if bool(left.negators) == bool(right.negators):
        return False
    denying, saying = (left, right) if left.negators else (right, left)
    denied, said = words if left.negators else words[::-1]
    reversed_by_prefix = said in {f"{prefix}{denied}" for prefix in lexicon.REVERSING}
    return reversed_by_prefix or (not denying.denials and bool(saying.denials))


def wording(left: Reading, right: Reading) -> Iterator[Objection]:
    """Words that only one of them has: a qualifier, or another way to say it.

    Without a model the two cannot be told apart, so a merge is left to those who can.
    """
    spare = _spare(left, right) if left.telling != right.telling else frozenset()
    here = [
        *left.spelled(_only_in(left.stems, right.stem_set)),
        *sorted(left.telling - right.telling - spare),
    ]
    there = [
        *right.spelled(_only_in(right.stems, left.stem_set)),
        *sorted(right.telling - left.telling - spare),
    ]
    if here or there:
        # All content words alike and others not: "rose by half" against "rose to half".
        turned = bool(here and there) and left.stem_set == right.stem_set
        yield Objection(
            "wording", ", ".join(here), ", ".join(there), conflict=turned, doubtful=True
        )


def _spare(left: Reading, right: Reading) -> frozenset[str]:
    """Return the words that make a passive of an active, or "the boat of Ann" of "Ann's boat"."""
    spare = _PASSIVE if left.passive != right.passive else frozenset()
    owning, of = zip(*map(_owning_and_of, (left, right)), strict=True)
    turned = owning[0] + of[0] == owning[1] + of[1] and owning != of
    return spare | {"of"} if turned and owning[0] != owning[1] else spare


@cached_per_text
def _owning_and_of(reading: Reading) -> tuple[int, int]:
    """Count the owners that end in "'s", and those behind "of"."""
    return (
        sum(token.possessive for token in reading.tokens),
        sum(token.lower == "of" for token in reading.tokens),
    )


def _only_in(words: Sequence[str], others: frozenset[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word not in others]
