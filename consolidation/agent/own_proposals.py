"""Proposals that an agent makes by itself, and those that it decides about.

An agent's text is trusted as little as a model's: a program checks it, then a second reading, which
the agent must arrange. What passes both is pending; applying it is a decision of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.model.agent_writer import AGENTS
from slowwave.consolidation.model.answer_forms import StatedGroup
from slowwave.consolidation.model.question import Dialogue, Question, Reply, resume
from slowwave.consolidation.model.window_dialogue import WindowDialogue
from slowwave.consolidation.options import CycleOptions, PlanOptions
from slowwave.consolidation.planning.windows import shown_memories, window_of
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Result, Usage
from slowwave.consolidation.running.apply import find_stale
from slowwave.consolidation.running.approval import record_alone
from slowwave.consolidation.running.review_queue import read_sources
from slowwave.consolidation.snapshot.snapshot import compute_missing, read_snapshot
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import AGENT, Job
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.ledger import read_pending
from slowwave.store.memories import find_id
from slowwave.store.prefixes import match_prefix
from slowwave.store.records import timestamp

_STALE_CHECK = "this answer belongs to a different question: the memories or the text have changed"
_DECIDED = "these texts were already declined by a person, or their merge was undone"
_PENDING = "proposal {} already proposes a text for the same memories: apply or decline it first"
_QUEUED = "queued for review: an agent proposed it"


@dataclass(frozen=True)
class OwnProposal:
    """What became of an agent's group: faults, or a question, or a pending proposal."""

    # Sentences.
    faults: tuple[str, ...] = ()
    # To answer in a fresh context, and to pass with the same group.
    question: Question[Any] | None = None
    result: Result | None = None
    # The run that records the proposal.
    run_id: str | None = None


class OwnGroup(WindowDialogue):
    """The dialogue about one group of a window, which nobody is asked to write."""

    def judge(self, stated: StatedGroup) -> Dialogue[OwnProposal]:
        """Yield the checking question, unless a program finds faults, and then the result.

        stated: with the memories' own ids. Raises `Unanswered`.
        """
        written = self._propose([stated], {})
        if not written.candidates:
            yield OwnProposal(tuple(why for _, why in written.unusable) or (_DECIDED,))
            return
        (group,) = written.candidates
        if not group.faults:
            (group,) = yield from self._check(written)
        if group.reasons:
            yield OwnProposal(group.reasons)
            return
        result = self._conclude(group)
        is_planned = result.state == "planned"
        yield OwnProposal(result=result) if is_planned else OwnProposal((result.why or "",))


@dataclass(frozen=True)
class Proposer:
    """Judges and keeps the groups of an agent, for one tenant of a file."""

    path: Path
    tenant: str
    embedder: Embedder
    now: datetime
    progress: Progress

    def judge(self, group: StatedGroup, check: Mapping[str, str] | None) -> OwnProposal:
        """Return the faults of a group, or its checking question, or a result that can be kept.

        The ids of its memories may be shortened. check: an answer by its question's id. Raises
        `StoreError` if there is no such memory.
        """
        with open_reading(self.path) as file:
            ids = [find_id(file, memory_id, self.tenant) for memory_id in group.ids]
        started = self._dialogue(ids)
        if isinstance(started, OwnProposal):
            return started
        dialogue = started.judge(group.model_copy(update={"ids": ids}))
        judged, question = resume(dialogue)
        if question is not None:
            if check is None:
                return OwnProposal(question=question)
            text = check.get(question.id)
            if text is None:
                return OwnProposal((_STALE_CHECK,), question)
            fault = question.fault_of(text)
            if fault is not None:
                return OwnProposal((f"the answer cannot be read: {fault}",), question)
            judged, _ = resume(dialogue, Reply(text, Usage()))
        return judged[0]

    def keep(self, file: MemoryFile, result: Result) -> OwnProposal:
        """Keep a proposal as pending, in a run of its own, unless it is pending already."""
        proposal = result.proposal
        proposed = replace(
            result, state="pending", why=_QUEUED, model=AGENT, model_key=AGENTS.key, place=1
        )
        for decision in read_pending(file):
            if decision.key == proposal.id and decision.draft == proposal.draft.text:
                return OwnProposal(result=proposed, run_id=decision.run_id)
            if decision.key == proposal.id:
                return OwnProposal((_PENDING.format(decision.key),))
        stale = find_stale(proposed, read_sources(file, [proposed]))
        if stale is not None:
            return OwnProposal((stale,))
        return OwnProposal(result=proposed, run_id=record_alone(file, proposed, self.now))

    def _dialogue(self, ids: list[str]) -> OwnGroup | OwnProposal:
        """Return the dialogue about these memories, or why they cannot go into a text."""
        options = CycleOptions(tenants=(self.tenant,))
        model, now = self.embedder.name, timestamp(self.now)
        snapshot = read_snapshot(
            self.path, options, model=model, model_key=AGENTS.key, now=now, progress=self.progress
        )
        compute_missing(snapshot, self.embedder, None, self.progress)
        (view,) = snapshot.views
        fit = {memory.id: memory for memory in shown_memories(view, ())}
        unfit = [memory_id for memory_id in ids if memory_id not in fit]
        if unfit:
            return OwnProposal(tuple(_why_unfit(view, memory_id) for memory_id in unfit))
        decided = snapshot.remembered - snapshot.pending
        plan_options = PlanOptions(model_key=AGENTS.key, remembered=decided)
        memories = [fit[memory_id] for memory_id in dict.fromkeys(ids)]
        window = window_of(view, plan_options, memories)
        return OwnGroup(Job(window, tuple(view.sources(window.memories))), AGENTS)


def _why_unfit(view: TenantView, memory_id: str) -> str:
    """Return why a memory cannot go into a text with others."""
    merged_into = view.derived_from | view.supported_rule
    if memory_id in view.orders:
        why = "contains instructions to its reader"
    elif memory_id in view.verbatim_only:
        why = "stays verbatim, as code, data or a lesson"
    elif memory_id in merged_into:
        why = f"was already merged into memory {merged_into[memory_id]}: use that id"
    else:
        why = "is not an active working memory, or repeats another one"
    return f"memory {memory_id} {why}"


def find_planned(results: Sequence[Result], proposal_id: str) -> Result:
    """Return the result whose proposal has this id. Raises `NotFound` and `Ambiguous`."""
    by_id = {result.proposal.id: result for result in results}
    hint = "Nothing was changed. A memory may have changed since; list the pending proposals."
    return by_id[match_prefix(proposal_id, by_id, "proposal", " that is pending or planned", hint)]
