"""How close a night's calls of a model come to what so many calls at a time can take at best.

    python -m benchmarks.speed.calls [proposals] [concurrency] [seconds]

A scripted server in a process of its own answers each question after so many seconds. The same
calls are made twice: in a real night's last stage, with drafts checked, embedded and applied beside
them, and alone, through litellm and nothing else. What litellm itself takes is in both.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.scripted_model import ScriptedModel, scripted_model
from fixtures.night import FLAVOURS, load
from slowwave.consolidation.model.dispatcher import Dispatcher
from slowwave.consolidation.model.interface import Models
from slowwave.consolidation.model.litellm_model import Endpoint
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.question import resume
from slowwave.consolidation.model.usage_limits import UsageLimits, UsageMeter
from slowwave.consolidation.model.window_dialogue import WindowDialogue
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.planning.estimates import estimate_window
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import (
    OPERATIONS,
    Plan,
    Window,
    join_plans,
)
from slowwave.consolidation.running.execute import Execution
from slowwave.consolidation.running.night_inputs import NightInputs
from slowwave.consolidation.running.run_in_file import Preflight, RunInFile
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.consolidation.vectors.matrix import TextVectors
from slowwave.consolidation.writing.writer import Job
from slowwave.store.exchange import new_memory
from slowwave.store.file import create_file, open_writing
from slowwave.store.memories import add_memories
from slowwave.store.records import Memory

_NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)
# How the three memories of a question tell the same, so that the server can say so.
_WAYS = ("{}", "User said that {}", "Note: {}")


@dataclass(frozen=True)
class _Stage:
    """A night's last stage, from the plan to the last proposal that was applied."""

    applied: int
    seconds: float
    processor_s: float


def measure(
    proposals: int = 500,
    concurrency: int = 16,
    seconds: float = 0.2,
    embedder: Embedder | None = None,
) -> dict[str, float]:
    """Return how long the calls took, from the first question to the last answer, and ratios."""
    ideal = proposals * seconds / concurrency
    embedder = embedder or SentenceEmbedder()
    memories = _memories(proposals)
    vectors = TextVectors(memories, ())
    vectors.complete(embedder, lambda _: None, Progress())
    view = TenantView("default", tuple(memories), (), vectors)
    with scripted_model(seconds, 2 * proposals) as alone:
        _ask_alone(_endpoint(alone), view, concurrency)
    with scripted_model(seconds, 2 * proposals) as beside:
        stage = _night(_endpoint(beside), view, concurrency, embedder)
    return {
        "proposals": proposals,
        "concurrency": concurrency,
        "applied": stage.applied,
        "most_at_once": beside.most,
        "ideal_s": ideal,
        "alone_s": alone.seconds,
        "calls_s": beside.seconds,
        "whole_s": stage.seconds,
        "processor_ms_a_proposal": 1000 * stage.processor_s / proposals,
        "calls_to_ideal": beside.seconds / ideal,
        "calls_to_alone": beside.seconds / alone.seconds,
        "whole_to_ideal": stage.seconds / ideal,
    }


def _memories(proposals: int) -> list[Memory]:
    """Return so many times one fact told three times, each time of another project."""
    facts = [fact["wordings"][0] for item in FLAVOURS for fact in load(item).facts]
    return [
        new_memory(
            {
                "id": f"m-{number:05d}-{at}",
                "content": way.format(f"In project {1000 + number // len(facts)} {text}"),
                "observed_at": f"2026-02-0{at + 1}T09:00:00+00:00",
            },
            _NOW,
        )
        for number in range(proposals)
        for text in [facts[number % len(facts)]]
        for at, way in enumerate(_WAYS)
    ]


def _night(endpoint: Endpoint, view: TenantView, concurrency: int, embedder: Embedder) -> _Stage:
    """Carry out a plan of questions in a file that holds its memories."""
    writer = ModelWriter(endpoint, concurrency, checker="none")
    writer.make_ready()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        create_file(path)
        with open_writing(path) as file, file.transaction():
            add_memories(file, view.memories)
        run = RunInFile(path, embedder, writer, _NOW, {}, Preflight(path, None, _NOW))
        plan = Plan((), (), windows=tuple(_windows(view)))
        began, worked = time.monotonic(), time.process_time()
        execution = Execution(
            NightInputs(path, CycleOptions(), embedder, writer, _NOW), run, [view]
        )
        executed = execution.execute(plan, Interruption(), lambda answered: (join_plans(()), []))
        seconds, processor_s = time.monotonic() - began, time.process_time() - worked
    applied = Counter(result.state for result in executed.results)["applied"]
    return _Stage(applied, seconds, processor_s)


def _ask_alone(endpoint: Endpoint, view: TenantView, concurrency: int) -> None:
    """Ask the same questions, and do nothing with the answers."""
    model = endpoint.open()
    meter = UsageMeter(UsageLimits(), model.terms.price)
    dispatcher = Dispatcher(model, meter, concurrency)
    left = 0
    for window in _windows(view):
        job = Job(window, tuple(view.sources(window.memories)))
        _, question = resume(WindowDialogue(job, Models(endpoint.model, None)).run())
        assert question is not None  # noqa: S101 - each window begins with one
        dispatcher.ask(question)
        left += 1
    while left:
        left -= len(list(dispatcher.completed(seconds=0.1)))


def _windows(view: TenantView) -> Iterator[Window]:
    for start in range(0, len(view.memories), len(_WAYS)):
        shown = view.memories[start : start + len(_WAYS)]
        ids = tuple(entry.id for entry in shown)
        estimate = estimate_window(view.sources(ids))
        yield Window(
            id=f"window-{start}",
            tenant="default",
            memories=ids,
            content_hashes=tuple(entry.content_hash for entry in shown),
            alone=(),
            trusts=tuple(entry.trust for entry in shown),
            may_leave=frozenset(ids),
            derived=frozenset(),
            apart=frozenset(),
            operations=frozenset(OPERATIONS),
            decided=frozenset(),
            prompt_tokens=estimate.prompt,
            answer_tokens=estimate.answer,
        )


def _endpoint(server: ScriptedModel) -> Endpoint:
    return Endpoint("openai/scripted", server.base)


def main(arguments: Sequence[str]) -> None:
    """Measure, and print it."""
    kinds = (int, int, float)
    chosen = [kind(text) for kind, text in zip(kinds, arguments, strict=False)]
    for name, value in measure(*chosen).items():
        sys.stdout.write(f"{name:24} {value:10.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
