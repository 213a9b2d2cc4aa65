"""slowwave ingest: memories from conversations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import time
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

import typer

from slowwave.cli.arguments.durations import moment_of
from slowwave.cli.arguments.model_options import AskOption, RecordableModelOptions
from slowwave.cli.arguments.option_rules import ASKING, given_in, refuse_missing, without_effect
from slowwave.cli.arguments.options import (
    EmbedderOption,
    FileArgument,
    OutputOptions,
    SkipInvalidOption,
    per_call,
)
from slowwave.cli.arguments.place_options import refuse_foreign
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.consolidation.ingest.options import (
    DEFAULT_DAYS,
    MAX_DAYS,
    MAX_FACTS,
    MAX_FACTS_DISTILLED,
    IngestOptions,
)
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.opening import read_text
from slowwave.store.records import Kind
from slowwave.store.shared_tenant import refuse_unpublished

from .ingest_run import IngestRun

_DAYS = ", ".join(f"{kind}={days}" for kind, days in DEFAULT_DAYS.items())
_NEEDS = (("ask", ASKING), ("ask", ("dry_run",)))
_NO_EFFECT_WITHOUT = {"max_cost": ASKING, "interval": ("watch",)}


def ingest(
    context: typer.Context,
    file: FileArgument,
    conversations: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CONVERSATION",
            help=(
                "Exports, session logs, JSON messages or text with speakers; - for stdin. If "
                "omitted, a model reads the parts queued in FILE."
            ),
            readable=False,
        ),
    ] = None,
    *,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="chatgpt, claude, claude-code, codex, openai or text. Default: detected from the "
            "content.",
        ),
    ] = None,
    date: Annotated[
        str | None,
        per_call(
            metavar="DAY",
            help="Date or time of messages that have none. Default: the time of their file.",
        ),
    ] = None,
    skip_invalid: SkipInvalidOption = False,
    allow_secrets: Annotated[
        bool,
        typer.Option("--allow-secrets", help="Do not mask passwords, keys, tokens and cards."),
    ] = False,
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="The tenant to add the memories to.")
    ] = "default",
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The source to store with the memories. Default: the name of the format.",
        ),
    ] = None,
    lookback: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="For a new conversation, read only the last N messages. For a known one, all new "
            "messages are read.",
        ),
    ] = 8,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Read all messages that were not read before, in parts."),
    ] = False,
    distill: Annotated[
        bool,
        typer.Option(
            "--distill",
            help=f"Read all messages, but keep at most {MAX_FACTS_DISTILLED} memories per "
            "conversation, or --max-facts.",
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also read messages that were read before.")
    ] = False,
    max_facts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"Maximum memories per part. Default: {MAX_FACTS}; with --distill, "
            f"{MAX_FACTS_DISTILLED} per conversation.",
        ),
    ] = None,
    min_importance: Annotated[
        int,
        typer.Option(metavar="1..5", min=1, max=5, help="Skip memories below this importance."),
    ] = 2,
    ttl: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=DAYS",
            help="KIND=DAYS: days until memories of this kind expire; KIND=none: never. "
            f"Repeatable. Default: {_DAYS}.",
        ),
    ] = None,
    instructions: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|@PATH",
            help="Your own instructions for the model, placed before all others.",
        ),
    ] = None,
    watch: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Watch DIR and its subfolders, and read session logs as they grow.",
        ),
    ] = None,
    interval: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            max=86_400,
            help="With --watch: seconds between checks, and how long a log must be unchanged "
            "before it is read.",
        ),
    ] = 30.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
    ask: AskOption = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    asking: RecordableModelOptions,
    output: OutputOptions,
) -> None:
    """Extract memories from conversations; no message is read twice.

    Each memory must be supported by the messages it quotes, and a second model call must confirm
    it. Without a model, or if it fails, messages are queued in FILE: the next run with a model
    reads them, or an agent that answers 'slowwave questions FILE'.
    """
    refuse_foreign(file)
    _refuse_contradictions(context, bool(conversations))
    refuse_unpublished(tenant)
    for note in without_effect(context, given_in(context), _NO_EFFECT_WITHOUT):
        output.note(note)
    if conversations or dry_run:
        watch = None  # a config file may set it for other calls
    recordings = asking.recordings(dry_run and not ask)
    writer_of = partial(asking.writer, recordings)
    options = IngestOptions(
        tenant=tenant,
        lookback=lookback,
        whole=whole,
        distill=distill,
        again=again,
        max_facts=max_facts or (MAX_FACTS_DISTILLED if distill else MAX_FACTS),
        min_importance=min_importance,
        days=_days(ttl),
        instructions=_instructions(instructions),
        source=source,
        allow_secrets=allow_secrets,
        ask=ask and dry_run,
        shown={"tenant": [tenant], "embedder": embedder, "model": writer_of().model},
    )
    run = IngestRun(
        file,
        options,
        SentenceEmbedder(embedder),
        writer_of,
        recordings,
        dry_run,
        format=from_format,
        said_at=moment_of(date, "--date", time.min),
        skips_invalid=skip_invalid,
        output=output,
    )
    if watch is not None:
        run.watch(watch, interval)
    raise typer.Exit(run.read(conversations or []))


def _refuse_contradictions(context: typer.Context, has_conversations: bool) -> None:
    from slowwave.store.conversations.conversation_formats import FORMATS

    refuse_missing(context, _NEEDS)
    name, format_names = context.params["from_format"], [each.name for each in FORMATS]
    if name is not None and name not in format_names:
        raise typer.BadParameter(
            f"Unknown conversation format '{name}'. Available: {', '.join(format_names)}."
        )
    if is_on_command_line(context, "watch"):
        conflicts = {"conversations": has_conversations, "--dry-run": context.params["dry_run"]}
        for name, is_passed in conflicts.items():
            if is_passed:
                raise typer.BadParameter(f"--watch cannot be combined with {name}.")


def _days(limits: Sequence[str] | None) -> dict[str, int | None]:
    """Return the days until a memory of each kind expires."""
    days = dict(DEFAULT_DAYS)
    for limit in limits or ():
        kind, _, number = limit.partition("=")
        if kind not in get_args(Kind) or not (number == "none" or number.isdecimal()):
            raise typer.BadParameter(
                f"--ttl takes KIND=DAYS or KIND=none, with one of {', '.join(get_args(Kind))}, "
                f"not '{limit}'."
            )
        # Python converts at most 4,300 digits.
        if number != "none" and not 1 <= int(number.lstrip("0")[:9] or 0) <= MAX_DAYS:
            raise typer.BadParameter(f"--ttl takes 1 to {MAX_DAYS} days, not {number}.")
        days[kind] = None if number == "none" else int(number)
    return days


def _instructions(text: str | None) -> str:
    """Return the user's own instructions: the text itself, or a file's after an @."""
    if text is None or not text.startswith("@"):
        return text or ""
    path = text[1:]
    try:
        return read_text(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise typer.BadParameter(f"--instructions: cannot read {path}: {reason}.") from error
