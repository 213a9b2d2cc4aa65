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
    Asked,
    Conflict,
    Draft,
    Proposal,
    Source,
    State,
    Usage,
    Window,
    Written,
)
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.writing.checking import Check
from slowwave.consolidation.writing.writer import Answers, Job
from slowwave.store.ledger import Answer, KeptAnswer
from slowwave.store.records import json_text

from . import prompts
from .answers import Unreadable, read_form
from .groups import Group, Suggestion, Suggestions, Unusable
from .mending import mended
from .opinions import Doubt, doubts_of, standing
from .prompts import Form, Messages, StatedGroup

# The most tokens of an answer beyond what is expected; a model may be wordier than its sources.
ANSWER_MARGIN = 1_000


@dataclass
class Talk:
    """One window on its way: what came of it so far, and what was used for it."""

    job: Job
    suggestions: Suggestions
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

    def shared(self, several: Sequence[Written]) -> Iterator[Written]:
        """Share out over several proposals what was used since others came of the window."""
        if several:
            parts, self.unshared = share(self.unshared, len(several)), Usage()
            for one, part in zip(several, parts, strict=True):
                yield replace(one, usage=part)

    def end(self, state: State, why: str | None = None) -> Asked:
        """Give what became of the question."""
        conflicts, turned_down = tuple(self.conflicts), tuple(self.turned_down)
        return Asked(self.window, state, why, self.usage, conflicts, turned_down)


@dataclass(frozen=True)
class _Faulty:
    """A group that cannot be used as it stands, and why; what it would do, if it can be told."""

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
Come = Iterator["Written | Asked | Question"]


class Question(ABC):
    """A question on the way of one window."""

    form: Form

    def __init__(self, model: str, talk: Talk, messages: Messages, estimate: Estimate) -> None:
        """Take what is asked, and what that will take."""
        self.talk = talk
        self.messages = messages
        self.estimate = estimate
        self._model = model
        self._is_repeated = False
        # Of what was asked first: an answer that could be read the second time is kept for it.
        self._key = _key(model, messages)

    @abstractmethod
    def settle(self, text: str, check: Check) -> Come:
        """Read the answer, and give what came of it, or what to ask next."""

    @abstractmethod
    def failed(self, state: State, why: str, check: Check) -> Come:
        """Give what comes of the window without an answer."""

    @property
    def most_tokens(self) -> int:
        """The most that the answer may have."""
        return 2 * self.estimate.answer + ANSWER_MARGIN

    def kept(self, answers: Answers) -> Answer | None:
        """Give the answer that was paid for before, if it can be read."""
        found = answers.find(self._key)
        return found if found is not None and self.is_readable(found.answer) else None

    def to_keep(self, answer: Answer) -> list[KeptAnswer]:
        """Give what is to be kept of an answer: nothing of one that cannot be read."""
        readable = self.is_readable(answer.answer)
        return [(self._key, self._model, answer)] if readable else []

    def is_readable(self, text: str) -> bool:
        """Whether an answer is in the form that was asked for."""
        try:
            read_form(prompts.FORMS[self.form], text)
        except Unreadable:
            return False
        return True

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.talk.charge(used)

    def _unread(self, text: str, why: str, check: Check) -> Come:
        """Ask once more for the form."""
        if self._is_repeated:
            yield from self.failed("failed", why, check)
            return
        self._is_repeated = True
        self.messages = prompts.ask_for_the_form(self.messages, text, why)
        more = count_tokens(text) + count_tokens(why)
        self.estimate = replace(self.estimate, prompt=self.estimate.prompt + more)
        yield self


