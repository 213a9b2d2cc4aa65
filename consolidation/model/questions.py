"""What a model is asked about a window, and what its answers come to.

A question knows its messages, reads the answer, and says what to ask once more: groups that
cannot be used, or an answer that cannot be read.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
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
    Conflict,
    Draft,
    Proposal,
    Source,
    State,
    Usage,
    VerifiedProposal,
    Window,
)
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.verification.faults import Fault
from slowwave.consolidation.verification.words import is_verbatim
from slowwave.consolidation.writing.verifier import Verifier
from slowwave.consolidation.writing.writer import Answers, Job
from slowwave.store.ledger import Answer, KeptAnswer
from slowwave.store.records import json_text

from . import prompts
from .fallbacks import fallback_after_opinions, fallback_before_opinions
from .groups import Group, Suggestion, Suggestions, Unannounced, Unusable
from .opinions import Doubt, doubts_of, faults_after_opinions
from .parsing import UnreadableAnswer, parse_answer
from .prompts import AnswerForm, Messages, StatedGroup, StatedOpinion
from .second_opinions import Models

# The most tokens of an answer beyond what is expected; a model may be wordier than its sources.
ANSWER_MARGIN = 1_000


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

    def shared(self, several: Sequence[VerifiedProposal]) -> Iterator[VerifiedProposal]:
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
NextSteps = Iterator["VerifiedProposal | AskedWindow | Question"]


class Question(ABC):
    """A question on the way of one window."""

    form: AnswerForm

    def __init__(
        self, model: str, dialogue: WindowDialogue, messages: Messages, estimate: Estimate
    ) -> None:
        """Take the model, the messages, and the estimated tokens."""
        self.dialogue = dialogue
        self.messages = messages
        self.estimate = estimate
        self._model = model
        self._is_repeated = False
        # Of what was asked first: an answer that could be read the second time is kept for it.
        self._key = _key(model, messages)

    @abstractmethod
    def handle_answer(self, text: str, verifier: Verifier) -> NextSteps:
        """Read the answer, and give what came of it, or what to ask next."""

    @abstractmethod
    def handle_failure(self, state: State, why: str, verifier: Verifier) -> NextSteps:
        """Return what comes of the window without an answer."""

    @property
    def most_tokens(self) -> int:
        """The most that the answer may have."""
        return 2 * self.estimate.answer + ANSWER_MARGIN

    def kept(self, answers: Answers) -> Answer | None:
        """Return the answer that was paid for before, if it can be read."""
        found = answers.find(self._key)
        return found if found is not None and self.is_readable(found.answer) else None

    def to_keep(self, answer: Answer) -> list[KeptAnswer]:
        """Return what is to be kept of an answer: nothing of one that cannot be read."""
        readable = self.is_readable(answer.answer)
        return [(self._key, self._model, answer)] if readable else []

    def is_readable(self, text: str) -> bool:
        """Whether an answer is in the form that was asked for."""
        try:
            parse_answer(prompts.ANSWER_FORMS[self.form], text)
        except UnreadableAnswer:
            return False
        return True

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.dialogue.charge(used)

    def _ask_for_form(self, text: str, why: str, verifier: Verifier) -> NextSteps:
        """Ask once more for the form."""
        if self._is_repeated:
            yield from self.handle_failure("failed", why, verifier)
            return
        self._is_repeated = True
        self.messages = prompts.ask_for_the_form(self.messages, text, why)
        more = count_tokens(text) + count_tokens(why)
        self.estimate = replace(self.estimate, prompt=self.estimate.prompt + more)
        yield self


class GroupsQuestion(Question):
    """A question about a window, or about those of its groups that cannot be used."""

    form: AnswerForm = "groups"

    def __init__(self, dialogue: WindowDialogue, faulty: Sequence[_Faulty] = ()) -> None:
        """Take the groups to ask about once more, if it is not the first question."""
        self._faulty = tuple(faulty)
        self._sources = _shown(dialogue, faulty)
        self._ids = prompts.short_ids(self._sources)
        messages, estimate = self._asked(dialogue)
        super().__init__(dialogue.models.writer, dialogue, messages, estimate)

    def handle_answer(self, text: str, verifier: Verifier) -> NextSteps:
        """Yield the groups that may be carried out, and ask on about the others."""
        try:
            stated = parse_answer(prompts.GroupsAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error), verifier)
            return
        usable, doubted, faulty = self._split_groups(stated, verifier)
        checker = self.dialogue.models.checker
        if checker is None:
            approved, turned_down = _split_by_opinions(self.dialogue, doubted, (), verifier)
            usable, doubted, faulty = usable + approved, [], faulty + turned_down
        yield from _usable(self.dialogue, usable)
        is_last = bool(self._faulty)
        if doubted and checker is not None:
            yield OpinionsQuestion(checker, self.dialogue, doubted, faulty, is_last)
        else:
            yield from _ask_again_or_fall_back(self.dialogue, faulty, is_last, verifier)

    def handle_failure(self, state: State, why: str, verifier: Verifier) -> NextSteps:
        """Yield what comes of the window without an answer; what was turned down may be mended."""
        yield from _fall_back(self.dialogue, self._faulty, verifier, state)
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
                suggestion = self.dialogue.suggestions.of(group, verifier)
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
                suggested.append((group, suggestion.narrowed(verifier)))
                verifier.announce(suggestion.proposal)
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
                faulty.append(_Faulty(group, why, suggestion))
                self.dialogue.suggestions.release(suggestion)
            elif doubts := doubts_of(suggestion, faults):
                doubted.append(_Doubted(group, suggestion, tuple(doubts)))
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


class OpinionsQuestion(Question):
    """A question for a second opinion on what words alone cannot tell."""

    form: AnswerForm = "opinions"

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

    def handle_answer(self, text: str, verifier: Verifier) -> NextSteps:
        """Yield the groups that the opinions are for, and go on with the others."""
        try:
            opinions = parse_answer(prompts.OpinionsAnswer, text).opinions
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error), verifier)
            return
        usable, turned_down = _split_by_opinions(self.dialogue, self._doubted, opinions, verifier)
        faulty = [*self._faulty, *turned_down]
        yield from _usable(self.dialogue, usable)
        yield from _ask_again_or_fall_back(self.dialogue, faulty, self._is_last, verifier)

    def handle_failure(self, state: State, why: str, verifier: Verifier) -> NextSteps:
        """Yield what comes of the window: nothing that is in doubt is carried out."""
        yield from _fall_back(self.dialogue, self._faulty, verifier, state)
        for one in self._doubted:
            yield VerifiedProposal(one.suggestion.proposal, state, why)
        yield self.dialogue.end(state, why)


def _split_by_opinions(
    dialogue: WindowDialogue,
    doubted: Sequence[_Doubted],
    opinions: Sequence[StatedOpinion],
    verifier: Verifier,
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
        faults, restating = faults_after_opinions(one.doubts, own, verifier)
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


def _key(model: str, messages: Messages) -> str:
    asked = hashlib.sha256(json_text(messages).encode()).hexdigest()
    return hashlib.sha256(f"{model}\n{asked}".encode()).hexdigest()


def _ask_again_or_fall_back(
    dialogue: WindowDialogue, faulty: Sequence[_Faulty], is_last: bool, verifier: Verifier
) -> NextSteps:
    """Ask once more about groups that cannot be used, or do without the model."""
    if faulty and not is_last:
        yield GroupsQuestion(dialogue, faulty)
        return
    yield from _fall_back(dialogue, faulty, verifier)
    yield dialogue.end("applied")


def _usable(
    dialogue: WindowDialogue, suggestions: Sequence[Suggestion]
) -> Iterator[VerifiedProposal]:
    written = [VerifiedProposal(_signed(dialogue, one), "planned", one.why) for one in suggestions]
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
    dialogue: WindowDialogue,
    faulty: Sequence[_Faulty],
    verifier: Verifier,
    state: State = "rejected",
) -> Iterator[VerifiedProposal]:
    """Yield what becomes of groups that cannot be used after all.

    state: of those of which nothing is written; only `rejected` is remembered.
    """
    dialogue.turned_down += [why for one in faulty if not one.suggestion for why in one.faults]
    found = [_after_fallback(dialogue, one, verifier, state) for one in faulty]
    settled = [one for one in found if one is not None]
    yield from (one for one in settled if one.state != "planned")
    yield from dialogue.shared([one for one in settled if one.state == "planned"])


def _after_fallback(
    dialogue: WindowDialogue, one: _Faulty, verifier: Verifier, state: State
) -> VerifiedProposal | None:
    """Return what becomes of a group with faults: without what is at fault, or nothing of it."""
    suggestion, why = one.suggestion, "; ".join(one.faults)
    if suggestion is None:
        return None
    found = fallback_after_opinions(dialogue.suggestions, one.group, suggestion, verifier)
    if found is None:
        return VerifiedProposal(suggestion.proposal, state, why)
    found = found.turned_down(one.faults)
    return VerifiedProposal(_signed(dialogue, found), "planned", found.why)


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
