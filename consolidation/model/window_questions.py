"""What a model is asked about a window, and what its answers come to.

A question knows its messages, reads the answer, and says what to ask once more: groups that
cannot be used, or an answer that cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowwave.consolidation.planning.estimates import (
    Estimate,
    estimate_again,
    estimate_opinions,
    estimate_window,
)
from slowwave.consolidation.proposals import (
    AskedWindow,
    Proposal,
    Source,
    State,
    Usage,
    VerifiedProposal,
)
from slowwave.consolidation.writing.verifier import Verifier

from . import prompts
from .answer_forms import AnswerForm, GroupsAnswer, OpinionsAnswer, StatedGroup
from .dialogue import WindowDialogue
from .fallbacks import fallback_before_opinions
from .group_results import (
    DoubtedGroup,
    FaultyGroup,
    conflicts_of,
    proposals_of,
    proposals_without_faults,
    split_by_opinions,
)
from .opinions import doubts_of
from .parsing import UnreadableAnswer, parse_answer
from .prompts import Messages
from .question import Question, Steps
from .suggestion import Group, Suggestion, Unannounced, Unusable

# What comes of a question: proposals, the end of a window, or what is to be asked next.
NextSteps = Steps[VerifiedProposal | AskedWindow]


class WindowQuestion(Question[VerifiedProposal | AskedWindow]):
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

    form: AnswerForm = "groups"

    def __init__(self, dialogue: WindowDialogue, faulty: Sequence[FaultyGroup] = ()) -> None:
        """Take the groups to ask about once more, if it is not the first question."""
        self._faulty = tuple(faulty)
        self._sources = _shown(dialogue, faulty)
        self._ids = prompts.short_ids(self._sources)
        messages, estimate = self._asked(dialogue)
        super().__init__(dialogue.models.writer, dialogue, messages, estimate)

    def handle_answer(self, text: str, verifier: Verifier) -> NextSteps:
        """Yield the groups that may be carried out, and ask on about the others."""
        try:
            stated = parse_answer(GroupsAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error), verifier)
            return
        usable, doubted, faulty = self._split_groups(stated, verifier)
        checker = self.dialogue.models.checker
        if checker is None:
            approved, turned_down = split_by_opinions(self.dialogue, doubted, (), verifier)
            usable, doubted, faulty = usable + approved, [], faulty + turned_down
        yield from proposals_of(self.dialogue, usable)
        is_last = bool(self._faulty)
        if doubted and checker is not None:
            yield OpinionsQuestion(checker, self.dialogue, doubted, faulty, is_last)
        else:
            yield from _ask_again_or_fall_back(self.dialogue, faulty, is_last, verifier)

    def handle_failure(self, state: State, why: str, verifier: Verifier) -> NextSteps:
        """Yield what comes of the window without an answer; what was turned down may be mended."""
        yield from proposals_without_faults(self.dialogue, self._faulty, verifier, state)
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
        self, stated: Sequence[StatedGroup], verifier: Verifier
    ) -> tuple[list[Suggestion], list[DoubtedGroup], list[FaultyGroup]]:
        """Split the groups: to be carried out, to ask an opinion on, and unusable."""
        suggested: list[tuple[Group, Suggestion]] = []
        faulty: list[FaultyGroup] = []
        for one in stated:
            group = Group.of(one, self._ids)
            if group.kind == "conflict":
                self.dialogue.conflicts += conflicts_of(self.dialogue, group)
                continue
            try:
                suggestion = self.dialogue.suggestions.of(group, verifier)
            except Unannounced:
                self.dialogue.conflicts += conflicts_of(self.dialogue, group)
                continue
            except Unusable as error:
                # There is nothing to ask about a group of no memory that was shown.
                if set(group.ids).isdisjoint(self._ids.values()):
                    self.dialogue.turned_down.append(str(error))
                else:
                    faulty.append(FaultyGroup(group, (str(error),), None))
                continue
            if self._is_wanted(suggestion.proposal):
                suggested.append((group, suggestion.narrowed(verifier)))
                verifier.prefetch(suggestion.proposal)
        usable, doubted = [], []
        for group, suggestion in suggested:
            faults = verifier.faults(suggestion.proposal, suggestion.sources)
            wrong = (*suggestion.wordy, *(one.why for one in faults if not one.soft))
            if wrong and self._faulty:
                suggestion = self._without(wrong, group, suggestion, verifier)
                faults = verifier.faults(suggestion.proposal, suggestion.sources)
            # Asked once more a model may say what those add that were left out.
            why = suggestion.wordy if self._faulty else (*suggestion.omissions, *suggestion.wordy)
            if why or any(not one.soft for one in faults):
                why = (*why, *(one.why for one in faults))
                faulty.append(FaultyGroup(group, why, suggestion))
                self.dialogue.suggestions.release(suggestion)
            elif doubts := doubts_of(suggestion, faults):
                doubted.append(DoubtedGroup(group, suggestion, tuple(doubts)))
            else:
                usable.append(suggestion)
        return usable, doubted, faulty

    def _without(
        self, wrong: Sequence[str], group: Group, suggestion: Suggestion, verifier: Verifier
    ) -> Suggestion:
        """Return what a group may do without what is wrong with it; itself if that is nothing."""
        suggestions = self.dialogue.suggestions
        suggestions.release(suggestion)
        found = fallback_before_opinions(suggestions, group, suggestion, verifier)
        return suggestions.taken(suggestion if found is None else found.turned_down(wrong))

    def _is_wanted(self, proposal: Proposal) -> bool:
        window = self.dialogue.window
        return proposal.operation in window.operations and proposal.id not in window.decided


class OpinionsQuestion(WindowQuestion):
    """A question for a second opinion on what words alone cannot tell."""

    form: AnswerForm = "opinions"

    def __init__(
        self,
        model: str,
        dialogue: WindowDialogue,
        doubted: Sequence[DoubtedGroup],
        faulty: Sequence[FaultyGroup],
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

    def handle_answer(self, text: str, verifier: Verifier) -> NextSteps:
        """Yield the groups that the opinions are for, and go on with the others."""
        try:
            opinions = parse_answer(OpinionsAnswer, text).opinions
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error), verifier)
            return
        usable, turned_down = split_by_opinions(self.dialogue, self._doubted, opinions, verifier)
        faulty = [*self._faulty, *turned_down]
        yield from proposals_of(self.dialogue, usable)
        yield from _ask_again_or_fall_back(self.dialogue, faulty, self._is_last, verifier)

    def handle_failure(self, state: State, why: str, verifier: Verifier) -> NextSteps:
        """Yield what comes of the window: nothing that is in doubt is carried out."""
        yield from proposals_without_faults(self.dialogue, self._faulty, verifier, state)
        for one in self._doubted:
            yield VerifiedProposal(one.suggestion.proposal, state, why)
        yield self.dialogue.end(state, why)


def _ask_again_or_fall_back(
    dialogue: WindowDialogue, faulty: Sequence[FaultyGroup], is_last: bool, verifier: Verifier
) -> NextSteps:
    """Ask once more about groups that cannot be used, or do without the model."""
    if faulty and not is_last:
        yield GroupsQuestion(dialogue, faulty)
        return
    yield from proposals_without_faults(dialogue, faulty, verifier)
    yield dialogue.end("applied")


def _shown(dialogue: WindowDialogue, faulty: Sequence[FaultyGroup]) -> tuple[Source, ...]:
    if not faulty:
        return dialogue.job.sources
    named = {one for each in faulty for one in each.group.ids}
    return tuple(source for source in dialogue.job.sources if source.id in named)
