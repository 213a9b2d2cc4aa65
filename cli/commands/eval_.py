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
    EmbedderOption,
    IncludeProtectedOption,
    OnlyOption,
    OutputOptions,
    TenantsOption,
    operations_of,
)
from slowwave.cli.terminal.output import table_of
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.evaluation.measures import Difference, differences, mean
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.places import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from slowwave.consolidation.evaluation.trial import SearchResults, Trials


def eval_(
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
    output: OutputOptions,
) -> None:
    """Measure recall before and after a run, on a copy of FILE.

    Each line of QUESTIONS is {"id", "question", "evidence_ids"}, with optional "tenant", "type" and
    "stale_ids", the memories that contain an outdated value.
    """
    if ask and asking.model is None:
        raise typer.BadParameter("--ask requires --model.")
    from slowwave.consolidation.evaluation.questions import read_questions
    from slowwave.consolidation.evaluation.trial import Trials

    queries = read_questions(questions)
    # Nothing is recorded: the run is on a copy.
    asking = replace(asking, model=asking.model if ask or asking.replay else None, record=None)
    writer = asking.writer(asking.recordings(dry_run=False))
    signals = signals_of_this_command()
    tenants = tuple(tenant or ())
    options = CycleOptions(
        tenants=tenants, only=operations_of(only), include_protected=include_protected
    )
    with place.reading() as memory_file, shown_progress(output.quiet) as progress:
        trials = Trials(
            memory_file,
            queries,
            SentenceEmbedder(embedder),
            datetime.now(UTC),
            tenants=tenants,
            progress=progress,
        )
        signals.open()
        after, _ = trials.night(options, writer, signals)
        signals.close()
    gains = differences(trials.before.by_text, after.by_text)
    fields = _as_json(trials, after, gains)
    output.result("eval", file=str(place.named), **fields)
    output.show(_summary(trials, after), _table(trials, after, gains), _FOOTNOTE)


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


def _as_json(
    trials: Trials, after: SearchResults, gains: Mapping[str, Difference]
) -> dict[str, Any]:
    """Return an evaluation for programs, as `eval --json` shows it."""

    def side(results: SearchResults) -> dict[str, Any]:
        return {
            "memories": results.memories,
            **_rounded(asdict(mean(results.by_text))),
            "by_lineage": _rounded(asdict(mean(results.by_lineage))),
        }

    return {
        "questions": len(trials.questions),
        "left_out": trials.without_evidence,
        "unknown_evidence": trials.unknown,
        "before": side(trials.before),
        "after": side(after),
        "difference": {_LABELS[name]: _rounded(asdict(gain)) for name, gain in gains.items()},
    }


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {_LABELS.get(name, name): round(value, 4) for name, value in values.items()}


def _summary(trials: Trials, after: SearchResults) -> str:
    text = (
        f"{counted(len(trials.questions), 'question')}; active memories: "
        f"{trials.before.memories:,} before the run, {after.memories:,} after."
    )
    if trials.without_evidence:
        skipped = counted(trials.without_evidence, "question")
        text += f" Skipped {skipped} whose evidence is not in the file."
    if trials.unknown:
        text += f" {counted(trials.unknown, 'id')} of evidence are not in the file."
    return text


def _table(trials: Trials, after: SearchResults, gains: Mapping[str, Difference]) -> Table:
    columns = [
        mean(measured)
        for results in (trials.before, after)
        for measured in (results.by_text, results.by_lineage)
    ]
    titles = ["measure", "before", "after", "difference [95%]", "by lineage: before", "after"]
    rows = []
    for name, label in _LABELS.items():
        gain = gains[name]
        digits = 0 if name == "tokens_at_10" else 3
        before, *by_lineage, later, later_by_lineage = (
            f"{getattr(column, name):.{digits}f}" for column in columns
        )
        interval = f"{gain.mean:+.{digits}f} [{gain.low:+.{digits}f}, {gain.high:+.{digits}f}]"
        rows.append((label, before, later, interval, *by_lineage, later_by_lineage))
    return table_of(titles, rows)
