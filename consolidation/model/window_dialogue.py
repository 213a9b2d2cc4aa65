"""Consolidate a window: write, check, repair once, check again.

1. The model is shown the memories; the answer is groups, each with a text.
2. A program checks each group, then a model checks all of them in one question.
3. Groups with faults of either check are repaired once, and checked again.
4. Groups that are still wrong are rejected; a memory whose content is still lost stays active.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from slowwave.consolidation.planning.estimates import estimate_repair, estimate_window
from slowwave.consolidation.proposals import AskedWindow, Conflict, Proposal, Result, State
from slowwave.consolidation.writing.draft_check import find_dropped, find_faults, find_hints
from slowwave.consolidation.writing.writer import Job
from slowwave.store.records import UNDATED

from . import prompts
from .answer_forms import WRITE, StatedGroup
from .groups import Unusable, WindowGroups, with_own_ids
from .interface import Models
from .objections import Objections, check_drafts
from .prompts import DraftToCheck
from .question import Asking, Bill, Dialogue, Question, ask
from .unanswered import Unanswered


@dataclass(frozen=True)
class CheckedGroup:
    """A group with its proposal, and the findings of both checks."""

    group: StatedGroup
    proposal: Proposal
    # Found by the program.
    faults: tuple[str, ...] = ()
    # Found by the checking model, and what the program finds lost.
    objections: Objections = field(default_factory=Objections)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What must be repaired, as sentences."""
        wrong = (*self.faults, *self.objections.reasons)
        # Memories that say more than a rule stay as its evidence.
        is_rule = self.proposal.operation == "extract"
        lost = () if is_rule and wrong else self.objections.lost
        return (*wrong, *(why for _, why in lost))

    def without_unrelated(self) -> CheckedGroup:
        """Return it without memories that do not belong, if enough are left."""
        ids = [own_id for own_id in self.group.ids if own_id not in self.objections.strangers]
        if len(ids) < 2:
            return self
        return replace(self, group=self.group.model_copy(update={"ids": ids}))


class WrittenGroups(NamedTuple):
    """An answer of the writing model, checked by program."""

    candidates: list[CheckedGroup]
    # Groups that cannot become a proposal, and why.
    unusable: list[tuple[StatedGroup, str]]
    # The ids of memories that cannot all be true.
    conflicts: list[tuple[str, ...]]