class GroupsQuestion(Question):
    """A question about a window, or about those of its groups that cannot be used."""

    form: Form = "groups"

    def __init__(self, model: str, talk: Talk, faulty: Sequence[_Faulty] = ()) -> None:
        """Take the groups to ask about once more, if it is not the first question."""
        self._faulty = tuple(faulty)
        self._sources = _shown(talk, faulty)
        self._ids = prompts.short_ids(self._sources)
        messages, estimate = self._asked(talk)
        super().__init__(model, talk, messages, estimate)

    def settle(self, text: str, check: Check) -> Come:
        """Give the groups that may be carried out, and ask on about the others."""
        try:
            stated = read_form(prompts.GroupsAnswer, text).groups
        except Unreadable as error:
            yield from self._unread(text, str(error), check)
            return
        usable, doubted, faulty = self._sorted_out(stated, check)
        yield from _usable(self.talk, usable)
        is_last = bool(self._faulty)
        if doubted:
            yield OpinionsQuestion(self._model, self.talk, doubted, faulty, is_last)
        else:
            yield from _went_on(self._model, self.talk, faulty, is_last, check)

    def failed(self, state: State, why: str, check: Check) -> Come:
        """Give what comes of the window without an answer; what was turned down may be mended."""
        yield from _without_the_model(self.talk, self._faulty, check, state)
        yield self.talk.end(state, why)

    def _asked(self, talk: Talk) -> tuple[Messages, Estimate]:
        standing = talk.window.standing
        if not self._faulty:
            messages = prompts.ask_about(self._sources, standing)
            return messages, estimate_window(self._sources)
        short = {own: short for short, own in self._ids.items()}
        groups = [(one.group.stated(short), one.faults) for one in self._faulty]
        claims = [claim.text for one in self._faulty for claim in one.group.claims]
        faults = [why for one in self._faulty for why in one.faults]
        messages = prompts.ask_again(self._sources, standing, groups)
        return messages, estimate_again(self._sources, len(groups), [*claims, *faults])

    def _sorted_out(
        self, stated: Sequence[StatedGroup], check: Check
    ) -> tuple[list[Suggestion], list[_Doubted], list[_Faulty]]:
        """Part the groups: those to be carried out, those to ask an opinion on, and the others."""
        suggested: list[tuple[Group, Suggestion]] = []
        faulty: list[_Faulty] = []
        for one in stated:
            group = Group.of(one, self._ids)
            if group.kind == "conflict":
                self.talk.conflicts += _conflicts(self.talk, group)
                continue
            try:
                suggestion = self.talk.suggestions.of(group)
            except Unusable as error:
                # There is nothing to ask about a group of no memory that was shown.
                if set(group.ids).isdisjoint(self._ids.values()):
                    self.talk.turned_down.append(str(error))
                else:
                    faulty.append(_Faulty(group, (str(error),), None))
                continue
            unrelated = suggestion.unrelated(check)
            if unrelated is not None:
                self.talk.suggestions.release(suggestion)
                faulty.append(_Faulty(group, (unrelated,), None))
            elif self._is_wanted(suggestion.proposal):
                suggested.append((group, suggestion.narrowed(check)))
                check.announce(suggestion.proposal)
        usable, doubted = [], []
        for group, suggestion in suggested:
            faults = check.faults(suggestion.proposal, suggestion.sources)
            if any(not one.soft for one in faults):
                faulty.append(_Faulty(group, tuple(one.why for one in faults), suggestion))
                self.talk.suggestions.release(suggestion)
            elif doubts := doubts_of(suggestion, faults):
                doubted.append(_Doubted(group, suggestion, tuple(doubts)))
            else:
                usable.append(suggestion)
        return usable, doubted, faulty

    def _is_wanted(self, proposal: Proposal) -> bool:
        window = self.talk.window
        return proposal.operation in window.operations and proposal.id not in window.decided


