"""slowwave experience: traces of tasks taken in, and what was learned from them."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from slowwave.cli.arguments.model_options import (
    ApiBaseOption,
    AskOption,
    ConcurrencyOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTimeOption,
    MaxTokensOption,
    ModelOption,
    RecordOption,
    ReplayOption,
    make_recordings,
    make_writer,
)
from slowwave.cli.arguments.option_rules import (
    ABOUT_ASKING,
    ASKING,
    given_in,
    refuse_missing,
    without_effect,
)
from slowwave.cli.arguments.options import (
    ConfigOption,
    EmbedderOption,
    FileArgument,
    JsonOption,
    QuietOption,
)
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.commands.import_ import reading
from slowwave.cli.files.places import refuse_foreign
from slowwave.cli.terminal.exits import OF_VERDICT
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.problems import tell_problems
from slowwave.cli.views.wiki import (
    WikiOfRun,
    WikiOption,
    refuse_unwritable_wiki,
    write_after_run,
)
from slowwave.consolidation.thresholds import LEAST_COMPRESSION
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

if TYPE_CHECKING:
    from slowwave.extensions.organisation.experience.experience_outcome import (
        Compressed,
        Compression,
    )

Action = Literal["add", "compress"]
# What makes no sense without one of some others.
_NEEDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("api_base", ("model",)),
    ("record", ASKING),
    ("ask", ASKING),
    ("ask", ("dry_run",)),
)


def experience(
    context: typer.Context,
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
        bool, typer.Option("--dry-run", help="With compress: show it; the file is only read.")
    ] = False,
    ask: AskOption = False,
    model: ModelOption = None,
    api_base: ApiBaseOption = None,
    record: RecordOption = None,
    replay: ReplayOption = None,
    concurrency: ConcurrencyOption = 4,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    max_time: MaxTimeOption = None,
    embedder: EmbedderOption = DEFAULT_MODEL,
    wiki: WikiOption = None,
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
    if action == "add" and dry_run and is_on_command_line(context, "dry_run"):
        raise typer.BadParameter("--dry-run goes with compress.")
    refuse_missing(context, _NEEDS)
    output = Output(json, quiet)
    for said in without_effect(context, given_in(context), ABOUT_ASKING):
        output.note(said)
    if action == "add" and source is not None:
        _add(file, source, tenant, output)
        return
    if not dry_run:
        refuse_unwritable_wiki(wiki, file)
    from slowwave.extensions.organisation.experience.run import (
        ExperienceOptions,
        compress_experiences,
    )

    limits = (max_calls, max_tokens, max_cost, max_time)
    recordings = make_recordings(record, replay, dry_run and not ask)
    writer = make_writer(model, api_base, None, concurrency, limits, recordings)
    shown = {"tenant": [tenant], "embedder": embedder, "model": writer.model}
    signals = signals_of_this_command()
    signals.open()
    with shown_progress(quiet) as progress:
        done = compress_experiences(
            file,
            ExperienceOptions((tenant,), min_ratio, ask and dry_run, shown),
            SentenceEmbedder(embedder),
            writer,
            datetime.now(UTC),
            dry_run,
            progress,
            signals,
        )
    signals.close()
    pages = write_after_run(None if dry_run else wiki, file, file)
    _tell(file, done, dry_run, output, pages)
    code: int = signals.code or OF_VERDICT[done.verdict]
    wrong = sum(one.state in ("failed", "skipped") for one in done.tasks)
    in_short = clean(f"{file}: the traces of {counted(wrong, 'task', 'tasks')} wait for a model.")
    code = tell_problems(output, code, writer, recordings, done.broken_off, in_short)
    raise typer.Exit(pages.tell(output, code))


def _add(file: Path, source: Path, tenant: str, output: Output) -> None:
    from slowwave.extensions.organisation.experience.traces import as_memory, parse_trace
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
    result = {"command": "experience", "file": str(file), "action": "add"}
    output.result(result | {"added": [one.id for one in new], "known": len(traces) - len(new)})
    output.show(
        clean(f"{file}: {counted(len(new), 'trace', 'traces')} taken in, ")
        + f"{len(traces) - len(new)} known already."
    )


def _tell(file: Path, done: Compression, dry_run: bool, output: Output, pages: WikiOfRun) -> None:
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
            **pages.as_json(),
        }
    )
    lines = [line for one in done.tasks for line in _lines(one)]
    if done.run_id is not None:
        lines.append(f"Take it back with: slowwave undo {shlex.quote(str(file))} {done.run_id}")
    output.show("\n".join(map(clean, lines)) or clean(f"{file}: no new traces: nothing to do."))
    if done.unreadable:
        output.note(clean(f"No traces any more, and left out: {', '.join(done.unreadable)}"))


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
        "estimated_tokens": one.tokens,
    }


def _lines(one: Compressed) -> list[str]:
    traces = counted(len(one.task.attempts), "trace", "traces")
    learned = one.learned
    has_decisions = learned is not None and bool(learned.decisions)
    ratio = f", {learned.ratio:g} times shorter" if learned is not None and has_decisions else ""
    lines = [f"{one.task.name}: {traces}{ratio}, {one.state}" + (f": {one.why}" if one.why else "")]
    if one.tokens:
        lines.append(f"  ? the model would be asked, some {one.tokens:,} tokens (--ask asks it)")
    if one.learned is not None and one.state in ("planned", "applied"):
        lines += [f"  {line}" for line in one.learned.text.split("\n")[1:]]
        lines += [f"  ! left out: {why}" for why in one.learned.turned_down]
    return lines
