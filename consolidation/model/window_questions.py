"""What a model is asked about one window: to write, to check, once to repair, to check again.

1. `WriteQuestion` shows the memories; the answer is groups, each with a text.
2. Each group is checked by program, then all of them are read in one `CheckQuestion`.
3. Groups with faults of either check are written once more, and checked once more.
4. What is still wrong then falls; a memory of which something is still lost stays active.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from slowwave.consolidation.planning.estimates import (
    Estimate,
    estimate_check,
    estimate_repair,
    estimate_window,
)
from slowwave.consolidation.proposals import (
    AskedWindow,
    Proposal,
    State,
    Usage,
    VerifiedProposal,
)
from slowwave.consolidation.writing.program_check import find_faults, find_hints

from . import prompts
from .answer_forms import CHECK, WRITE, CheckAnswer, StatedGroup, WriteAnswer
from .dialogue import WindowDialogue
from .groups import Group, Unusable
from .objections import Objections, objections_of
from .parsing import UnreadableAnswer, parse_answer
from .prompts import DraftToCheck, Messages
from .question import Question, Steps

# What comes of a question: proposals, the end of a window, or what is asked next.
NextSteps = Steps[VerifiedProposal | AskedWindow]


@dataclass(frozen=True)
class CheckedGroup:
    """A group that a proposal was made of, with what both checks found."""

    group: Group
    proposal: Proposal
    # Found by program.
    faults: tuple[str, ...] = ()
    # Found by reading.
    objections: Objections = field(default_factory=Objections)

    @property
    def is_extract(self) -> bool:
        """Whether it makes a rule: memories that say more than it stay, as its evidence."""
        return self.proposal.operation == "extract"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What must be mended, as sentences."""
        lost = () if self.is_extract else self.objections.lost_reasons
        return (*self.faults, *self.objections.reasons, *lost)


@dataclass(frozen=True)
class Unproposed:
    """A group that no proposal can be made of, and why."""

    group: Group
    why: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """What must be mended."""
        return (self.why,)


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


