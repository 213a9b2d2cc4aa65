"""Which words of a draft stand in no source that it cites, and which of a source in no claim.

Other words may say the same: a fault here is soft, for a second opinion to clear. What a value, a
name, a denial or a role says is looked at in verify.py. Of 32 small lies that were put into honest
drafts of a model this rule alone caught 30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slowwave.consolidation.comparison.mood import moods_of
from slowwave.consolidation.proposals import Claim, Draft, Operation, Source
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.statements import word_set
from slowwave.consolidation.text.tokens import stems_of

from .faults import Fault

_ENDS = ".!?"
# What says that something is so of all, or at all times.
_WHOLE = word_set("all every each always everyone everybody everything both")


def find_word_faults(
    draft: Draft, sources: Sequence[Source], operation: Operation
) -> Iterator[Fault]:
    """Give what is said, or no longer said, in words that the other side has not.

    Of a rule its voices may say more than it does.
    """
    texts = {source.id: bare(source.text) for source in sources}
    for at, claim in enumerate(draft.claims):
        yield from _new(at, claim, texts)
    if operation != "extract":
        for source in sources:
            yield from _lost(source.id, texts[source.id], draft)


def is_verbatim(text: str, others: Sequence[str]) -> bool:
    """Whether one of some texts has a text word for word."""
    return any(bare(text).rstrip(_ENDS) in bare(other) for other in others)


def bare(text: str) -> str:
    """Give a text without the days on which its sentences were said."""
    return DATE_MARK.sub("", text).strip()


def _new(at: int, claim: Claim, texts: Mapping[str, str]) -> Iterator[Fault]:
    cited = [texts[one] for one in claim.sources if one in texts]
    if is_verbatim(claim.text, cited):
        return
    said, known = read(bare(claim.text)), [read(one) for one in cited]
    for mark in sorted(_marks(said) - frozenset().union(*map(_marks, known))):
        yield Fault(f"says '{mark}' where no source that it cites does: {claim.text}", at)
    yield from _told(_beyond(said, known), "says what no source it cites has", claim.text, claim=at)


def _lost(source_id: str, text: str, draft: Draft) -> Iterator[Fault]:
    whole = bare(draft.text)
    said = read(whole)
    for sentence in read(text).sentences:
        if not is_verbatim(sentence, [whole]):
            reading = read(sentence)
            words = (*_beyond(reading, [said]), *sorted(_marks(reading) - _marks(said)))
            yield from _told(words, "leaves out", sentence, source=source_id)


def _told(
    words: Sequence[str], what: str, text: str, claim: int | None = None, source: str | None = None
) -> Iterator[Fault]:
    """Give the names among some words as faults of their own: nothing else stands for a name."""
    names = tuple(word for word in words if _is_name(word))
    plain = tuple(word for word in words if word not in names)
    for some, soft in ((names, False), (plain, True)):
        if some:
            listed = ", ".join(f"'{word}'" for word in some)
            yield Fault(f"{what}: {listed} (in: {text})", claim, source, soft, some)


def _beyond(reading: Reading, others: Sequence[Reading]) -> tuple[str, ...]:
    """Give the content words of a text whose stems none of the others has, as it spells them."""
    known = frozenset().union(*(one.stem_set for one in others))
    missing = reading.stem_set - known
    spelled = {
        part: token.text for token in reversed(reading.plain) for part in stems_of(token.bare)
    }
    found = dict.fromkeys(spelled.get(one, one) for one in reading.stems if one in missing)
    # "i.e." and "2 h" come as letters, which are no words.
    return tuple(word for word in found if len(word) > 1 or word.isupper())


def _marks(reading: Reading) -> frozenset[str]:
    """Give what makes a statement one of all or some, a plan, a duty, a condition, an exception."""
    whole = {"all"} if reading.words & _WHOLE else set()
    return moods_of(reading) | whole


def _is_name(word: str) -> bool:
    """Whether a word is a name, as far as its capital and a dictionary of English tell."""
    import simplemma

    return word[:1].isupper() and not simplemma.is_known(word.lower(), "en")
