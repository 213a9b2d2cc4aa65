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
    estimate_opinions,
    estimate_window,
)
from slowwave.consolidation.proposals import (
    Asked,
    Conflict,
    Draft,
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
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def window(self) -> Window:
        """The window."""
        return self.job.window

    def end(self, state: State, why: str | None = None) -> Asked:
        """Give what became of the question."""
        return Asked(self.window, state, why, self.usage, tuple(self.conflicts))


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
        self.talk.usage += used

    @property
    def _key(self) -> str:
        asked = hashlib.sha256(json_text(self.messages).encode()).hexdigest()
        return hashlib.sha256(f"{self._model}\n{asked}".encode()).hexdigest()

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
        for one in self._faulty:
            yield from _without_the_model(one, check)
        yield self.talk.end(state, why)

    def _asked(self, talk: Talk) -> tuple[Messages, Estimate]:
        standing, estimate = talk.window.standing, estimate_window(self._sources)
        if not self._faulty:
            return prompts.ask_about(self._sources, standing), estimate
        short = {own: short for short, own in self._ids.items()}
        groups = [(one.group.stated(short), one.faults) for one in self._faulty]
        claims = [claim.text for one in self._faulty for claim in one.group.claims]
        faults = [why for one in self._faulty for why in one.faults]
        more = sum(map(count_tokens, [*claims, *faults]))
        messages = prompts.ask_again(self._sources, standing, groups)
        return messages, replace(estimate, prompt=estimate.prompt + more)

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
                faulty.append(_Faulty(group, (str(error),), None))
                continue
            unrelated = suggestion.unrelated(check)
            if unrelated is not None:
                self.talk.suggestions.release(suggestion)
                faulty.append(_Faulty(group, (unrelated,), None))
            elif suggestion.proposal.operation in self.talk.window.operations:
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
            faults = standing(one.doubts, own)
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
        doubted = [
            _Faulty(one.group, tuple(doubt.fault.why for doubt in one.doubts), one.suggestion)
            for one in self._doubted
        ]
        for one in (*self._faulty, *doubted):
            yield from _without_the_model(one, check)
        yield self.talk.end(state, why)


def _went_on(
    model: str, talk: Talk, faulty: Sequence[_Faulty], is_last: bool, check: Check
) -> Come:
    """Ask once more about groups that cannot be used, or do without the model."""
    if faulty and not is_last:
        yield GroupsQuestion(model, talk, faulty)
        return
    for one in faulty:
        yield from _without_the_model(one, check)
    yield talk.end("applied")


def _usable(talk: Talk, suggestions: Sequence[Suggestion]) -> Iterator[Written]:
    parts = share(talk.usage, max(1, len(suggestions)))
    for suggestion, part in zip(suggestions, parts, strict=False):
        yield Written(suggestion.proposal, "planned", usage=part)


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


def _without_the_model(faulty: _Faulty, check: Check) -> Iterator[Written]:
    """Give what becomes of a group that cannot be used after all.

    Claims at fault are replaced by the sentences that they cite; else nothing of it is written.
    """
    suggestion, why = faulty.suggestion, "; ".join(faulty.faults)
    if suggestion is None:
        return
    proposal = suggestion.proposal
    draft: Draft | None = mended(suggestion, check)
    if draft is None:
        yield Written(proposal, "rejected", why)
    else:
        why = f"the sources' own sentences stand for claims that were turned down: {why}"
        yield Written(replace(proposal, draft=draft), "planned", why)


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
