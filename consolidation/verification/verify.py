"""Does a draft say what its sources say, all of it, and nothing else? Decided without a model.

Each content word of a claim stands in a source that it cites (`content_words.py`), and what
closed classes of words say does so, too (`closed_classes.py`, `stance.py`, `marks.py`). What a
claim joins is joined there (`joined_words.py`), who does what to whom is the same (`parties.py`,
`swapped_words.py`), and values and names agree both ways (`details.py`). A draft that does not
pass is not written to the file, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slowwave.consolidation.comparison.rivals import find_rivalry
from slowwave.consolidation.proposals import Claim, Draft, Operation, Source
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.injection import obeyed
from slowwave.consolidation.text.invisible import find_invisible
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.thresholds import DRAFT_SIMILARITY

from .alignment import Alignment, ClaimStatement
from .closed_classes import new_closed_words, singled_out
from .content_words import is_hard, new_words, turns, without_days
from .days import find_misdated
from .details import NAME, lost_details, may_be_no_name, missing_details
from .faults import Fault
from .joined_words import find_blended, find_other_addressees
from .parties import find_out_of_order, find_role_changes
from .rule_support import find_unsupported
from .stance import affirmed, denials_lost, denied_otherwise, moods_lost, on_whose_word
from .swapped_words import find_swapped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def find_faults(draft: Draft, sources: Sequence[Source], operation: Operation) -> list[Fault]:
    """Return what is wrong with a draft; nothing if it may be written.

    Checks that each claim cites given sources only, that nothing in it is invented or moved to
    where it is not true, that a synthesis loses nothing, that a rule has its supporters, that no
    order in a source is taken for a fact, and that the draft is not longer than what it stands for.
    What is found in a claim hangs on that claim and on what it cites alone.
    """
    known = {source.id: source for source in sources}
    faults = list(_structure(draft, known))
    if faults:
        return faults
    alignment = _aligned(draft, sources)
    faults += _said_by_none(draft, known, alignment)
    if operation == "extract":
        faults += [Fault(why, claim=0) for why in find_unsupported(draft, known, alignment)]
    else:
        faults += _lost(draft, sources, alignment)
    faults += _obeyed(alignment)
    if len(DATE_MARK.sub("", draft.text)) > sum(len(source.text) + 2 for source in sources):
        faults.append(Fault("the draft is longer than its sources together"))
    return list(dict.fromkeys(faults))


def find_invented(draft: Draft, sources: Sequence[Source]) -> list[Fault]:
    """Return what a draft says that its sources do not; it may leave out what it likes.

    Of what a conversation is remembered by: the rest of it stays where it is. What hangs on how
    its words were taken apart is soft: who sees whole messages reads that better.
    """
    known = {source.id: source for source in sources}
    faults = list(_structure(draft, known))
    if faults:
        return faults
    alignment = _aligned(draft, sources)
    faults += [*_said_by_none(draft, known, alignment), *_obeyed(alignment)]
    return [replace(one, soft=one.soft or one.is_guess) for one in dict.fromkeys(faults)]


def find_distance(
    draft_vector: NDArray[np.float32],
    sources: Sequence[Source],
    operation: Operation = "synthesize",
) -> list[Fault]:
    """Return the fault of a draft that is too far from one of its sources, if there is one.

    draft_vector: float32, shape (d,), unit length, of the same model as the sources' vectors. The
    voices of a rule are found by what they demand and may lie far apart: one of them must be near.
    """
    found = [float(source.vector @ draft_vector) for source in sources]
    nearness, whom = (max(found), "any") if operation == "extract" else (min(found), "one")
    if nearness >= DRAFT_SIMILARITY:
        return []
    return [Fault(f"the draft has a similarity of only {nearness:.2f} to {whom} of its sources")]


def find_loss(staying: str, leaving: Sequence[str]) -> list[str]:
    """Return what would be lost if `staying` stood for the texts in `leaving` too."""
    faults = []
    for text in leaving:
        rivalry = find_rivalry(read(staying), read(text))
        if rivalry is not None:
            faults.append(f"the two differ in a {rivalry.slot}: {' against '.join(rivalry.values)}")
        faults += [f"loses {one}" for one in lost_details(read(text), [read(staying)])]
    return faults


def _aligned(draft: Draft, sources: Sequence[Source]) -> Alignment:
    return Alignment(
        [(without_days(claim.text), claim.sources) for claim in draft.claims],
        {source.id: without_days(source.text) for source in sources},
    )


def _changed(alignment: Alignment) -> list[ClaimStatement]:
    return [one for one in alignment.statements if not one.word_for_word]


def _said_by_none(
    draft: Draft, known: Mapping[str, Source], alignment: Alignment
) -> Iterator[Fault]:
    """Find what claims say that no source cited for them does."""
    for at, claim in enumerate(draft.claims):
        cited = [known[one] for one in claim.sources]
        yield from _invented(claim, at, cited)
    for stated in _changed(alignment):
        yield from _new_words(alignment, stated)
        yield from _misjoined(stated)
        yield from (Fault(why, stated.claim) for why in _turned_or_denied(alignment, stated))


def _obeyed(alignment: Alignment) -> Iterator[Fault]:
    """Find what a draft tells as a fact although a source only orders to say so."""
    changed = [one.statement for one in _changed(alignment)]
    yield from (Fault(why) for why in obeyed(changed, alignment.sources))


def _structure(draft: Draft, known: Mapping[str, Source]) -> Iterator[Fault]:
    if not draft.claims or not all(claim.text.strip() for claim in draft.claims):
        yield Fault("the draft says nothing")
    for at, claim in enumerate(draft.claims):
        if not claim.sources:
            yield Fault(f"a claim cites no source: {claim.text}", claim=at)
        for cited in claim.sources:
            if cited not in known:
                yield Fault(f"a claim cites an id that was not given: {cited}", claim=at)
        said = [known[cited].text for cited in claim.sources if cited in known]
        if hidden := find_invisible(claim.text, said):
            yield Fault(f"a claim has a character that no reader sees: {hidden}", claim=at)


def _invented(claim: Claim, at: int, cited: Sequence[Source]) -> Iterator[Fault]:
    """Find the days, values and names of a claim that no source gives."""
    yield from (Fault(why, at) for why in find_misdated(claim, cited))
    # On what day a source was said may be part of the claim.
    days = [read(source.observed_at[:10]) for source in cited]
    readings = [read(without_days(source.text)) for source in cited]
    reading = read(without_days(claim.text))
    for invented in missing_details(reading, [*readings, *days]):
        is_guess = may_be_no_name(invented.removeprefix(NAME), reading)
        yield Fault(f"invents {invented}", at, is_guess=is_guess)


def _new_words(alignment: Alignment, stated: ClaimStatement) -> Iterator[Fault]:
    """Find the plain words that no source cited for a statement has."""
    found = new_words(stated, alignment.spare_in_sources(stated), alignment.known)
    for token in {one.text: one for one in found}.values():
        why = f"says '{token.text}', which no source that it cites says: {stated.statement.text}"
        is_guess = not turns(token, stated) and may_be_no_name(token.bare, stated.statement.reading)
        soft = not is_hard(token, stated)
        yield Fault(why, stated.claim, soft=soft, words=(token.text,), is_guess=is_guess)


def _misjoined(stated: ClaimStatement) -> Iterator[Fault]:
    """Find what a statement limits, joins or addresses as no source cited for it does."""
    said, at = stated.statement.text, stated.claim
    for word in new_closed_words(stated):
        yield Fault(f"says '{word}' where no source that it cites does: {said}", at, words=(word,))
    for one, other in find_blended(stated):
        why = f"joins '{one}' and '{other}', which no source that it cites does: {said}"
        yield Fault(why, at, words=(one, other), is_guess=True)
    for one, other in find_other_addressees(stated):
        why = f"names '{one}' where its sources name '{other}': {said}"
        yield Fault(why, at, words=(one,), is_guess=True)


def _turned_or_denied(alignment: Alignment, stated: ClaimStatement) -> Iterator[str]:
    """Find who does what otherwise, and what is denied here or there alone."""
    known = alignment.weights.keys()
    for source in stated.made_from:
        for why in find_role_changes(stated.statement, source, stated.claimed, known):
            yield f"turns round who does what: {why}"
    for why in find_out_of_order(stated.statement, stated.made_from):
        yield f"turns round what comes first: {why}"
    reading = stated.statement.reading
    for one, other in find_swapped(reading, [source.reading for source in stated.cited]):
        yield f"has '{one}' and '{other}' in each other's place"
    beside = [(stated.statement, stated.cited)]
    yield from denied_otherwise(beside, alignment.weights)
    yield from affirmed(beside, dict.fromkeys(alignment.weights, 1.0))


def _lost(draft: Draft, sources: Sequence[Source], alignment: Alignment) -> Iterator[Fault]:
    """Find what sources say and a draft leaves out, statement by statement."""
    readings = [read(claim.text) for claim in draft.claims]
    cited = {source for claim in draft.claims for source in claim.sources}
    stated = [one.statement for one in alignment.statements]
    for source in sources:
        if source.id not in cited:
            yield Fault(f"leaves out a source: {source.text}", source=source.id)
        for one in lost_details(read(source.text), readings):
            yield Fault(f"loses {one}", source=source.id)
        changed = [
            one for one in alignment.texts[source.id] if not alignment.has_word_for_word(one)
        ]
        for statement in changed:
            for why, words in alignment.lost(statement):
                yield Fault(why, source=source.id, soft=True, words=words)
            for word in singled_out(statement, alignment.keys):
                yield Fault(f"loses '{word}' of: {statement.text}", None, source.id, words=(word,))
        marks = (
            *denials_lost(changed, stated, alignment.weights),
            *moods_lost(changed, stated, alignment.weights),
            *on_whose_word(stated, changed),
        )
        yield from (Fault(why, source=source.id, is_mark=True) for why in marks)
