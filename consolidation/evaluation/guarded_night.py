"""Exclude proposals from a night so that recall does not fall."""

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
from .trial import SearchResults, Trial, Trials

# Rounds of excluding proposals before all are excluded; each is a night on a copy.
_ROUNDS = 5


@dataclass(frozen=True)
class RecallGuard:
    """The questions that measure recall, and how far it may fall."""

    # None makes questions from the memories of the file.
    asked: Sequence[RecallQuestion] | None
    # The maximum fall of the mean recall@10.
    limit: float


@dataclass(frozen=True)
class GuardedNight:
    """The result of a guard: recall, and the excluded proposals."""

    excluded: tuple[Proposal, ...]
    # The mean recall@10 before, after the whole night, and after the guarded night.
    before: float
    unguarded: float
    guarded: float
    questions: int
    limit: float
    # The options of the guarded night.
    options: CycleOptions
    # The answers of a model in the trials, and its usage.
    answers: Sequence[KeptAnswer]
    usage: Usage


def guard_night(
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
    """Try a night on copies of a file, and return the options of a night that keeps recall.

    writer: of the following night, whose budget includes the trials. keeps_answers: whether to keep
    a model's answers in the file, so that the night asks nothing twice; nothing else is written.
    Raises `QuestionsError` if the file answers no question, and what `run_cycle` raises.
    """
    trials = Trials(path, guard.asked, embedder, now, options.tenants, progress)
    refuse_unanswerable(path, trials)
    # Measure proposals as if they were approved.
    unreviewed = replace(options, review="never")
    night = exclude_harmful(trials, unreviewed, writer, guard.limit, interruption)
    if keeps_answers and night.answers:
        with open_writing(path) as file:
            keep_answers(file, night.answers, timestamp(now))
    return replace(night, options=replace(night.options, review=options.review))


def refuse_unanswerable(path: Path, trials: Trials) -> None:
    """Refuse questions if the file answers none. Raises `QuestionsError`."""
    if trials.without_evidence and not trials.questions:
        raise QuestionsError(
            f"No memory in {path} answers any of the questions: "
            f"the evidence of all {trials.without_evidence} is missing.",
            "Nothing was changed. Evidence is the ids of memories: see 'slowwave list FILE'.",
        )


def exclude_harmful(
    trials: Trials,
    options: CycleOptions,
    writer: Writer,
    limit: float,
    interruption: Interruption,
) -> GuardedNight:
    """Try the night on copies until recall@10 falls by at most `limit`.

    Each round excludes the proposals to blame; after `_ROUNDS` rounds all are excluded. If a model
    first reads waiting conversations, recall is compared with that after reading: new memories are
    not the fault of the proposals.
    """
    excluded: dict[str, Proposal] = {}
    trial = trials.night(options, writer, interruption)
    used = trial.outcome.usage
    compared = trials.before
    unguarded = guarded = _recall(trial.after.by_text)
    if trial.outcome.waiting_parts.read and _recall(compared.by_text) - guarded > limit:
        only_read = trials.night(replace(options, approved=frozenset()), writer, interruption)
        used += only_read.outcome.usage
        compared = only_read.after
    before = _recall(compared.by_text)
    tried = 1
    while before - guarded > limit and _applied(trial):
        blamed = list(_blamed(trials.questions, compared, trial)) if tried < _ROUNDS else []
        excluded |= {proposal.id: proposal for proposal in blamed or _applied(trial)}
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
    return [result.proposal for result in trial.outcome.results if result.state == "applied"]


def _blamed(
    questions: Sequence[RecallQuestion], before: SearchResults, trial: Trial
) -> Iterator[Proposal]:
    """Yield proposals that superseded a question's evidence, or whose hits displaced it."""
    for at, question in enumerate(questions):
        if trial.after.by_text[at].recall_at_10 >= before.by_text[at].recall_at_10:
            continue
        evidence = set(question.evidence_ids)
        took = [proposal for proposal in _applied(trial) if evidence & set(proposal.leaving)]
        if took:
            yield from took
            continue
        known = {hit.memory.id for hit in before.hits[at][:MANY]}
        made_of = {
            source
            for hit in trial.after.hits[at][:MANY]
            if hit.memory.id not in known
            for source in (hit.memory.id, *hit.sources)
        }
        yield from (proposal for proposal in _applied(trial) if made_of & set(proposal.sources))
