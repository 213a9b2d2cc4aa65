"""What a model is asked about a window, and what its answers come to.

A question knows its messages, reads the answer, and says what to ask once more: groups that
cannot be used, or an answer that cannot be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from slowwave.consolidation.planning.estimates import Estimate, estimate_window
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


class Question:
    """A question about a window, or about those of its groups that cannot be used."""

    form: Form = "groups"

    def __init__(self, model: str, talk: Talk, faulty: Sequence[_Faulty] = ()) -> None:
        """Take the groups to ask about once more, if it is not the first question."""
        self.talk = talk
        self._model = model
        self._faulty = tuple(faulty)
        self._is_reworded = False
        self._sources = self._shown()
        self._ids = prompts.short_ids(self._sources)
        self.messages = self._first_messages()
        self.estimate = self._estimated()

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
        return not isinstance(_read(text), str)

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.talk.usage += used

    def failed(self, state: State, why: str, check: Check) -> Iterator[Written | Asked]:
        """Give what becomes of the window without an answer; what was turned down may be mended."""
        for one in self._faulty:
            yield from _without_the_model(one, check)
        yield self.talk.end(state, why)

    def settle(self, text: str, check: Check) -> Iterator[Written | Asked | Question]:
        """Read the answer, and give what came of it, or what to ask once more."""
        groups = _read(text)
        if isinstance(groups, str):
            yield from self._unread(text, groups, check)
            return
        usable, faulty = self._sorted_out(groups, check)
        parts = share(self.talk.usage, max(1, len(usable)))
        for suggestion, part in zip(usable, parts, strict=False):
            yield Written(suggestion.proposal, "planned", usage=part)
        if faulty and not self._faulty:
            yield Question(self._model, self.talk, faulty)
            return
        for one in faulty:
            yield from _without_the_model(one, check)
        yield self.talk.end("applied")

    def _shown(self) -> tuple[Source, ...]:
        if not self._faulty:
            return self.talk.job.sources
        named = {one for faulty in self._faulty for one in faulty.group.ids}
        return tuple(source for source in self.talk.job.sources if source.id in named)

    def _first_messages(self) -> Messages:
        standing = self.talk.window.standing
        if not self._faulty:
            return prompts.ask_about(self._sources, standing)
        short = {own: short for short, own in self._ids.items()}
        groups = [(one.group.stated(short), one.faults) for one in self._faulty]
        return prompts.ask_again(self._sources, standing, groups)

    def _estimated(self) -> Estimate:
        estimate = estimate_window(self._sources)
        more = sum(
            count_tokens(claim.text) for one in self._faulty for claim in one.group.claims
        ) + sum(count_tokens(why) for one in self._faulty for why in one.faults)
        return replace(estimate, prompt=estimate.prompt + more)

    @property
    def _key(self) -> str:
        asked = hashlib.sha256(json_text(self.messages).encode()).hexdigest()
        return hashlib.sha256(f"{self._model}\n{asked}".encode()).hexdigest()

    def _unread(self, text: str, why: str, check: Check) -> Iterator[Written | Asked | Question]:
        if self._is_reworded:
            yield from self.failed("failed", why, check)
            return
        self._is_reworded = True
        self.messages = prompts.ask_for_the_form(self.messages, text, why)
        more = count_tokens(text) + count_tokens(why)
        self.estimate = replace(self.estimate, prompt=self.estimate.prompt + more)
        yield self

    def _sorted_out(
        self, groups: Sequence[StatedGroup], check: Check
    ) -> tuple[list[Suggestion], list[_Faulty]]:
        """Part the groups into those that may be carried out, and the others."""
        suggested: list[tuple[Group, Suggestion]] = []
        faulty: list[_Faulty] = []
        for stated in groups:
            group = Group.of(stated, self._ids)
            if group.kind == "conflict":
                self.talk.conflicts += self._conflict(group)
                continue
            try:
                suggestion = self.talk.suggestions.of(group)
            except Unusable as error:
                faulty.append(_Faulty(group, (str(error),), None))
                continue
            if suggestion.proposal.operation in self.talk.window.operations:
                suggested.append((group, suggestion.narrowed(check)))
                check.announce(suggestion.proposal)
        usable = []
        for group, suggestion in suggested:
            faults = check.faults(suggestion.proposal, suggestion.sources)
            if faults:
                faulty.append(_Faulty(group, tuple(one.why for one in faults), suggestion))
                self.talk.suggestions.release(suggestion)
            else:
                usable.append(suggestion)
        return usable, faulty

    def _conflict(self, group: Group) -> list[Conflict]:
        by_id = {source.id: source for source in self._sources}
        known = sorted(
            (by_id[one] for one in group.ids if one in by_id), key=lambda one: one.observed_at
        )
        return [
            Conflict(
                (earlier.id, later.id),
                self.talk.window.tenant,
                "statement",
                (earlier.text, later.text),
                "a model says that both cannot be true",
            )
            for earlier, later in pairwise(known)
        ]


def _read(text: str) -> list[StatedGroup] | str:
    """Give the groups of an answer; a sentence if it cannot be read."""
    try:
        return read_form(prompts.GroupsAnswer, text).groups
    except Unreadable as error:
        return str(error)


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
