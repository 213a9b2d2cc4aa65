"""What a model is asked about a window, and what its answers come to.

A question knows its messages, reads the answer, and says what to ask once more: groups that
cannot be used, or an answer that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from slowwave.consolidation.planning.estimates import (
    Estimate,
    estimate_again,
    estimate_opinions,
    estimate_window,
)
from slowwave.consolidation.proposals import (
    AskedWindow,
    CheckedProposal,
    Conflict,
    Draft,
    Proposal,
    Source,
    State,
    Usage,
    Window,
)
from slowwave.consolidation.verification.faults import Fault
from slowwave.consolidation.verification.words import is_verbatim
from slowwave.consolidation.writing.checking import Check
from slowwave.consolidation.writing.writer import Job

from . import prompts
from .answers import UnreadableAnswer, read_form
from .checker import Models
from .fallbacks import fallback_after_opinions, fallback_before_opinions
from .groups import Group, Suggestion, Suggestions, Unannounced, Unusable
from .opinions import Doubt, doubts_of, faults_after_opinions
from .prompts import Form, Messages, StatedGroup, StatedOpinion
from .question import Question, Steps


@dataclass
class WindowDialogue:
    """One window on its way: what came of it so far, and what was used for it."""

    job: Job
    suggestions: Suggestions
    models: Models
    usage: Usage = field(default_factory=Usage)
    # What of it was not shared out yet over what came of the window.
    unshared: Usage = field(default_factory=Usage)
    conflicts: list[Conflict] = field(default_factory=list)
    # Why groups cannot be taken as proposals, not even after they were asked about once more.
    turned_down: list[str] = field(default_factory=list)

    @property
    def window(self) -> Window:
        """The window."""
        return self.job.window

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.usage += used
        self.unshared += used

    def shared(self, several: Sequence[CheckedProposal]) -> Iterator[CheckedProposal]:
        """Share out over several proposals what was used since others came of the window."""
        if several:
            parts, self.unshared = share_usage(self.unshared, len(several)), Usage()
            for one, part in zip(several, parts, strict=True):
                yield replace(one, usage=part)

    def end(self, state: State, why: str | None = None) -> AskedWindow:
        """Return what became of the question."""
        conflicts, turned_down = tuple(self.conflicts), tuple(self.turned_down)
        return AskedWindow(self.window, state, why, self.usage, conflicts, turned_down)


@dataclass(frozen=True)
class _Faulty:
    """A group that cannot be used, and why; and what it would do, if that is known."""

    group: Group
    faults: tuple[str, ...]
    suggestion: Suggestion | None


@dataclass(frozen=True)
class _Doubted:
    """A group that stands unless a second opinion is against it."""

    group: Group
    suggestion: Suggestion
    doubts: tuple[Doubt, ...]


# What comes of a question: proposals, the end of a window, or what is to be asked next.
NextSteps = Steps[CheckedProposal | AskedWindow]


class WindowQuestion(Question[CheckedProposal | AskedWindow]):
    """A question on the way of one window."""

    def __init__(
        self, model: str, dialogue: WindowDialogue, messages: Messages, estimate: Estimate
    ) -> None:
        """Take the model, the messages, and the estimated tokens."""
        super().__init__(model, messages, estimate)
        self.dialogue = dialogue

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.dialogue.charge(used)


class GroupsQuestion(WindowQuestion):
    """A question about a window, or about those of its groups that cannot be used."""

    form: Form = "groups"

    def __init__(self, dialogue: WindowDialogue, faulty: Sequence[_Faulty] = ()) -> None:
        """Take the groups to ask about once more, if it is not the first question."""
        self._faulty = tuple(faulty)
        self._sources = _shown(dialogue, faulty)
        self._ids = prompts.short_ids(self._sources)
        messages, estimate = self._asked(dialogue)
        super().__init__(dialogue.models.writer, dialogue, messages, estimate)

    def handle_answer(self, text: str, check: Check) -> NextSteps:
        """Yield the groups that may be carried out, and ask on about the others."""
        try:
            stated = read_form(prompts.GroupsAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error), check)
            return
        usable, doubted, faulty = self._split_groups(stated, check)
        checker = self.dialogue.models.checker
        if checker is None:
            approved, turned_down = _split_by_opinions(self.dialogue, doubted, (), check)
            usable, doubted, faulty = usable + approved, [], faulty + turned_down
        yield from _usable(self.dialogue, usable)
        is_last = bool(self._faulty)
        if doubted and checker is not None:
            yield OpinionsQuestion(checker, self.dialogue, doubted, faulty, is_last)
        else:
            yield from _ask_again_or_fall_back(self.dialogue, faulty, is_last, check)

    def handle_failure(self, state: State, why: str, check: Check) -> NextSteps:
        """Yield what comes of the window without an answer; what was turned down may be mended."""
        yield from _fall_back(self.dialogue, self._faulty, check, state)
        yield self.dialogue.end(state, why)

    def _asked(self, dialogue: WindowDialogue) -> tuple[Messages, Estimate]:
        derived = dialogue.window.derived
        if not self._faulty:
            messages = prompts.ask_about(self._sources, derived)
            return messages, estimate_window(self._sources)
        short = {own: short for short, own in self._ids.items()}
        groups = [(one.group.stated(short), one.faults) for one in self._faulty]
        claims = [claim.text for one in self._faulty for claim in one.group.claims]
        faults = [why for one in self._faulty for why in one.faults]
        messages = prompts.ask_again(self._sources, derived, groups)
        return messages, estimate_again(self._sources, len(groups), [*claims, *faults])

    def _split_groups(
        self, stated: Sequence[StatedGroup], check: Check
    ) -> tuple[list[Suggestion], list[_Doubted], list[_Faulty]]:
        """Split the groups: to be carried out, to ask an opinion on, and unusable."""
        suggested: list[tuple[Group, Suggestion]] = []
        faulty: list[_Faulty] = []
        for one in stated:
            group = Group.of(one, self._ids)
            if group.kind == "conflict":
                self.dialogue.conflicts += _conflicts(self.dialogue, group)
                continue
            try:
                suggestion = self.dialogue.suggestions.of(group, check)
            except Unannounced:
                self.dialogue.conflicts += _conflicts(self.dialogue, group)
                continue
            except Unusable as error:
                # There is nothing to ask about a group of no memory that was shown.
                if set(group.ids).isdisjoint(self._ids.values()):
                    self.dialogue.turned_down.append(str(error))
                else:
                    faulty.append(_Faulty(group, (str(error),), None))
                continue
            if self._is_wanted(suggestion.proposal):
                suggested.append((group, suggestion.narrowed(check)))
                check.announce(suggestion.proposal)
        usable, doubted = [], []
        for group, suggestion in suggested:
            faults = check.faults(suggestion.proposal, suggestion.sources)
            wrong = (*suggestion.wordy, *(one.why for one in faults if not one.soft))
            if wrong and self._faulty:
                suggestion = self._without(wrong, group, suggestion, check)
                faults = check.faults(suggestion.proposal, suggestion.sources)
            # Asked once more a model may say what those add that were left out.
            why = suggestion.wordy if self._faulty else (*suggestion.left_out, *suggestion.wordy)
            if why or any(not one.soft for one in faults):
                why = (*why, *(one.why for one in faults))
                faulty.append(_Faulty(group, why, suggestion))
                self.dialogue.suggestions.release(suggestion)
            elif doubts := doubts_of(suggestion, faults):
                doubted.append(_Doubted(group, suggestion, tuple(doubts)))
            else:
                usable.append(suggestion)
        return usable, doubted, faulty

    def _without(
        self, wrong: Sequence[str], group: Group, suggestion: Suggestion, check: Check
    ) -> Suggestion:
        """Return what a group may do without what is wrong with it; itself if that is nothing."""
        suggestions = self.dialogue.suggestions
        suggestions.release(suggestion)
        found = fallback_before_opinions(suggestions, group, suggestion, check)
        return suggestions.taken(suggestion if found is None else found.turned_down(wrong))

    def _is_wanted(self, proposal: Proposal) -> bool:
        window = self.dialogue.window
        return proposal.operation in window.operations and proposal.id not in window.decided


class OpinionsQuestion(WindowQuestion):
    """A question for a second opinion on what words alone cannot tell."""

    form: Form = "opinions"

    def __init__(
        self,
        model: str,
        dialogue: WindowDialogue,
        doubted: Sequence[_Doubted],
        faulty: Sequence[_Faulty],
        is_last: bool,
    ) -> None:
        """Take the groups that are in doubt, and those that cannot be used anyway."""
        self._doubted = tuple(doubted)
        self._faulty = tuple(faulty)
        self._is_last = is_last
        items = [doubt.item for one in doubted for doubt in one.doubts]
        messages = prompts.ask_for_opinions(items)
        estimate = estimate_opinions(messages[-1]["content"], len(items))
        super().__init__(model, dialogue, messages, estimate)

    def handle_answer(self, text: str, check: Check) -> NextSteps:
        """Yield the groups that the opinions are for, and go on with the others."""
        try:
            opinions = read_form(prompts.OpinionsAnswer, text).opinions
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error), check)
            return
        usable, turned_down = _split_by_opinions(self.dialogue, self._doubted, opinions, check)
        faulty = [*self._faulty, *turned_down]
        yield from _usable(self.dialogue, usable)
        yield from _ask_again_or_fall_back(self.dialogue, faulty, self._is_last, check)

    def handle_failure(self, state: State, why: str, check: Check) -> NextSteps:
        """Yield what comes of the window: nothing that is in doubt is carried out."""
        yield from _fall_back(self.dialogue, self._faulty, check, state)
        for one in self._doubted:
            yield CheckedProposal(one.suggestion.proposal, state, why)
        yield self.dialogue.end(state, why)


def _split_by_opinions(
    dialogue: WindowDialogue,
    doubted: Sequence[_Doubted],
    opinions: Sequence[StatedOpinion],
    check: Check,
) -> tuple[list[Suggestion], list[_Faulty]]:
    """Split the groups by second opinions: those confirmed, and the others.

    opinions: on all doubts of all groups in a row, by their numbers from 1.
    """
    usable, turned_down, first = [], [], 1
    for one in doubted:
        own = [
            opinion.model_copy(update={"n": opinion.n - first + 1})
            for opinion in opinions
            if first <= opinion.n < first + len(one.doubts)
        ]
        first += len(one.doubts)
        faults, restating = faults_after_opinions(one.doubts, own, check)
        if faults:
            why = tuple(fault.why for fault in faults)
            dialogue.suggestions.release(one.suggestion)
            turned_down.append(_Faulty(one.group, why, _with_opinions(one, faults)))
        else:
            usable.append(one.suggestion.joined_by(restating))
    return usable, turned_down


def _with_opinions(one: _Doubted, faults: Sequence[Fault]) -> Suggestion:
    """Note what a second opinion is against, and what it is for."""
    claims = one.suggestion.proposal.draft.claims
    doubted = frozenset(fault.claim for fault in faults if fault.claim is not None)
    missed = frozenset(fault.source for fault in faults if fault.source is not None)
    texts = {claim.text for at, claim in enumerate(claims) if at not in doubted}
    ids = {source.id for source in one.suggestion.sources} - missed
    return replace(one.suggestion, doubted=doubted, missed=missed, approved=frozenset(texts | ids))


def _ask_again_or_fall_back(
    dialogue: WindowDialogue, faulty: Sequence[_Faulty], is_last: bool, check: Check
) -> NextSteps:
    """Ask once more about groups that cannot be used, or do without the model."""
    if faulty and not is_last:
        yield GroupsQuestion(dialogue, faulty)
        return
    yield from _fall_back(dialogue, faulty, check)
    yield dialogue.end("applied")


def _usable(
    dialogue: WindowDialogue, suggestions: Sequence[Suggestion]
) -> Iterator[CheckedProposal]:
    written = [CheckedProposal(_signed(dialogue, one), "planned", one.why) for one in suggestions]
    yield from dialogue.shared(written)


def _signed(dialogue: WindowDialogue, suggestion: Suggestion) -> Proposal:
    """Note for each claim that no source says word for word who worded it and who confirmed it."""
    proposal = suggestion.proposal
    texts = {source.id: source.text for source in suggestion.sources}
    claims = tuple(
        one
        if is_verbatim(one.text, [texts[cited] for cited in one.sources])
        else replace(one, written_by=dialogue.models.writer, checked_by=dialogue.models.checker)
        for one in proposal.draft.claims
    )
    return replace(proposal, draft=Draft(claims))


def _shown(dialogue: WindowDialogue, faulty: Sequence[_Faulty]) -> tuple[Source, ...]:
    if not faulty:
        return dialogue.job.sources
    named = {one for each in faulty for one in each.group.ids}
    return tuple(source for source in dialogue.job.sources if source.id in named)


_WHY = {
    "conflict": "a model says that both cannot be true",
    "newer": "a model takes the later one for newer, and nothing in it says that anything changed",
}


def _conflicts(dialogue: WindowDialogue, group: Group) -> list[Conflict]:
    by_id = {source.id: source for source in dialogue.job.sources}
    known = sorted(
        (by_id[one] for one in group.ids if one in by_id), key=lambda one: one.observed_at
    )
    return [
        Conflict(
            (earlier.id, later.id),
            dialogue.window.tenant,
            "statement",
            (earlier.text, later.text),
            _WHY[group.kind],
        )
        for earlier, later in pairwise(known)
    ]


def _fall_back(
    dialogue: WindowDialogue, faulty: Sequence[_Faulty], check: Check, state: State = "rejected"
) -> Iterator[CheckedProposal]:
    """Yield what becomes of groups that cannot be used after all.

    state: of those of which nothing is written; only `rejected` is remembered.
    """
    dialogue.turned_down += [why for one in faulty if not one.suggestion for why in one.faults]
    found = [_after_fallback(dialogue, one, check, state) for one in faulty]
    settled = [one for one in found if one is not None]
    yield from (one for one in settled if one.state != "planned")
    yield from dialogue.shared([one for one in settled if one.state == "planned"])


def _after_fallback(
    dialogue: WindowDialogue, one: _Faulty, check: Check, state: State
) -> CheckedProposal | None:
    """Return what becomes of a group with faults: without what is at fault, or nothing of it."""
    suggestion, why = one.suggestion, "; ".join(one.faults)
    if suggestion is None:
        return None
    found = fallback_after_opinions(dialogue.suggestions, one.group, suggestion, check)
    if found is None:
        return CheckedProposal(suggestion.proposal, state, why)
    found = found.turned_down(one.faults)
    return CheckedProposal(_signed(dialogue, found), "planned", found.why)


def share_usage(used: Usage, count: int) -> list[Usage]:
    """Share out what calls took over what came of them, to the last token.

    Requests and kept answers cannot be divided: they stand with the first.
    """
    cost = None if used.cost_usd is None else used.cost_usd / count
    asked, answered = _split(used.prompt_tokens, count), _split(used.completion_tokens, count)
    parts = [Usage(0, 0, *tokens, cost) for tokens in zip(asked, answered, strict=True)]
    parts[0] = replace(parts[0], calls=used.calls, cached=used.cached)
    return parts


def _split(whole: int, count: int) -> list[int]:
    cuts = [whole * number // count for number in range(count + 1)]
    return [end - start for start, end in pairwise(cuts)]
