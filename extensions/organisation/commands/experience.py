"""slowwave experience: traces of tasks, and the lessons learned from them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.configured import VerbGroup, group_of
from slowwave.cli.arguments.model_options import AskOption, RecordableModelOptions
from slowwave.cli.arguments.option_rules import (
    ABOUT_ASKING,
    ASKING,
    given_in,
    refuse_missing,
    without_effect,
)
from slowwave.cli.arguments.options import EmbedderOption, FileArgument, OutputOptions
from slowwave.cli.arguments.place_options import refuse_foreign
from slowwave.cli.commands.import_ import reading
from slowwave.cli.terminal.exits import OF_VERDICT
from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.correction import secrets_as_text
from slowwave.cli.views.problems import report_problems
from slowwave.consolidation.thresholds import MIN_COMPRESSION
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

if TYPE_CHECKING:
    from slowwave.extensions.organisation.experience.compression import Compressed, Compression

# What makes no sense without one of some others.
_NEEDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("api_base", ("model",)),
    ("record", ASKING),
    ("ask", ASKING),
    ("ask", ("dry_run",)),
)
TenantOption = Annotated[
    str, typer.Option(metavar="NAME", help="Tenant of the traces and lessons.")
]


def add(
    file: FileArgument,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE.jsonl|-",
            help="Traces as JSON Lines (- for stdin).",
            readable=False,
        ),
    ],
    *,
    tenant: TenantOption = "default",
    output: OutputOptions,
) -> None:
    """Add traces of tasks, which are archived for audit, and never part of a context block."""
    refuse_foreign(file)
    from slowwave.consolidation.ingest.secrets import kinds_of_secrets
    from slowwave.extensions.organisation.experience.traces import as_memory, parse_trace
    from slowwave.store.check import refuse_damaged
    from slowwave.store.file import open_writing
    from slowwave.store.memories import add_memories, read_memories

    now = datetime.now(UTC)
    with reading(source) as lines:
        traces = [
            parse_trace(line, number) for number, line in enumerate(lines, start=1) if line.strip()
        ]
    memories = {memory.id: memory for memory in (as_memory(trace, tenant, now) for trace in traces)}
    with open_writing(file) as opened:
        refuse_damaged(opened)
        with opened.transaction():
            known_ids = {memory.id for memory in read_memories(opened, list(memories))}
            new = [memory for key, memory in memories.items() if key not in known_ids]
            add_memories(opened, new)
    known_count = len(traces) - len(new)
    added = [memory.id for memory in new]
    secrets = list(kinds_of_secrets("\n".join(memory.content for memory in new)))
    result = {"action": "add", "added": added, "known": known_count, "secrets": secrets}
    output.result("experience", file=str(file), **result)
    if secrets:
        output.note(secrets_as_text(secrets))
    added_traces = counted(len(new), "trace")
    output.show(clean(f"{file}: {added_traces} added, {known_count} already known."))


def compress(
    context: typer.Context,
    file: FileArgument,
    *,
    tenant: TenantOption = "default",
    min_ratio: Annotated[
        float,
        typer.Option(
            metavar="TIMES",
            min=1,
            help="Discard lessons that are not at least this many times shorter.",
        ),
    ] = MIN_COMPRESSION,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the result without writing it.")
    ] = False,
    ask: AskOption = False,
    asking: RecordableModelOptions,
    embedder: EmbedderOption = DEFAULT_MODEL,
    output: OutputOptions,
) -> None:
    """Compress the new traces of each task to a lesson: a memory with links to its traces.

    'slowwave undo' removes it.
    """
    refuse_foreign(file)
    refuse_missing(context, _NEEDS)
    for text in without_effect(context, given_in(context), ABOUT_ASKING):
        output.note(text)
    from slowwave.extensions.organisation.experience.run import ExperienceJob, compress_experiences

    recordings = asking.recordings(dry_run and not ask)
    writer = asking.writer(recordings)
    shown = {"tenant": [tenant], "embedder": embedder, "model": writer.model}
    signals = signals_of_this_command()
    signals.open()
    with shown_progress(output.quiet) as progress:
        outcome = compress_experiences(
            ExperienceJob(
                path=file,
                tenant=tenant,
                min_ratio=min_ratio,
                asks=ask or not dry_run,
                shown=shown,
                embedder=SentenceEmbedder(embedder),
                writer=writer,
                now=datetime.now(UTC),
                dry_run=dry_run,
                progress=progress,
                interruption=signals,
            )
        )
    signals.close()
    _report(file, outcome, dry_run, output)
    code: int = signals.code or OF_VERDICT[outcome.verdict]
    unfinished = sum(task.state in ("failed", "skipped") for task in outcome.tasks)
    summary = clean(
        f"{file}: the traces of {counted(unfinished, 'task', 'tasks')} require a model."
    )
    code = report_problems(
        output, code, writer, recordings, broken_off=outcome.broken_off, summary=summary
    )
    raise typer.Exit(code)


def _report(file: Path, outcome: Compression, dry_run: bool, output: OutputOptions) -> None:
    lines = [line for compressed in outcome.tasks for line in _lines(compressed)]
    if outcome.run_id is not None:
        lines.append(with_file(f"Undo it with: slowwave undo FILE {outcome.run_id}"))
    output.show("\n".join(map(clean, lines)) or clean(f"{file}: there are no new traces."))
    output.result(
        "experience",
        file=str(file),
        action="compress",
        dry_run=dry_run,
        run=outcome.run_id,
        tasks=[_as_json(task) for task in outcome.tasks],
        unreadable=outcome.unreadable,
        model=asdict(outcome.usage),
    )
    if outcome.unreadable:
        output.note(f"Skipped, because they are not valid traces: {', '.join(outcome.unreadable)}")


def _as_json(compressed: Compressed) -> dict[str, Any]:
    learned = compressed.learned
    return {
        "task": compressed.task.name,
        "tenant": compressed.task.tenant,
        "traces": [attempt.memory.id for attempt in compressed.task.attempts],
        "state": compressed.state,
        "why": compressed.why,
        "memory": compressed.memory,
        "ratio": None if learned is None else learned.ratio,
        "text": None if learned is None else learned.text,
        "turned_down": () if learned is None else learned.turned_down,
        "estimated_tokens": compressed.tokens,
    }


def _lines(compressed: Compressed) -> list[str]:
    traces = counted(len(compressed.task.attempts), "trace")
    learned = compressed.learned
    ratio = f", {learned.ratio:g} times shorter" if learned and learned.has_decisions else ""
    lines = [
        f"{compressed.task.name.rstrip('.')}: {traces}{ratio}, {compressed.state}"
        + (f": {compressed.why}" if compressed.why else "")
    ]
    if compressed.tokens:
        lines.append(
            f"  ? a model would be called with about {compressed.tokens:,} tokens (--ask calls it)"
        )
    if learned is not None and compressed.state in ("planned", "applied"):
        lines += [f"  {line}" for line in learned.text.split("\n")[1:]]
        lines += [f"  ! omitted: {why}" for why in learned.turned_down]
    return lines


experience = group_of(
    "experience",
    "Add traces of tasks, and compress them to lessons.",
    {"add": add, "compress": compress},
    VerbGroup,
)
