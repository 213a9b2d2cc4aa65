"""Texts made of the sources' own sentences, without any model.

It adds nothing of its own but days in square brackets: in front of a sentence that speaks of
"yesterday" or "last week" the day on which it was said, since it would turn false without it; in
front of a value since when it is so, and of an older one from when until when it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from slowwave.consolidation import thresholds
from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.proposals import Claim, Draft, Operation, Source
from slowwave.consolidation.text.dates import DATE_MARK
from slowwave.consolidation.text.reading import Reading, read

# Goes up whenever the rules change by which texts are composed here.
_RULES = "extractive/1"


def method_key(operation: Operation) -> str:
    """Return the hash of the rules by which a plan's own drafts are composed."""
    return hashlib.sha256(f"{_RULES} {operation}".encode()).hexdigest()


def in_the_same_words(said: Reading, kept: Sequence[Reading]) -> int | None:
    """Find a sentence that says what another says but for spelling, by its place."""
    form = normal_form(said.text)
    return next((at for at, one in enumerate(kept) if normal_form(one.text) == form), None)


def is_shorter(draft: Draft, leaving: Sequence[Source]) -> bool:
    """Whether a draft is enough shorter than what goes for it to be worth writing."""
    before = sum(len(source.text) for source in leaving)
    return len(draft.text) <= thresholds.SHORTER * before


def compose_update(stages: Sequence[Sequence[Source]]) -> Draft:
    """Write what is so now and when that was noted, and what was so before.

    stages: the wordings of each value, the newest value first. Each claim but the first cites who
    told the next value, too: that is where its end comes from.
    """
    starts = [min(source.observed_at for source in stage)[:10] for stage in stages]
    claims = [_stage_claim(stages[0], starts[0], f"[noted {starts[0]}] ")]
    for number in range(1, len(stages)):
        mark = f"[{starts[number]} until {starts[number - 1]}] "
        claim = _stage_claim(stages[number], starts[number], mark)
        cited = {*claim.sources, sorted_by_time(stages[number - 1])[0].id}
        claims.append(Claim(claim.text, tuple(sorted(cited))))
    return Draft(tuple(claims))


def sorted_by_time(sources: Sequence[Source]) -> list[Source]:
    """Return sources in the order in which they were said."""
    return sorted(sources, key=lambda one: (one.observed_at, one.id))


def _stage_claim(stage: Sequence[Source], start: str, mark: str) -> Claim:
    """Write all wordings of one value behind one mark, which also tells when they were said."""
    sentences = {
        normal_form(sentence): with_full_stop(sentence)
        if source.observed_at[:10] == start
        else with_date(source, with_full_stop(sentence))
        for source in reversed(sorted_by_time(stage))
        for sentence in read(source.text).sentences
    }
    texts = reversed(sentences.values())
    return Claim(mark + " ".join(texts), tuple(sorted(source.id for source in stage)))


def with_full_stop(text: str) -> str:
    """Return a text with its full stop."""
    return text if text[-1:] in ".!?\"'”)`" else f"{text}."


def with_date(source: Source, text: str) -> str:
    """Return a text with the day on which it was said, where it turns false without it."""
    marked = DATE_MARK.match(text) is not None
    return f"[{source.observed_at[:10]}] {text}" if read(text).deictic and not marked else text