class WindowDialogue:
    """The questions about a window, and their results."""

    def __init__(self, job: Job, models: Models) -> None:
        self._job = job
        self._window = job.window
        self._groups = WindowGroups(job, models)
        self._models = models
        self._bill = Bill()
        self._conflicts: list[Conflict] = []
        # Why groups did not become proposals, even after a repair.
        self._turned_down: list[str] = []
        # The ids of memories that are in a proposal: each is in at most one.
        self._taken: set[str] = set()

    def run(self) -> Dialogue[Result | AskedWindow]:
        """Yield the questions and the results, and at last the end of the window."""
        state: State = "applied"
        why = None
        try:
            yield from self._consolidate()
        except Unanswered as error:
            state, why = error.state, str(error)
        conflicts, turned_down = tuple(self._conflicts), tuple(self._turned_down)
        yield AskedWindow(self._window, state, why, self._bill.total, conflicts, turned_down)

    def _consolidate(self) -> Dialogue[Result]:
        """Yield the questions and the results. Raises `Unanswered`."""
        first = yield from self._write()
        try:
            checked = yield from self._check(first)
        except Unanswered as error:
            # An unchecked draft is not written.
            yield from self._settle(_unanswered(group, error) for group in first.candidates)
            raise
        good = [group for group in checked if self._is_good(group)]
        yield from self._settle(map(self._conclude, good))
        faulty = [group.without_unrelated() for group in checked if group not in good]
        unusable = []
        for group, why in first.unusable:
            if set(group.ids).isdisjoint(self._window.memories):  # nothing to repair it with
                self._turned_down.append(why)
            else:
                unusable.append((group, why))
        if not faulty and not unusable:
            return
        try:
            second = yield from self._write(
                [
                    *((checked.group, checked.reasons) for checked in faulty),
                    *((group, (why,)) for group, why in unusable),
                ]
            )
            repaired = yield from self._check(second)
        except Unanswered as error:
            # What is not rejected can be asked about another night.
            yield from self._settle(_unanswered(checked, error) for checked in faulty)
            raise
        self._turned_down += [why for _, why in second.unusable]
        yield from self._settle(self._after_repair(repaired, faulty, unusable))

    def _write(
        self, faulty: Sequence[tuple[StatedGroup, Sequence[str]]] = ()
    ) -> Asking[WrittenGroups]:
        """Ask to write all groups, or to repair faulty ones, and check them by program.

        faulty: groups, each with its faults.
        """
        derived, sources = self._window.derived, self._job.sources
        if faulty:
            faulty_ids = {memory_id for group, _ in faulty for memory_id in group.ids}
            sources = tuple(self._groups.sources(faulty_ids))
        ids = prompts.short_ids(sources)
        if faulty:
            short = {memory_id: shown for shown, memory_id in ids.items()}
            listed = [
                {
                    "operation": group.operation,
                    "ids": [short[own_id] for own_id in group.ids if own_id in short],
                    "text": group.text,
                    "faults": list(faults),
                }
                for group, faults in faulty
            ]
            messages = prompts.ask_to_repair(sources, derived, listed)
            estimate = estimate_repair(sources, listed)
        else:
            messages = prompts.ask_to_write(sources, derived)
            estimate = estimate_window(sources)
        question = Question(self._models.writer, WRITE, messages, estimate)
        answer = yield from ask(question, self._bill)
        written = self._propose(answer.groups, ids)
        for shown in answer.conflicts:
            named_ids = tuple(dict.fromkeys(ids.get(short_id, "") for short_id in shown))
            if len(named_ids) > 1 and "" not in named_ids:
                written.conflicts.append(named_ids)
        return written

    def _propose(self, answered: Sequence[StatedGroup], ids: dict[str, str]) -> WrittenGroups:
        """Return the groups with a proposal, checked by program, and those without.

        An update with fewer than two dates is a conflict: nothing shows which value is newer.
        """
        written = WrittenGroups([], [], [])
        taken_ids: set[str] = set()
        notes = [source.id for source in self._job.sources if source.is_note]
        for stated in answered:
            group = with_own_ids(stated, ids, notes)
            try:
                if not taken_ids.isdisjoint(group.ids):
                    raise Unusable("one of its ids is in another group already")
                proposal = self._groups.propose(group)
            except Unusable as error:
                written.unusable.append((group, str(error)))
                continue
            taken_ids.update(group.ids)
            sources = self._groups.sources(group.ids)
            dated = [source for source in sources if source.observed_at != UNDATED]
            if proposal.operation == "update" and len(dated) < 2:
                written.conflicts.append(proposal.sources)
            elif self._groups.is_wanted(proposal):
                faults = tuple(find_faults(proposal, sources))
                dropped = Objections(lost=tuple(find_dropped(proposal, sources)))
                written.candidates.append(CheckedGroup(group, proposal, faults, dropped))
        return written

    def _check(self, written: WrittenGroups) -> Asking[list[CheckedGroup]]:
        """Ask whether drafts say what their sources say, and return them with the objections."""
        drafts = [
            DraftToCheck(
                candidate.proposal.operation,
                sources := self._groups.sources(candidate.group.ids),
                candidate.group.text,
                candidate.proposal.left_out,
                find_hints(candidate.proposal, sources),
            )
            for candidate in written.candidates
        ]
        drafts += [
            DraftToCheck("conflict", self._groups.sources(ids), "") for ids in written.conflicts
        ]
        objections = [Objections()] * len(drafts)
        if self._models.checker is not None and drafts:
            objections = yield from check_drafts(self._models.checker, drafts, self._bill)
        count = len(written.candidates)
        for ids, checked in zip(written.conflicts, objections[count:], strict=True):
            if not checked.reasons:
                self._add_conflicts(ids)
        return [
            replace(candidate, objections=checked.plus(candidate.objections))
            for candidate, checked in zip(written.candidates, objections[:count], strict=True)
        ]

    def _is_good(self, group: CheckedGroup) -> bool:
        """Whether a group needs no repair, such as a rule that memories which say more support."""
        is_rule = group.proposal.operation == "extract"
        return not group.reasons or (is_rule and self._conclude(group).state == "planned")

    def _add_conflicts(self, ids: Collection[str]) -> None:
        """Add conflicts between memories that cannot all be true, each with the next by date."""
        for earlier, later in pairwise(self._groups.sources(ids)):
            if (earlier.id, later.id) not in self._window.apart:
                self._conflicts.append(
                    Conflict(
                        (earlier.id, later.id),
                        self._window.tenant,
                        "statement",
                        (earlier.text, later.text),
                        "a model says that both cannot be true",
                    )
                )

    def _settle(self, results: Iterator[Result]) -> Iterator[Result]:
        """Yield results with their share of the usage since the last ones.

        A memory goes into the first accepted proposal that contains it.
        """
        accepted = []
        for result in results:
            if result.state == "planned":
                if not self._taken.isdisjoint(result.proposal.sources):
                    self._turned_down.append("one of its memories is in another group already")
                    continue
                self._taken.update(result.proposal.sources)
            accepted.append(result)
        if accepted:
            for result, part in zip(accepted, self._bill.share(len(accepted)), strict=True):
                yield replace(result, usage=part)

    def _conclude(self, candidate: CheckedGroup) -> Result:
        """Return the final result of a candidate.

        A memory whose content is lost stays active; a text with another fault is rejected.
        """
        objections = candidate.objections
        why = "; ".join((*candidate.faults, *objections.reasons))
        if why:
            return Result(candidate.proposal, "rejected", why)
        if not objections.lost:
            return Result(candidate.proposal, "planned")
        lost = "; ".join(why for _, why in objections.lost)
        losing = {memory_id for memory_id, _ in objections.lost}
        try:
            proposal = self._groups.propose(candidate.group, losing)
        except Unusable as error:
            faults = [str(error)]
        else:
            faults = find_faults(proposal, self._groups.sources(proposal.sources))
            if not self._groups.is_wanted(proposal):
                faults.append("what is left of it was decided before")
        if faults:
            return Result(candidate.proposal, "rejected", "; ".join((lost, *faults)))
        why = f"sources stay active because the text lacks words of theirs: {lost}"
        return Result(proposal, "planned", why)

    def _after_repair(
        self,
        repaired: Sequence[CheckedGroup],
        faulty: Sequence[CheckedGroup],
        unusable: Sequence[tuple[StatedGroup, str]],
    ) -> Iterator[Result]:
        """Yield the results of repaired groups: of the second text, or of the first.

        The first text is used if only something is missing from it: the sources that it loses stay
        active.
        """
        results = second = list(map(self._conclude, repaired))

        def repairs_of(group: StatedGroup) -> list[Result]:
            return [
                result
                for result in second
                if not set(group.ids).isdisjoint(result.proposal.sources)
            ]

        for original in faulty:
            repairs = repairs_of(original.group)
            if any(result.state == "planned" for result in repairs):
                continue
            first = self._conclude(original)
            if first.state == "planned":
                results = [result for result in results if result not in repairs]
            if first.state == "planned" or not repairs:
                results = [*results, first]
        self._turned_down += [why for group, why in unusable if not repairs_of(group)]
        yield from results


def _unanswered(candidate: CheckedGroup, error: Unanswered) -> Result:
    return Result(candidate.proposal, error.state, str(error))
