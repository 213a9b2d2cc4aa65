"""The questions about one window: write, check, repair once, check again.

1. `WriteQuestion` shows the memories; the answer is groups, each with a text.
2. A program checks each group, then a model checks all of them in one `CheckQuestion`.
3. Groups with faults of either check are repaired once, and checked again.
4. Groups that are still wrong are rejected; a memory whose content is still lost stays active.
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
    Result,
    State,
    Usage,
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

# Results of proposals, the end of a window, or the next questions.
NextSteps = Steps[Result | AskedWindow]


@dataclass(frozen=True)
class CheckedGroup:
    """A group with its proposal, and the findings of both checks."""

    group: Group
    proposal: Proposal
    # Found by the program.
    faults: tuple[str, ...] = ()
    # Found by the checking model.
    objections: Objections = field(default_factory=Objections)

    @property
    def is_extract(self) -> bool:
        """Whether it makes a rule: memories that say more stay as its evidence."""
        return self.proposal.operation == "extract"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What must be repaired, as sentences."""
        lost = () if self.is_extract else self.objections.lost_reasons
        return (*self.faults, *self.objections.reasons, *lost)


@dataclass(frozen=True)
class Unproposed:
    """A group that cannot become a proposal, and why."""

    group: Group
    why: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """What must be repaired."""
        return (self.why,)


class WindowQuestion(Question[Result | AskedWindow]):
    """A question about one window."""

    def __init__(
        self, model: str, dialogue: WindowDialogue, messages: Messages, estimate: Estimate
    ) -> None:
        """Take the model, the messages, and the estimated tokens."""
        super().__init__(model, messages, estimate)
        self.dialogue = dialogue

    def charge(self, used: Usage) -> None:
        """Add usage for the window."""
        self.dialogue.charge(used)


class WriteQuestion(WindowQuestion):
    """Asks to write all groups of a window, or to repair its faulty ones."""

    form = WRITE

    def __init__(
        self, dialogue: WindowDialogue, faulty: Sequence[CheckedGroup | Unproposed] = ()
    ) -> None:
        """Take the groups to repair; none in the first question."""
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
        """Check the groups by program, and ask the checking model."""
        try:
            answer = parse_answer(WriteAnswer, text)
        except UnreadableAnswer as error:
            yield from self._ask_to_reformat(text, str(error))
            return
        candidates, unproposed = self._candidates(answer.groups)
        conflicts = [] if self._faulty else self._conflicts(answer.conflicts)
        checker = self.dialogue.models.checker
        if checker is None:
            for ids in conflicts:
                self.dialogue.note_conflict(ids)
            yield from _continue(self.dialogue, candidates, unproposed, self._faulty)
        elif candidates or conflicts:
            yield CheckQuestion(
                checker, self.dialogue, candidates, conflicts, unproposed, self._faulty
            )
        else:
            yield from _continue(self.dialogue, (), unproposed, self._faulty)

    def handle_failure(self, state: State, why: str) -> NextSteps:
        """Yield the end of the window, and the groups that need no repair."""
        yield from self.dialogue.settle(_without_repair(self.dialogue, self._faulty, state, why))
        yield self.dialogue.end(state, why)

    def _candidates(
        self, stated: Sequence[StatedGroup]
    ) -> tuple[list[CheckedGroup], list[Unproposed]]:
        """Return the groups with a proposal, checked by program, and those without."""
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
        """Return the conflicts between two or more shown memories."""
        found = (
            tuple(dict.fromkeys(self._ids.get(memory_id, "") for memory_id in ids))
            for ids in stated
        )
        return [ids for ids in found if len(ids) > 1 and "" not in ids]


