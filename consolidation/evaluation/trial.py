"""A night on a copy of a file, and what the same questions find before and after it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.recall.filter import Filter
from slowwave.consolidation.recall.hit import Hit
from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.recall.later_values import behind_later_values
from slowwave.consolidation.recall.search import Wish, ranked
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.runtime.interruption import InterruptedEarly, Interruption
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.backup import copy_verified
from slowwave.store.file import migrate_file, open_any_version, open_reading, open_writing
from slowwave.store.lineage import read_source_texts
from slowwave.store.memories import select_tenants
from slowwave.store.model_answers import KeptAnswer, keep_answers, read_answers
from slowwave.store.records import Memory, timestamp

from .kept_facts import keeps_facts
from .measures import LOOKED_AT, MANY, MeasuredHit, Measures, measure
from .questions import RecallQuestion, questions_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Searched:
    """What a file found for each question, in the order of the questions."""

    # Active memories.
    memories: int
    # The first of them.
    hits: Sequence[Sequence[Hit]]
    # By what stands in the hits' texts, and by lineage alone.
    by_text: Sequence[Measures]
    by_lineage: Sequence[Measures]


@dataclass(frozen=True)
class Trial:
    """A night that was tried."""

    after: Searched
    outcome: Outcome
    # What a model answered in it, so that nobody asks that again.
    answers: Sequence[KeptAnswer]


class Trials:
    """Nights on copies of one file, measured by the same questions.

    The file itself is read once, and never written.
    """

    def __init__(
        self,
        path: Path,
        asked: Sequence[RecallQuestion] | None,
        embedder: Embedder,
        now: datetime,
        tenants: Sequence[str] = (),
        progress: Progress | None = None,
        kept_hits: int = MANY,
    ) -> None:
        """Measure the file as it is. asked: None lets its memories ask for themselves.

        Questions without evidence in the file are left out, and so are those of other tenants than
        those named. kept_hits: how many hits of each question are kept, for who looks at them.
        Raises `StoreError` and `EmbedderError`.
        """
        with open_any_version(path) as file:
            # A tenant that is not there is said of the file itself, not of a copy.
            select_tenants(file, tenants)
        self._kept_hits = kept_hits
        self._path = path
        self._embedder = _Remembering(embedder)
        self._now = now
        self._tenants = tenants
        self._progress = progress or Progress()
        self._answers: Sequence[KeptAnswer] = ()
        with self._copy() as copy:
            index = self._index(copy)
            texts = {one.id: one.content for one in index.memories}
            self._tenant_of = {one.id: one.tenant for one in index.memories}
            wanted = questions_of(_active(index, timestamp(now))) if asked is None else asked
            gone = {one for each in wanted for one in each.evidence_ids} - texts.keys()
            with open_reading(copy) as file:
                self._texts: Mapping[str, str] = texts | read_source_texts(file, sorted(gone))
            self.questions = [
                known
                for question in wanted
                if question.tenant is None or not tenants or question.tenant in tenants
                for known in self._answerable(question)
            ]
            self.without_evidence = len(wanted) - len(self.questions)
            # Ids that the questions name as evidence and that are not in the file, or of a tenant
            # that is not asked.
            named = {one for each in wanted for one in each.evidence_ids}
            self.unknown = len(
                named - {one for each in self.questions for one in each.evidence_ids}
            )
            self.before = self._searched(index)

    def night(
        self,
        options: CycleOptions,
        writer: Writer,
        interruption: Interruption | None = None,
    ) -> Trial:
        """Run a night on a copy, and measure that.

        Raises what `run_cycle` does, and `InterruptedEarly`. What a model answered in an earlier
        trial is not asked again.
        """
        with self._copy() as copy:
            if self._answers:
                with open_writing(copy) as file:
                    keep_answers(file, self._answers, timestamp(self._now))
            outcome = run_cycle(
                copy,
                # What ages is no matter of how well the night tells the rest.
                replace(options, expire=False, decay=False, limit=None, purge=False),
                self._embedder,
                writer,
                self._now,
                progress=self._progress,
                interruption=interruption,
            )
            if outcome.interrupted:
                raise InterruptedEarly(kept=False)
            with open_reading(copy) as file:
                self._answers = read_answers(file)
            return Trial(self._searched(self._index(copy)), outcome, self._answers)

    @contextmanager
    def _copy(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="slowwave-") as folder:
            copy = Path(folder) / "memory.db"
            copy_verified(self._path, copy, "copy", f"It is made in {folder}: see TMPDIR.")
            migrate_file(copy)
            yield copy

    def _index(self, copy: Path) -> RecallIndex:
        recallable = read_recallable_of(copy, self._tenants, self._embedder.name)
        return RecallIndex(recallable, self._embedder, self._progress)

    def _answerable(self, question: RecallQuestion) -> Iterator[RecallQuestion]:
        known = tuple(
            one
            for one in question.evidence_ids
            if one in self._texts
            and question.tenant in (None, self._tenant_of.get(one, question.tenant))
        )
        if known:
            yield question.model_copy(update={"evidence_ids": known})

    def _searched(self, index: RecallIndex) -> Searched:
        now = timestamp(self._now)
        hits: list[list[Hit]] = []
        by_text: list[Measures] = []
        by_lineage: list[Measures] = []
        for question in self.questions:
            tenants = tuple(self._tenants) if question.tenant is None else (question.tenant,)
            wish = Wish(question.question, LOOKED_AT, Filter(tenants))
            found = ranked(index, wish, now)
            # Of what is handed over alone: to compare 200 with each other takes long.
            first = behind_later_values(found[:MANY], index.disputes)
            found = [*first, *found[MANY:]]
            by_text.append(self._measured(question, found, self._holds_its_facts))
            by_lineage.append(self._measured(question, found, lambda _, __: True))
            hits.append(found[: self._kept_hits])
            self._progress.stage("searching", len(hits), len(self.questions))
        return Searched(len(_active(index, now)), hits, by_text, by_lineage)

    def _measured(
        self, question: RecallQuestion, found: Sequence[Hit], holds: Callable[[str, Hit], bool]
    ) -> Measures:
        wanted = set(question.evidence_ids)
        answers = [
            MeasuredHit(
                hit.memory.content,
                frozenset(
                    one
                    for one in wanted & {hit.memory.id, *hit.sources}
                    if one == hit.memory.id or holds(one, hit)
                ),
                is_stale(hit, question),
            )
            for hit in found
        ]
        return measure(answers, wanted)

    def _holds_its_facts(self, source: str, hit: Hit) -> bool:
        return keeps_facts(self._texts[source], hit.memory.content)


class _Remembering:
    """An embedder that encodes no text twice: each copy lacks the vectors that the file lacks."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known.update(zip(new, self._embedder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])


def is_stale(hit: Hit, question: RecallQuestion) -> bool:
    """Whether a hit gives an old value as the present one, without what replaced it."""
    covered = {hit.memory.id, *hit.sources}
    tells_it = not covered.isdisjoint(question.stale_ids)
    as_so = hit.later is None and hit.perhaps_later is None
    return tells_it and as_so and covered.isdisjoint(question.evidence_ids)


def _active(index: RecallIndex, now: str) -> list[Memory]:
    return [one for one in index.memories if one.status == "active" and not one.expired(now)]
