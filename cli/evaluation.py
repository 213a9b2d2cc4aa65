"""slowwave eval: what the file finds before and after the night that would run now."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

from .foreign import FormatOption, StateOption, place_of
from .output import Output, clean
from .progress import shown_progress
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption
from .signals import signals_of_this_command
from .writers import make_recordings, make_writer

if TYPE_CHECKING:
    from rich.table import Table

    from slowwave.consolidation.evaluation.evaluate import Evaluation
    from slowwave.consolidation.evaluation.measures import Measures

_CALLS_AT_ONCE = 4


def eval_(
    file: FileArgument,
    questions: Annotated[
        Path | None,
        typer.Argument(metavar="[QUESTIONS.jsonl]", help="Questions with ids of the evidence."),
    ] = None,
    self_: Annotated[
        bool,
        typer.Option("--self", help="Let each memory be asked for by its own rarest words."),
    ] = False,
    tenant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this tenant; again for more.")
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(metavar="NAME|PATH", help="A sentence-transformers model on this machine."),
    ] = DEFAULT_MODEL,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="litellm's name of a model for the night."),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the model is served.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Answers on record, in place of a model.")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(metavar="USD", min=0, help="No call that could cost more in all."),
    ] = None,
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure recall before and after a night, on a copy: FILE itself is only read.

    Each line of QUESTIONS is {"id", "question", "evidence_ids"}, and may have "tenant", "type" and
    "stale_ids", the memories that hold an old value.
    """
    if (questions is None) == (not self_):
        raise typer.BadParameter("Name a file of questions, or --self: one of the two.")
    from slowwave.consolidation.evaluation.evaluate import evaluated
    from slowwave.consolidation.evaluation.questions import read_questions
    from slowwave.consolidation.evaluation.trial import Trials
    from slowwave.consolidation.options import CycleOptions

    asked = None if questions is None else read_questions(questions)
    output = Output(json, quiet)
    recordings = make_recordings(None, replay, dry_run=False)
    limits = (None, None, max_cost, None)
    writer = make_writer(model, api_base, None, _CALLS_AT_ONCE, limits, recordings)
    signals = signals_of_this_command()
    tenants = tuple(tenant or ())
    with (
        place_of(file, format, state, writes=False).reading() as memory_file,
        shown_progress(quiet) as progress,
    ):
        trials = Trials(
            memory_file, asked, SentenceEmbedder(embedder), datetime.now(UTC), tenants, progress
        )
        signals.open()
        trial = trials.night(CycleOptions(tenants=tenants), writer, signals)
        signals.close()
        found = evaluated(trials, trial)
    output.result({"command": "eval", "file": str(file), **evaluation_as_json(found)})
    if not found.questions:
        output.show(clean(f"{file}: nothing in it answers any of {found.left_out} questions."))
        return
    output.show(_told(found), _table(found), _EXPLAINED)


def evaluation_as_json(found: Evaluation) -> dict[str, Any]:
    """Return an evaluation in the form that `eval --json` has."""
    return {
        "questions": found.questions,
        "left_out": found.left_out,
        "before": {"memories": found.memories_before, **_measures_as_json(found.before)},
        "after": {
            "memories": found.memories_after,
            **_measures_as_json(found.after),
            "by_lineage": _measures_as_json(found.by_lineage),
        },
        "difference": {
            _LABELS[name]: {key: round(value, 4) for key, value in asdict(one).items()}
            for name, one in found.differences.items()
        },
    }


_EXPLAINED = (
    "after: a derived memory holds a source's facts if they stand in its text; by lineage: it "
    "holds those of all its sources."
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


def _measures_as_json(measures: Measures) -> dict[str, float]:
    return {_LABELS[name]: round(value, 4) for name, value in asdict(measures).items()}


def _told(found: Evaluation) -> str:
    left_out = f", {found.left_out} more have no evidence in it" if found.left_out else ""
    return (
        f"{found.questions} questions{left_out}; active memories {found.memories_before:,} before "
        f"the night, {found.memories_after:,} after."
    )


def _table(found: Evaluation) -> Table:
    from rich import box
    from rich.table import Table

    table = Table("measure", "before", "after", "by lineage", "difference [95 %]", box=box.SIMPLE)
    for name, label in _LABELS.items():
        gain = found.differences[name]
        digits = 0 if name == "tokens_at_10" else 3
        values = (getattr(one, name) for one in (found.before, found.after, found.by_lineage))
        interval = f"{gain.mean:+.{digits}f} [{gain.low:+.{digits}f}, {gain.high:+.{digits}f}]"
        table.add_row(label, *(f"{one:.{digits}f}" for one in values), interval)
    return table