class CheckQuestion(WindowQuestion):
    """Asks whether drafts say everything that their sources say, and nothing else."""

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
        """Take what to check, what cannot be, and the groups before the repair, if any."""
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
        """Add the objections, and continue."""
        try:
            stated = parse_answer(CheckAnswer, text).groups
        except UnreadableAnswer as error:
            yield from self._ask_to_reformat(text, str(error))
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
        yield from _continue(self.dialogue, checked, self._unproposed, self._before)

    def handle_failure(self, state: State, why: str) -> NextSteps:
        """Yield the end of the window: unchecked drafts are not written."""
        unchecked = [Result(each.proposal, state, why) for each in self._candidates]
        if self._before:
            unchecked = _without_repair(self.dialogue, self._before, state, why)
        yield from self.dialogue.settle(unchecked)
        yield self.dialogue.end(state, why)


def _continue(
    dialogue: WindowDialogue,
    candidates: Sequence[CheckedGroup],
    unproposed: Sequence[Unproposed],
    before: Sequence[CheckedGroup | Unproposed],
) -> NextSteps:
    """Accept groups without faults, and ask to repair the rest, once.

    before: the groups before their repair, if this is the second answer.
    """
    if before:
        dialogue.turned_down += [each.why for each in unproposed]
        yield from dialogue.settle(_after_repair(dialogue, candidates, before))
        yield dialogue.end("applied")
        return
    good = [each for each in candidates if not each.reasons]
    yield from dialogue.settle([_conclude(dialogue, each) for each in good])
    shown = set(dialogue.window.memories)
    faulty: list[CheckedGroup | Unproposed] = []
    faulty += [_without_strangers(each) for each in candidates if each.reasons]
    for each in unproposed:
        # A group without shown memories cannot be repaired.
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
) -> list[Result]:
    """Return the results of repaired groups: of the second text, or of the first.

    candidates: of the second answer. The first text is used if only something is missing from it:
    the sources that it loses stay active.
    """
    second = [_conclude(dialogue, each) for each in candidates]
    repaired = {
        memory_id for end in second if end.state == "planned" for memory_id in end.proposal.sources
    }
    found = list(second)
    for original in before:
        ids = set(original.group.ids)
        if not repaired.isdisjoint(ids):
            continue
        again = [end for end in second if not ids.isdisjoint(end.proposal.sources)]
        if isinstance(original, Unproposed):
            dialogue.turned_down += [] if again else [original.why]
            continue
        first = _conclude(dialogue, original)
        if first.state == "planned":
            found = [end for end in found if end not in again]
        if first.state == "planned" or not again:
            found.append(first)
    return found


def _without_repair(
    dialogue: WindowDialogue, before: Sequence[CheckedGroup | Unproposed], state: State, why: str
) -> list[Result]:
    """Return the results of groups whose repair failed or could not be checked.

    A first text that only loses something is used. The rest is not rejected, so that it can be
    asked about another night.
    """
    ends = [(each, _conclude(dialogue, each)) for each in before if isinstance(each, CheckedGroup)]
    return [
        end if end.state == "planned" else Result(each.proposal, state, why) for each, end in ends
    ]


def _without_strangers(candidate: CheckedGroup) -> CheckedGroup:
    """Return a candidate without memories that do not belong, if enough are left."""
    group = candidate.group.without(candidate.objections.strangers)
    return replace(candidate, group=group) if len(group.ids) > 1 else candidate


def _conclude(dialogue: WindowDialogue, candidate: CheckedGroup) -> Result:
    """Return the final result of a candidate.

    A memory whose content is lost stays active; a text with another fault is rejected.
    """
    why = "; ".join((*candidate.faults, *candidate.objections.reasons))
    if why:
        return Result(candidate.proposal, "rejected", why)
    lost = candidate.objections.losing
    if not lost:
        return Result(candidate.proposal, "planned")
    groups = dialogue.groups
    try:
        proposal = groups.propose(candidate.group, staying=lost)
    except Unusable as error:
        faults = [str(error)]
    else:
        faults = find_faults(proposal, groups.sources(proposal.sources))
        if not groups.is_wanted(proposal):
            faults.append("what is left of it was decided before")
    if faults:
        why = "; ".join((*candidate.objections.lost_reasons, *faults))
        return Result(candidate.proposal, "rejected", why)
    kept = "; ".join(candidate.objections.lost_reasons)
    return Result(
        proposal, "planned", f"sources stay active because the text lacks words of theirs: {kept}"
    )
