"""The objections of the checking model to drafts. Only verbatim quotations count."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from slowwave.consolidation.planning.estimates import estimate_check

from .answer_forms import CHECK, StatedCheck
from .prompts import DraftToCheck, ask_to_check, short_ids
from .question import Asking, Bill, Question, ask

# The minimum number of memories that each support a rule on their own.
_MIN_CONFIRMING = 2
_WHITESPACE = re.compile(r"\s+")
_PLAIN_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})
# An ellipsis, for skipped words.
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|\u2026)\s*")


@dataclass(frozen=True)
class Objections:
    """What the checking model found wrong with a draft."""

    # Sentences, which a repair shows to the model: unsupported words and wrong joins.
    reasons: tuple[str, ...] = ()
    # The ids of memories that do not belong in the group.
    strangers: frozenset[str] = frozenset()
    # (memory id, what the draft loses of it, as a sentence).
    lost: tuple[tuple[str, str], ...] = ()

    def plus(self, more: Objections) -> Objections:
        """Return these objections and more of them."""
        return Objections(
            (*self.reasons, *more.reasons),
            self.strangers | more.strangers,
            (*self.lost, *more.lost),
        )


def check_drafts(
    checker: str, drafts: Sequence[DraftToCheck], bill: Bill
) -> Asking[list[Objections]]:
    """Ask the checking model about drafts, and return its objections to each."""
    messages = ask_to_check(drafts)
    estimate = estimate_check(messages[-1]["content"], len(drafts))
    answer = yield from ask(Question(checker, CHECK, messages, estimate), bill)
    # A second answer about a draft does not cancel the objections of the first.
    by_number: defaultdict[int, list[StatedCheck | None]] = defaultdict(list)
    for stated in answer.groups:
        by_number[stated.n].append(stated)
    return [
        reduce(Objections.plus, [objections_of(stated, draft) for stated in by_number[n] or [None]])
        for n, draft in enumerate(drafts, start=1)
    ]


def objections_of(stated: StatedCheck | None, draft: DraftToCheck) -> Objections:
    """Return the objections to a draft. stated: None if the checker left it out."""
    if stated is None:
        return Objections(("the reading left it out",))
    by_short = short_ids(draft.sources)
    sources = {source.id: source for source in draft.sources}
    unsupported = [
        f"no memory says: {objection.words}" + _because(objection.why)
        for objection in stated.unsupported
        if _quotes(objection.words, draft.text)
    ]
    lost = tuple(
        (by_short[objection.id], f"lost: {objection.words}" + _because(objection.why))
        for objection in stated.lost
        if objection.id in by_short
        and _quotes(objection.words, sources[by_short[objection.id]].text)
    )
    strangers: set[str] = set()
    wrong = []
    for join in stated.wrong_join:
        ids = {by_short[short] for short in join.ids if short in by_short}
        if ids:
            strangers |= ids
            texts = " | ".join(sources[memory_id].text[:80] for memory_id in sorted(ids))
            wrong.append(f"does not belong to the others: {texts}" + _because(join.why))
    confirming = {by_short[short] for short in stated.confirms if short in by_short}
    if draft.operation == "extract" and len(confirming) < _MIN_CONFIRMING:
        wrong.append(f"fewer than two of its {len(sources)} memories support it by themselves")
    return Objections((*unsupported, *wrong), frozenset(strangers), lost)


def _because(why: str) -> str:
    return f" ({_WHITESPACE.sub(' ', why).strip()})" if why.strip() else ""


def _quotes(words: str, text: str) -> bool:
    """Whether words are quoted from a text, ignoring case, whitespace and kinds of quotes."""
    parts = [plain(part).strip(" .\"'") for part in _ELLIPSIS.split(words)]
    return any(parts) and all(part in plain(text) for part in parts)


def plain(text: str) -> str:
    """Return a text in lower case, with single spaces and plain quotation marks."""
    return _WHITESPACE.sub(" ", text.translate(_PLAIN_QUOTES)).strip().lower()