class OpinionsQuestion(Question):
    """A question for a second opinion on what words alone cannot tell."""

    form: Form = "opinions"

    def __init__(
        self,
        model: str,
        talk: Talk,
        doubted: Sequence[_Doubted],
        faulty: Sequence[_Faulty],
        is_last: bool,
    ) -> None:
        """Take the groups that are in doubt, and those that cannot be used anyway."""
        self._doubted = tuple(doubted)
        self._faulty = tuple(faulty)
        self._is_last = is_last
        items = [doubt.item for one in doubted for doubt in one.doubts]
        super().__init__(model, talk, prompts.ask_for_opinions(items), estimate_opinions(items))

    def settle(self, text: str, check: Check) -> Come:
        """Give the groups that the opinions are for, and go on with the others."""
        try:
            opinions = read_form(prompts.OpinionsAnswer, text).opinions
        except Unreadable as error:
            yield from self._unread(text, str(error), check)
            return
        usable, faulty, first = [], list(self._faulty), 1
        for one in self._doubted:
            own = [
                opinion.model_copy(update={"n": opinion.n - first + 1})
                for opinion in opinions
                if first <= opinion.n < first + len(one.doubts)
            ]
            first += len(one.doubts)
            faults = standing(one.doubts, own, check)
            if faults:
                why = tuple(fault.why for fault in faults)
                at = frozenset(fault.claim for fault in faults if fault.claim is not None)
                self.talk.suggestions.release(one.suggestion)
                suggestion = replace(one.suggestion, doubted=at)
                faulty.append(_Faulty(one.group, why, suggestion))
            else:
                usable.append(one.suggestion)
        yield from _usable(self.talk, usable)
        yield from _went_on(self._model, self.talk, faulty, self._is_last, check)

    def failed(self, state: State, why: str, check: Check) -> Come:
        """Give what comes of the window: nothing that is in doubt is carried out."""
        yield from _without_the_model(self.talk, self._faulty, check, state)
        for one in self._doubted:
            yield Written(one.suggestion.proposal, state, why)
        yield self.talk.end(state, why)


def _key(model: str, messages: Messages) -> str:
    asked = hashlib.sha256(json_text(messages).encode()).hexdigest()
    return hashlib.sha256(f"{model}\n{asked}".encode()).hexdigest()


def _went_on(
    model: str, talk: Talk, faulty: Sequence[_Faulty], is_last: bool, check: Check
) -> Come:
    """Ask once more about groups that cannot be used, or do without the model."""
    if faulty and not is_last:
        yield GroupsQuestion(model, talk, faulty)
        return
    yield from _without_the_model(talk, faulty, check)
    yield talk.end("applied")


def _usable(talk: Talk, suggestions: Sequence[Suggestion]) -> Iterator[Written]:
    yield from talk.shared([Written(one.proposal, "planned") for one in suggestions])


def _shown(talk: Talk, faulty: Sequence[_Faulty]) -> tuple[Source, ...]:
    if not faulty:
        return talk.job.sources
    named = {one for each in faulty for one in each.group.ids}
    return tuple(source for source in talk.job.sources if source.id in named)


def _conflicts(talk: Talk, group: Group) -> list[Conflict]:
    by_id = {source.id: source for source in talk.job.sources}
    known = sorted(
        (by_id[one] for one in group.ids if one in by_id), key=lambda one: one.observed_at
    )
    return [
        Conflict(
            (earlier.id, later.id),
            talk.window.tenant,
            "statement",
            (earlier.text, later.text),
            "a model says that both cannot be true",
        )
        for earlier, later in pairwise(known)
    ]


def _without_the_model(
    talk: Talk, faulty: Sequence[_Faulty], check: Check, state: State = "rejected"
) -> Iterator[Written]:
    """Give what becomes of groups that cannot be used after all.

    state: of those of which nothing is written; only `rejected` is remembered.
    """
    talk.turned_down += [why for one in faulty if not one.suggestion for why in one.faults]
    settled = [
        _settled(one.suggestion, one.faults, check, state) for one in faulty if one.suggestion
    ]
    yield from (one for one in settled if one.state != "planned")
    yield from talk.shared([one for one in settled if one.state == "planned"])


def _settled(suggestion: Suggestion, faults: Sequence[str], check: Check, state: State) -> Written:
    """Replace claims at fault by the sentences that they cite; else nothing of it is written."""
    proposal, why = suggestion.proposal, "; ".join(faults)
    draft: Draft | None = mended(suggestion, check)
    if draft is None:
        return Written(proposal, state, why)
    why = f"the sources' own sentences stand for claims that were turned down: {why}"
    return Written(replace(proposal, draft=draft), "planned", why)


def share(used: Usage, count: int) -> list[Usage]:
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
