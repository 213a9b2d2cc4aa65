"""A plan carried out: drafts written, verified and applied, and every step of it on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slowwave.store.entities import forget_found, keep_entities, keep_scans
from slowwave.store.errors import StoreError
from slowwave.store.file import Identity, MemoryFile, open_reading, open_writing
from slowwave.store.ledger import (
    Answer,
    begin_run,
    end_run,
    has_run,
    keep_answer,
    read_answer,
    read_decision,
)
from slowwave.store.records import new_id, timestamp
from slowwave.store.vectors import keep_vectors

from .apply import RunContext, apply_written, record
from .aside import aside
from .checking.verify import find_distance, find_faults
from .embed import Embedder
from .extractive import Source, in_time
from .interruption import Interruption
from .language.reading import read
from .population import Population
from .progress import Progress
from .proposals import Draft, Plan, Proposal, Result, State, Usage, Written
from .safety import SafetyNet
from .write import ExtractiveWriter, Job, Writer, prompt_hashes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How many memories' names are written by one transaction: a moment's work.
_PORTION = 500


@dataclass(frozen=True)
class Executed:
    """What became of a plan."""

    results: tuple[Result, ...]
    usage: Usage
    interrupted: bool
    # Why the file could not be written any more, after something was applied.
    broken_off: StoreError | None = None


@dataclass
class _Done:
    """What was done so far."""

    results: dict[str, Result] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    # What may have been written to the file without having come among the results.
    last: Written | None = None


class Run:
    """One run's place in the file: it begins with the first thing that is written.

    A night in which nothing happened leaves no trace at all.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder,
        writer: Writer,
        now: datetime,
        options: Mapping[str, Any],
        net: SafetyNet,
    ) -> None:
        """Take what the rows of this run will say about it."""
        self._path = path
        self._embedder = embedder
        self._writer = writer
        self._options = options
        self._net = net
        self._begun = False
        # The file that it began in: what came in its place since is another's.
        self._file: Identity | None = None
        # Of drafts that passed the check, by proposal: to be kept with the memory.
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.context = RunContext(
            run_id=new_id(),
            now=now,
            writer=writer.name,
            model=writer.model,
            embedding_model=embedder.name,
            prompt_hashes=prompt_hashes(writer),
        )

    @property
    def run_id(self) -> str | None:
        """The run's id; None as long as nothing was written."""
        return self.context.run_id if self._begun else None

    def keep_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (memory id, content hash, blob) in a transaction of its own."""
        with self._writing() as file, file.transaction():
            keep_vectors(file, self._embedder.name, vectors, self.context.run_id)

    def keep_names(self, tenant: str, scans: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Keep (memory id, content hash, names), in short transactions."""
        with self._writing() as file:
            for start in range(0, len(scans), _PORTION):
                part = scans[start : start + _PORTION]
                with file.transaction():
                    forget_found(file, (one for one, _, _ in part), self.context.run_id)
                    mentions = [(one, names) for one, _, names in part]
                    keep_entities(file, tenant, mentions, self.context.run_id)
                    keep_scans(file, [(one, of) for one, of, _ in part], self.context.run_id)

    def carry_out(
        self,
        plan: Plan,
        populations: Sequence[Population],
        progress: Progress,
        interruption: Interruption,
    ) -> Executed:
        """Write, verify and apply the proposals, in the plan's order as far as answers allow.

        Raises `ModelError` before anything is applied if the model cannot be asked. An
        interruption ends it wherever it is: what is applied stays, and is told. After it the run
        cannot be interrupted any more.
        """
        done = _Done()
        interrupted = False
        broken_off: StoreError | None = None
        try:
            if plan.proposals:
                self._settle_all(plan, populations, progress, done)
            interruption.close()
        except KeyboardInterrupt:
            interruption.close()
            interrupted = True
            with interruption.limited():
                self._find_what_stands(done)
        except StoreError as error:
            if not any(result.state == "applied" for result in done.results.values()):
                raise
            # What was applied stands all the same, and is told.
            interruption.close()
            broken_off = error
        results = done.results
        left = [one for one in plan.proposals if one.id not in results]
        state: State = "failed" if broken_off else "skipped"
        why = broken_off.message if broken_off else "the run was interrupted"
        results |= {one.id: Result(one, state, why) for one in left}
        in_order = tuple(results[proposal.id] for proposal in plan.proposals)
        return Executed(in_order, done.usage, interrupted, broken_off)

    def _settle_all(
        self, plan: Plan, populations: Sequence[Population], progress: Progress, done: _Done
    ) -> None:
        if any(proposal.needs_writer for proposal in plan.proposals):
            aside(self._writer.make_ready)
        with self._writing() as file:
            for written in self._written(file, plan, populations):
                done.last = written
                done.usage += written.usage
                done.results[written.proposal.id] = self._settle(file, written, populations)
                progress.stage("applying", len(done.results), len(plan.proposals))

    def _find_what_stands(self, done: _Done) -> None:
        """Ask the file what stands in it: between a commit and a note of it there is a gap."""
        if not self._begun:
            return
        with open_reading(self._path) as file:
            self._begun = has_run(file, self.context.run_id)
            if done.last is None:
                return
            last = done.last.proposal
            decision = read_decision(file, self.context.run_id, last.id)
        if decision is not None:
            state = cast("State", decision.state)
            done.results[last.id] = Result(
                last, state, decision.why, decision.derived, decision.survivor, done.last.draft
            )

    def end_early(self) -> bool:
        """Write down that the run was interrupted before it applied anything.

        Gives whether it had written anything at all.
        """
        self._find_what_stands(_Done())
        self.end("interrupted", None, {})
        return self._begun

    def end(self, outcome: str, plan: str | None, report: dict[str, Any]) -> None:
        """Write down how the run ended, if it wrote anything."""
        if self._begun:
            now = timestamp(self.context.now)
            with self._writing() as file:
                end_run(file, self.context.run_id, now, outcome, plan, report)

    @contextmanager
    def _writing(self) -> Iterator[MemoryFile]:
        self._net.spread()
        with open_writing(self._path, self._file) as file:
            self._file = file.identity
            if not self._begun:
                now = timestamp(self.context.now)
                backup = {"backup": self._net.backup.name} if self._net.backup else {}
                options = {**self._options, **backup}
                # Before it is so: whoever is interrupted here asks the file.
                self._begun = True
                begin_run(file, self.context.run_id, now, version("slowwave"), options)
            yield file

    def _written(
        self, file: MemoryFile, plan: Plan, populations: Sequence[Population]
    ) -> Iterator[Written]:
        by_tenant = {population.tenant: population for population in populations}
        drafted: list[Job] = []
        open_jobs: list[Job] = []
        for proposal in plan.proposals:
            if proposal.keeps_text:
                yield Written(proposal, proposal.draft, "planned")
                continue
            sources = by_tenant[proposal.tenant].sources(proposal.sources)
            jobs = open_jobs if proposal.needs_writer else drafted
            jobs.append(Job(proposal, tuple(in_time(sources))))
        sources_of = {job.proposal.id: job.sources for job in (*drafted, *open_jobs)}

        def check(proposal: Proposal, draft: Draft) -> list[str]:
            sources = sources_of[proposal.id]
            faults = find_faults(draft, sources, proposal.operation)
            faults += _left_out(proposal, draft, sources)
            if not faults:
                vector = self._embedder.encode([draft.text])[0]
                self._vectors[proposal.id] = vector
                faults = find_distance(vector, sources)
            return faults

        answers = _KeptAnswers(file, self.context.now)
        # What the plan holds the draft of needs no model.
        built_in = self._writer if self._writer.model is None else ExtractiveWriter()
        yield from built_in.write(drafted, check, answers)
        if open_jobs:
            yield from self._writer.write(open_jobs, check, answers)

    def _settle(
        self, file: MemoryFile, written: Written, populations: Sequence[Population]
    ) -> Result:
        proposal = written.proposal
        if written.state == "planned":
            entities = next(one.entities for one in populations if one.tenant == proposal.tenant)
            vector = self._vectors.get(proposal.id)
            return apply_written(file, self.context, written, vector, entities)
        result = Result(proposal, written.state, written.why, draft=written.draft)
        with file.transaction():
            record(file, self.context, result)
        return result


def _left_out(proposal: Proposal, draft: Draft, sources: Sequence[Source]) -> list[str]:
    """Find the sentences of a memory that grows which do not stand in the draft word for word."""
    if proposal.operation != "synthesize" or proposal.survivor is None:
        return []
    owner = next(source for source in sources if source.id == proposal.survivor)
    lost = [one for one in read(owner.text).sentences if one not in draft.text]
    return [f"changes what stands already: {one}" for one in lost]


class _KeptAnswers:
    """The answers that lie in the file."""

    def __init__(self, file: MemoryFile, now: datetime) -> None:
        self._file = file
        self._now = timestamp(now)

    def find(self, key: str) -> Answer | None:
        return read_answer(self._file, key)

    def keep(self, key: str, model: str, answer: Answer) -> None:
        keep_answer(self._file, key, model, answer, self._now)