class WriteQuestion(WindowQuestion):
    """A question about all memories of a window, or about its faulty groups once more."""

    form = WRITE

    def __init__(
        self, dialogue: WindowDialogue, faulty: Sequence[CheckedGroup | Unproposed] = ()
    ) -> None:
        """Take the groups to write once more; none on the first question."""
        self._faulty = tuple(faulty)
        named = {memory_id for each in faulty for memory_id in each.group.ids}
        sources = dialogue.groups.sources(named) if faulty else dialogue.job.sources
        self._ids = prompts.short_ids(sources)
        derived = dialogue.window.derived
        if faulty:
            short = {own: shown for shown, own in self._ids.items()}
            listed = [each.group.stated(short, each.reasons) for each in faulty]
            messages = prompts.ask_to_repair(sources, derived, listed)
            estimate = estimate_repair(sources, listed)
        else:
            messages = prompts.ask_to_write(sources, derived)
            estimate = estimate_window(sources)
        super().__init__(dialogue.models.writer, dialogue, messages, estimate)

    def handle_answer(self, text: str) -> NextSteps:
        """Check the groups by program, and have them read."""
        try:
            answer = parse_answer(WriteAnswer, text)
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error))
            return
        candidates, unproposed = self._candidates(answer.groups)
        conflicts = [] if self._faulty else self._conflicts(answer.conflicts)
        checker = self.dialogue.models.checker
        if checker is None:
            for ids in conflicts:
                self.dialogue.note_conflict(ids)
            yield from _go_on(self.dialogue, candidates, unproposed, self._faulty)
        elif candidates or conflicts:
            yield CheckQuestion(
                checker, self.dialogue, candidates, conflicts, unproposed, self._faulty
            )
        else:
            yield from _go_on(self.dialogue, (), unproposed, self._faulty)

    def handle_failure(self, state: State, why: str) -> NextSteps:
        """Yield the end of the window; of what was to be mended, what is right as it was."""
        yield from self.dialogue.settled(_unmended(self.dialogue, self._faulty, state, why))
        yield self.dialogue.end(state, why)

    def _candidates(
        self, stated: Sequence[StatedGroup]
    ) -> tuple[list[CheckedGroup], list[Unproposed]]:
        """Return the groups that make a proposal, checked by program, and the others."""
        groups = self.dialogue.groups
        candidates: list[CheckedGroup] = []
        unproposed: list[Unproposed] = []
        taken: set[str] = set()
        for each in stated:
            group = Group.of(each, self._ids)
            try:
                if not taken.isdisjoint(group.ids):
                    raise Unusable("one of its ids is in another group already")
                proposal = groups.propose(group)
            except Unusable as error:
                unproposed.append(Unproposed(group, str(error)))
                continue
            taken.update(group.ids)
            if groups.is_wanted(proposal):
                faults = tuple(find_faults(proposal, groups.sources(group.ids)))
                candidates.append(CheckedGroup(group, proposal, faults))
        return candidates, unproposed

    def _conflicts(self, stated: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the conflicts of two or more memories that were shown."""
        found = (tuple(dict.fromkeys(self._ids.get(one, "") for one in ids)) for ids in stated)
        return [ids for ids in found if len(ids) > 1 and "" not in ids]


class CheckQuestion(WindowQuestion):
    """A question whether drafts say what their sources say, all of it, and nothing else."""

    form = CHECK

    def __init__(
        self,
        model: str,
        dialogue: WindowDialogue,
        candidates: Sequence[CheckedGroup],
        conflicts: Sequence[tuple[str, ...]],
        unproposed: Sequence[Unproposed],
        before: Sequence[CheckedGroup | Unproposed],
    ) -> None:
        """Take what is read, what need not be, and what was asked about before, if anything."""
        self._candidates = tuple(candidates)
        self._conflicts = tuple(conflicts)
        self._unproposed = tuple(unproposed)
        self._before = tuple(before)
        sources = dialogue.groups.sources
        self._drafts = [
            DraftToCheck(
                each.proposal.operation,
                sources(each.group.ids),
                each.group.text,
                each.proposal.left_out,
                find_hints(each.proposal, sources(each.group.ids)),
            )
            for each in candidates
        ] + [DraftToCheck("conflict", sources(ids), "") for ids in conflicts]
        messages = prompts.ask_to_check(self._drafts)
        estimate = estimate_check(messages[-1]["content"], len(self._drafts))
        super().__init__(model, dialogue, messages, estimate)

    def handle_answer(self, text: str) -> NextSteps:
        """Note the objections, and go on."""
        try:
            stated = parse_answer(CheckAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_for_form(text, str(error))
            return
        by_number = {each.n: each for each in stated}
        objections = [
            objections_of(by_number.get(number), draft)
            for number, draft in enumerate(self._drafts, start=1)
        ]
        checked = [
            replace(candidate, objections=found)
            for candidate, found in zip(self._candidates, objections, strict=False)
        ]
        for ids, found in zip(self._conflicts, objections[len(checked) :], strict=True):
            if not found.reasons:
                self.dialogue.note_conflict(ids)
        yield from _go_on(self.dialogue, checked, self._unproposed, self._before)

    def handle_failure(self, state: State, why: str) -> NextSteps:
        """Yield the end of the window: nothing is written that was not read."""
        unread = [VerifiedProposal(each.proposal, state, why) for each in self._candidates]
        if self._before:
            unread = _unmended(self.dialogue, self._before, state, why)
        yield from self.dialogue.settled(unread)
        yield self.dialogue.end(state, why)


def _go_on(
    dialogue: WindowDialogue,
    candidates: Sequence[CheckedGroup],
    unproposed: Sequence[Unproposed],
    before: Sequence[CheckedGroup | Unproposed],
) -> NextSteps:
    """Accept what has no fault, and have the rest mended, once.

    before: the groups that were to be mended, if this is the second answer about them.
    """
    if before:
        dialogue.turned_down += [each.why for each in unproposed]
        yield from dialogue.settled(_after_repair(dialogue, candidates, before))
        yield dialogue.end("applied")
        return
    good = [each for each in candidates if not each.reasons]
    yield from dialogue.settled([_ended(dialogue, each) for each in good])
    shown = set(dialogue.window.memories)
    faulty: list[CheckedGroup | Unproposed] = []
    faulty += [_without_strangers(each) for each in candidates if each.reasons]
    for each in unproposed:
        # There is nothing to ask about a group of no memory that was shown.
        if shown.isdisjoint(each.group.ids):
            dialogue.turned_down.append(each.why)
        else:
            faulty.append(each)
    if faulty:
        yield WriteQuestion(dialogue, faulty)
    else:
        yield dialogue.end("applied")


def _after_repair(
    dialogue: WindowDialogue,
    candidates: Sequence[CheckedGroup],
    before: Sequence[CheckedGroup | Unproposed],
) -> list[VerifiedProposal]:
    """Return what becomes of groups that were to be mended: the second text, or the first.

    candidates: of the second answer. The first text stays in the running where it was right as far
    as it goes: what it loses keeps its source active.
    """
    second = [_ended(dialogue, each) for each in candidates]
    mended = {of for end in second if end.state == "planned" for of in end.proposal.sources}
    found = list(second)
    for original in before:
        ids = set(original.group.ids)
        if not mended.isdisjoint(ids):
            continue
        again = [end for end in second if not ids.isdisjoint(end.proposal.sources)]
        if isinstance(original, Unproposed):
            dialogue.turned_down += [] if again else [original.why]
            continue
        first = _ended(dialogue, original)
        if first.state == "planned":
            found = [end for end in found if end not in again]
        if first.state == "planned" or not again:
            found.append(first)
    return found


def _unmended(
    dialogue: WindowDialogue, before: Sequence[CheckedGroup | Unproposed], state: State, why: str
) -> list[VerifiedProposal]:
    """Return what becomes of groups whose repair did not come, or could not be read and checked.

    A first text that only loses something will do. No other is rejected, so that it may be asked
    about another night.
    """
    ends = [(each, _ended(dialogue, each)) for each in before if isinstance(each, CheckedGroup)]
    return [
        end if end.state == "planned" else VerifiedProposal(each.proposal, state, why)
        for each, end in ends
    ]


def _without_strangers(candidate: CheckedGroup) -> CheckedGroup:
    """Return a candidate without the memories that do not belong to it, if enough are left."""
    group = candidate.group.without(candidate.objections.strangers)
    return replace(candidate, group=group) if len(group.ids) > 1 else candidate


def _ended(dialogue: WindowDialogue, candidate: CheckedGroup) -> VerifiedProposal:
    """Return what becomes of a candidate that is not asked about again.

    A memory of which something is lost stays active; a text with anything else wrong falls.
    """
    why = "; ".join((*candidate.faults, *candidate.objections.reasons))
    if why:
        return VerifiedProposal(candidate.proposal, "rejected", why)
    lost = candidate.objections.losing
    if not lost:
        return VerifiedProposal(candidate.proposal, "planned")
    groups = dialogue.groups
    try:
        proposal = groups.propose(candidate.group, staying=lost)
    except Unusable as error:
        faults = [str(error)]
    else:
        faults = find_faults(proposal, groups.sources(proposal.sources))
        if not groups.is_wanted(proposal):
            faults.append("what is left of it was decided about before")
    if faults:
        why = "; ".join((*candidate.objections.lost_reasons, *faults))
        return VerifiedProposal(candidate.proposal, "rejected", why)
    kept = "; ".join(candidate.objections.lost_reasons)
    return VerifiedProposal(proposal, "planned", f"kept active what the text lacks: {kept}")
