"""Which proposals a night must leave out so that recall does not fall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.errors import QuestionsError
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import Proposal, Usage
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.file import open_writing
from slowwave.store.model_answers import KeptAnswer, keep_answers
from slowwave.store.records import timestamp

from .measures import MANY, Measures, mean
from .questions import RecallQuestion
from .trial import Searched, Trial, Trials

# So often proposals are left out before all are: each time is a night on a copy.
_ROUNDS = 5


@dataclass(frozen=True)
class RecallGuard:
    """What recall is measured by, and how far it may fall."""

    # None lets the memories of the file ask for themselves.
    asked: Sequence[RecallQuestion] | None
    # Of the mean of recall@10.
    limit: float


@dataclass(frozen=True)
class GuardedNight:
    """What a guard found: how far recall of ten falls, and what had to be left out for that."""

    excluded: tuple[Proposal, ...]
    # The mean of recall@10 before, after the whole night, and after what is let through.
    before: float
    unguarded: float
    guarded: float
    questions: int
    limit: float
    # Of the night that is let through.
    options: CycleOptions
    # What a model answered meanwhile, and what that took.
    answers: Sequence[KeptAnswer]
    usage: Usage


def tried_first(
    path: Path,
    options: CycleOptions,
    embedder: Embedder,
    writer: Writer,
    now: datetime,
    guard: RecallGuard,
    keeps_answers: bool,
    progress: Progress,
    interruption: Interruption,
) -> GuardedNight:
    """Try a night on copies of a file, and say what of it may be done.

    writer: the one of the night that follows, so that its budget is of all together.
    keeps_answers: whether what a model answers is put into the file, so that the night that
    follows asks nothing twice; nothing else is written. Raises `QuestionsError` if no question can
    be answered from the file, and what `run_cycle` raises.
    """
    trials = Trials(path, guard.asked, embedder, now, options.tenants, progress)
    refuse_unanswerable(path, trials)
    # What waits for a person is measured as if it were approved: otherwise nothing would be
    # measured.
    at_once = replace(options, review="never")
    night = let_through(trials, at_once, writer, guard.limit, interruption)
    if keeps_answers and night.answers:
        with open_writing(path) as file:
            keep_answers(file, night.answers, timestamp(now))
    return replace(night, options=replace(night.options, review=options.review))


def refuse_unanswerable(path: Path, trials: Trials) -> None:
    """Refuse questions of which the file answers none. Raises `QuestionsError`.

    A file whose memories ask for themselves may be empty.
    """
    if trials.without_evidence and not trials.questions:
        raise QuestionsError(
            f"No memory in {path} answers any of the questions: "
            f"{trials.without_evidence} name no evidence that is there.",
            "Nothing was changed. Evidence is given by the ids of memories: 'slowwave list'.",
        )


def let_through(
    trials: Trials,
    options: CycleOptions,
    writer: Writer,
    limit: float,
    interruption: Interruption,
) -> GuardedNight:
    """Try the night on copies until recall@10 falls by no more than `limit`.

    Each time, what is to blame for the questions that lost is left out; after `_ROUNDS` times,
    everything is. Where a model first reads conversations that wait, and recall falls, it is
    compared with what it is after that: new memories are no fault of the night's proposals.
    """
    excluded: dict[str, Proposal] = {}
    trial = trials.night(options, writer, interruption)
    used = trial.outcome.usage
    compared = trials.before
    unguarded = guarded = _recall(trial.after.by_text)
    if trial.outcome.taken_up.read and _recall(compared.by_text) - guarded > limit:
        only_read = trials.night(replace(options, approved=frozenset()), writer, interruption)
        used += only_read.outcome.usage
        compared = only_read.after
    before = _recall(compared.by_text)
    tried = 1
    while before - guarded > limit and _applied(trial):
        blamed = list(_blamed(trials.questions, compared, trial)) if tried < _ROUNDS else []
        excluded |= {one.id: one for one in blamed or _applied(trial)}
        options = replace(options, excluded=frozenset(excluded))
        trial = trials.night(options, writer, interruption)
        used += trial.outcome.usage
        guarded = _recall(trial.after.by_text)
        tried += 1
    return GuardedNight(
        tuple(excluded.values()),
        before,
        unguarded,
        guarded,
        len(trials.questions),
        limit,
        options,
        trial.answers,
        used,
    )


def _recall(measured: Sequence[Measures]) -> float:
    return mean(measured).recall_at_10


def _applied(trial: Trial) -> list[Proposal]:
    return [one.proposal for one in trial.outcome.results if one.state == "applied"]


def _blamed(
    questions: Sequence[RecallQuestion], before: Searched, trial: Trial
) -> Iterator[Proposal]:
    """Yield what took a question's evidence away, or else what came before it in the hits."""
    for at, question in enumerate(questions):
        if trial.after.by_text[at].recall_at_10 >= before.by_text[at].recall_at_10:
            continue
        evidence = set(question.evidence_ids)
        took = [one for one in _applied(trial) if evidence & set(one.leaving)]
        if took:
            yield from took
            continue
        known = {hit.memory.id for hit in before.hits[at][:MANY]}
        new = [hit for hit in trial.after.hits[at][:MANY] if hit.memory.id not in known]
        made_of = {source for hit in new for source in (hit.memory.id, *hit.sources)}
        yield from (one for one in _applied(trial) if made_of & set(one.sources))
