"""slowwave experience: traces of tasks taken in, and what was learned from them."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from slowwave.consolidation.thresholds import LEAST_COMPRESSION
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

from .exits import Code
from .foreign import refuse_foreign
from .importing import reading
from .memory_texts import counted
from .model_options import (
    ApiBaseOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    ModelOption,
)
from .output import Output, clean
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption
from .writers import make_writer

if TYPE_CHECKING:
    from slowwave.consolidation.experience.run import Compressed, Compression

Action = Literal["add", "compress"]


def experience(
    file: FileArgument,
    action: Annotated[Action, typer.Argument(help="Take traces in, or learn from them.")],
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOURCE.jsonl|-]",
            help="With add: traces as JSON lines; - for stdin.",
            readable=False,
        ),
    ] = None,
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="The partition that they live in.")
    ] = "default",
    min_ratio: Annotated[
        float,
        typer.Option(
            metavar="TIMES",
            min=1,
            help="With compress: what is less than so many times shorter is discarded.",
        ),
    ] = LEAST_COMPRESSION,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With compress: show it; no model is asked.")
    ] = False,
    model: ModelOption = None,
    api_base: ApiBaseOption = None,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    embedder: Annotated[
        str,
        typer.Option(metavar="NAME|PATH", help="A sentence-transformers model on this machine."),
    ] = DEFAULT_MODEL,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Take in traces of tasks (prompt, steps, output, feedback), and compress what they teach.

    Traces are kept for audit, archived, and never get into a context block; what was learned is a
    memory with links to each of them, and 'slowwave undo' takes it back.
    """
    refuse_foreign(file)
    if (source is None) == (action == "add"):
        what = "needs the traces: a file, or -" if action == "add" else "takes no file of traces"
        raise typer.BadParameter(f"{action} {what}.")
    output = Output(json, quiet)
    if action == "add" and source is not None:
        _add(file, source, tenant, output)
        return
    from slowwave.consolidation.experience.run import compress_experiences
    from slowwave.consolidation.model.writer import ModelWriter

    writer = make_writer(
        None if dry_run else model,
        api_base,
        "none",
        1,
        (max_calls, max_tokens, max_cost, None),
        None,
    )
    done = compress_experiences(
        file,
        (tenant,),
        SentenceEmbedder(embedder),
        writer if isinstance(writer, ModelWriter) else None,
        datetime.now(UTC),
        min_ratio,
        dry_run,
    )
    _tell(file, done, dry_run, output)


def _add(file: Path, source: Path, tenant: str, output: Output) -> None:
    from slowwave.consolidation.experience.traces import as_memory, parse_trace
    from slowwave.store.check import refuse_damaged
    from slowwave.store.file import open_writing
    from slowwave.store.memories import add_memories, read_memories

    now = datetime.now(UTC)
    with reading(source) as lines:
        traces = [
            parse_trace(line, number) for number, line in enumerate(lines, start=1) if line.strip()
        ]
    memories = {one.id: one for one in (as_memory(trace, tenant, now) for trace in traces)}
    with open_writing(file) as opened:
        refuse_damaged(opened)
        with opened.transaction():
            known = {one.id for one in read_memories(opened, list(memories))}
            new = [one for key, one in memories.items() if key not in known]
            add_memories(opened, new)
    told = {"command": "experience", "file": str(file), "action": "add"}
    output.result(told | {"added": [one.id for one in new], "known": len(traces) - len(new)})
    output.show(
        clean(f"{file}: {counted(len(new), 'trace', 'traces')} taken in, ")
        + f"{len(traces) - len(new)} known already."
    )


def _tell(file: Path, done: Compression, dry_run: bool, output: Output) -> None:
    from dataclasses import asdict

    output.result(
        {
            "command": "experience",
            "file": str(file),
            "action": "compress",
            "dry_run": dry_run,
            "run": done.run_id,
            "tasks": [_as_json(one) for one in done.tasks],
            "unreadable": done.unreadable,
            "model": asdict(done.usage),
        }
    )
    lines = [line for one in done.tasks for line in _lines(one)]
    if done.run_id is not None:
        lines.append(f"Take it back with: slowwave undo {shlex.quote(str(file))} {done.run_id}")
    output.show("\n".join(map(clean, lines)) or clean(f"{file}: no new traces: nothing to do."))
    if done.unreadable:
        output.note(clean(f"No traces any more, and left out: {', '.join(done.unreadable)}"))
    if any(one.state in ("failed", "skipped") for one in done.tasks):
        raise typer.Exit(Code.FAILED if done.run_id is None else Code.PARTLY)


def _as_json(one: Compressed) -> dict[str, Any]:
    learned = one.learned
    return {
        "task": one.task.name,
        "tenant": one.task.tenant,
        "traces": [attempt.memory.id for attempt in one.task.attempts],
        "state": one.state,
        "why": one.why,
        "memory": one.memory,
        "ratio": None if learned is None else learned.ratio,
        "text": None if learned is None else learned.text,
        "turned_down": () if learned is None else learned.turned_down,
    }


def _lines(one: Compressed) -> list[str]:
    traces = counted(len(one.task.attempts), "trace", "traces")
    learned = one.learned
    told = learned is not None and bool(learned.decisions)
    ratio = f", {learned.ratio:g} times shorter" if learned is not None and told else ""
    lines = [f"{one.task.name}: {traces}{ratio}, {one.state}" + (f": {one.why}" if one.why else "")]
    if one.learned is not None and one.state in ("planned", "applied"):
        lines += [f"  {line}" for line in one.learned.text.split("\n")[1:]]
        lines += [f"  ! left out: {why}" for why in one.learned.turned_down]
    return lines
