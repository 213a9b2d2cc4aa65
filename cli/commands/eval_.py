"""slowwave eval: recall from the file before and after the run that `maintain` would do now."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.model_options import RecordableModelOptions
from slowwave.cli.arguments.options import (
    ALL_OPERATIONS,
    ConfigOption,
    EmbedderOption,
    FileArgument,
    IncludeProtectedOption,
    JsonOption,
    OnlyOption,
    QuietOption,
    TenantsOption,
    operations_of,
)
from slowwave.cli.files.places import on_place
from slowwave.cli.terminal.output import Output
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.places import Place

if TYPE_CHECKING:
    from rich.table import Table

    from slowwave.consolidation.evaluation.evaluate import Evaluation
    from slowwave.consolidation.evaluation.measures import Measures


@on_place
def eval_(
    file: FileArgument,
    place: Place,
    questions: Annotated[
        Path,
        typer.Argument(metavar="QUESTIONS.jsonl", help="Questions with the ids of their evidence."),
    ],
    *,
    only: OnlyOption = ALL_OPERATIONS,
    tenant: TenantsOption = None,
    include_protected: IncludeProtectedOption = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    ask: Annotated[
        bool,
        typer.Option("--ask", help="Call --model, as a run would. Default: call no model."),
    ] = False,
    asking: RecordableModelOptions,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure recall before and after a run, on a copy: FILE is only read.

    Each line of QUESTIONS is {"id", "question", "evidence_ids"}, with optional "tenant", "type" and
    "stale_ids", the memories that contain an outdated value.
    """
    if ask and asking.model is None:
        raise typer.BadParameter("--ask needs --model.")
    from slowwave.consolidation.evaluation.evaluate import evaluate
    from slowwave.consolidation.evaluation.questions import read_questions
    from slowwave.consolidation.evaluation.trial import Trials
    from slowwave.consolidation.options import CycleOptions

    queries = read_questions(questions)
    output = Output(json, quiet)
    # Nothing is recorded: the run is on a copy.
    asking = replace(asking, model=asking.model if ask or asking.replay else None, record=None)
    writer = asking.writer(asking.recordings(dry_run=False))
    signals = signals_of_this_command()
    tenants = tuple(tenant or ())
    options = CycleOptions(
        tenants=tenants, only=operations_of(only), include_protected=include_protected
    )
    with place.reading() as memory_file, shown_progress(quiet) as progress:
        trials = Trials(
            memory_file, queries, SentenceEmbedder(embedder), datetime.now(UTC), tenants, progress
        )
        signals.open()
        trial = trials.night(options, writer, signals)
        signals.close()
        found = evaluate(trials, trial)
    output.result({"command": "eval", "file": str(file), **evaluation_as_json(found)})
    output.show(_summary(found), _table(found), _FOOTNOTE)


_FOOTNOTE = (
    "after: a derived memory counts as a source if it contains the source's facts; by lineage: it "
    "counts as all its sources."
)
_LABELS = {
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
    "all_at_10": "all@10",
    "mrr": "mrr",
    "ndcg_at_10": "ndcg@10",
    "tokens_at_10": "tokens@10",
    "recall_in_500_tokens": "recall@500tokens",
    "recall_in_1000_tokens": "recall@1000tokens",
    "stale_at_10": "stale@10",
}


def evaluation_as_json(found: Evaluation) -> dict[str, Any]:
    """Return an evaluation for programs, as `eval --json` shows it."""

    def side(memories: int, measures: Measures, by_lineage: Measures) -> dict[str, Any]:
        return {
            "memories": memories,
            **_rounded(asdict(measures)),
            "by_lineage": _rounded(asdict(by_lineage)),
        }

    differences = {name: asdict(difference) for name, difference in found.differences.items()}
    return {
        "questions": found.questions,
        "left_out": found.without_evidence,
        "unknown_evidence": found.unknown,
        "before": side(found.memories_before, found.before, found.before_by_lineage),
        "after": side(found.memories_after, found.after, found.by_lineage),
        "difference": {_LABELS[name]: _rounded(values) for name, values in differences.items()},
    }


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {_LABELS.get(name, name): round(value, 4) for name, value in values.items()}


def _summary(found: Evaluation) -> str:
    text = (
        f"{counted(found.questions, 'question', 'questions')}; active memories: "
        f"{found.memories_before:,} before the run, {found.memories_after:,} after."
    )
    if found.without_evidence:
        skipped = counted(found.without_evidence, "question", "questions")
        text += f" Skipped {skipped} without evidence in the file."
    if found.unknown:
        ids = counted(found.unknown, "id", "ids")
        text += f" The file does not have {ids} of the evidence."
    return text


def _table(found: Evaluation) -> Table:
    from rich import box
    from rich.table import Table

    table = Table("measure", "before", "after", "difference [95 %]", box=box.SIMPLE)
    table.add_column("by lineage: before")
    table.add_column("after")
    for name, label in _LABELS.items():
        gain = found.differences[name]
        digits = 0 if name == "tokens_at_10" else 3
        measures = (found.before, found.after, found.before_by_lineage, found.by_lineage)
        before, after, *by_lineage = (f"{getattr(each, name):.{digits}f}" for each in measures)
        interval = f"{gain.mean:+.{digits}f} [{gain.low:+.{digits}f}, {gain.high:+.{digits}f}]"
        table.add_row(label, before, after, interval, *by_lineage)
    return table
