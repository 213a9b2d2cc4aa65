"""A second opinion on what words alone cannot tell.

Is a claim said by what it cites? It is asked of whatever is not word for word, about the claim and
the texts that it cites alone. It may clear a plain word, but only by naming words that stand on the
other side; never a fault of another kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.verification.content_words import (
    is_verbatim,
    without_days,
    words_beyond,
)
from slowwave.consolidation.verification.faults import Fault
from slowwave.consolidation.writing.verifier import Verifier

from .answer_forms import StatedOpinion
from .prompts import EndedText, Item, SentenceToJudge
from .suggestion import Suggestion


@dataclass(frozen=True)
class Doubt:
    """What an opinion is asked about, and the fault that stands unless it clears it."""

    item: Item
    fault: Fault
    # Whether it is no fault of the group, but keeps a memory from leaving for a rule.
    is_of_a_voice: bool = False


def doubts_of(suggestion: Suggestion, faults: Sequence[Fault]) -> list[Doubt]:
    """Return what is to be asked about a draft that has soft faults, or none."""
    operation = suggestion.proposal.operation
    if operation == "update":
        return list(_endings(suggestion))
    losses = _voices(suggestion) if operation == "extract" else _losses(suggestion, faults)
    return [*_claims(suggestion, faults), *losses]


def faults_after_opinions(
    doubts: Sequence[Doubt], opinions: Sequence[StatedOpinion], verifier: Verifier
) -> tuple[list[Fault], list[str]]:
    """Return the faults that stand after the opinions, and the voices that restate a rule.

    opinions: each with the number of a doubt, from 1. Where other words are to say the same, a
    network must not find that out of the question.
    """
    objections = objections_to([one.item for one in doubts], opinions)
    faults, restating = [], []
    for doubt, objection in zip(doubts, objections, strict=True):
        item, fault = doubt.item, doubt.fault
        if objection is None and isinstance(item, SentenceToJudge) and item.words:
            is_possible = verifier.may_entail(item.by, item.said)
            objection = None if is_possible else "it is out of the question"
        if doubt.is_of_a_voice:
            restating += [fault.source] if objection is None and fault.source else []
        elif objection is not None:
            faults.append(Fault(f"{fault.why} ({objection})", fault.claim, fault.source))
    return faults, restating


def objections_to(items: Sequence[Item], opinions: Sequence[StatedOpinion]) -> list[str | None]:
    """Return why the opinions do not clear each of some items; None where they do.

    opinions: each with the number of an item, from 1.
    """
    by_number = {one.n: one for one in opinions}
    return [_objection(item, by_number.get(number)) for number, item in enumerate(items, start=1)]


def _voices(suggestion: Suggestion) -> Iterator[Doubt]:
    rule = (without_days(suggestion.proposal.draft.text),)
    for source in suggestion.sources:
        if source.id in suggestion.voices:
            said = without_days(source.text)
            item = SentenceToJudge(said, rule, words_beyond(said, rule))
            yield Doubt(item, Fault(f"says more: {said}", source=source.id), is_of_a_voice=True)


def _claims(suggestion: Suggestion, faults: Sequence[Fault]) -> Iterator[Doubt]:
    texts = {source.id: without_days(source.text) for source in suggestion.sources}
    for at, claim in enumerate(suggestion.proposal.draft.claims):
        cited = tuple(texts[one] for one in claim.sources)
        if not is_verbatim(claim.text, cited):
            said = without_days(claim.text)
            why = f"says what its sources do not: {claim.text}"
            fault = next((one for one in faults if one.claim == at), Fault(why, at))
            yield Doubt(SentenceToJudge(said, cited, words_beyond(said, cited)), fault)


def _losses(suggestion: Suggestion, faults: Sequence[Fault]) -> Iterator[Doubt]:
    """Ask of the sentences of the sources that have a word which the draft has not, each once."""
    whole = (without_days(suggestion.proposal.draft.text),)
    soft = {one.source for one in faults if one.claim is None}
    asked: set[str] = set()
    for source in suggestion.sources:
        for sentence in read(without_days(source.text)).sentences:
            words = words_beyond(sentence, whole)
            is_open = words or source.id in soft
            if is_open and sentence not in asked and not is_verbatim(sentence, whole):
                asked.add(sentence)
                fault = Fault(f"leaves something out of: {sentence}", source=source.id)
                yield Doubt(SentenceToJudge(sentence, whole, words), fault)


def _endings(suggestion: Suggestion) -> Iterator[Doubt]:
    """Find which earlier memories no longer hold."""
    newest = suggestion.proposal.draft.claims[0].sources
    now = tuple(one.text for one in suggestion.sources if one.id in newest)
    for source in suggestion.sources:
        if source.id not in newest:
            why = f"is not replaced by a newer value: {source.text}"
            yield Doubt(EndedText(source.text, now), Fault(why, source=source.id))


def _objection(item: Item, opinion: StatedOpinion | None) -> str | None:
    """Return why an opinion clears nothing; None if it does."""
    if opinion is None:
        return "that was not confirmed: it may be said as it is, or nearer to its sources"
    if not opinion.told:
        return "so says a second opinion"
    if isinstance(item, EndedText):
        return None
    by = " ".join(item.by)
    means = {one.word.casefold(): one.means for one in opinion.words}
    for word in item.words:
        named = means.get(word.casefold(), "")
        if named and not _has(by, named):
            return f"'{named}', which is to stand for '{word}', is not there"
        if not named and word.casefold() not in lexicon.ANNOUNCING:
            return f"nothing stands for '{word}'"
    return None


def _has(text: str, words: str) -> bool:
    """Whether all of some words stand in a text, in any form."""
    if words.casefold() in text.casefold():
        return True
    asked = read(words).stem_set
    return bool(asked) and asked <= read(text).stem_set
