"""slowwave ingest: memories from conversations."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from slowwave.cli.arguments.model_options import AskOption, RecordableModelOptions
from slowwave.cli.arguments.option_rules import (
    ASKING,
    given_in,
    overruled,
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
from slowwave.cli.arguments.settings import is_on_command_line, source_of
from slowwave.cli.files.places import refuse_foreign
from slowwave.cli.terminal.exits import OF_VERDICT, Code
from slowwave.cli.terminal.output import Output
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.ingest import as_json, as_text
from slowwave.cli.views.problems import tell_problems
from slowwave.cli.views.wiki import WikiOption, refuse_unwritable_wiki, write_after_run
from slowwave.consolidation.ingest.options import (
    DEFAULT_DAYS,
    MAX_DAYS,
    MAX_FACTS,
    MAX_FACTS_DISTILLED,
    IngestOptions,
)
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.opening import is_database
from slowwave.store.records import Kind
from slowwave.store.shared_tenant import refuse_unpublished

from .conversation_files import read_files
from .ingest_waiting import show_waiting, throw_away
from .watching import watch_logs

if TYPE_CHECKING:
    from slowwave.consolidation.ingest.ingest_outcome import IngestOutcome
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.conversations.messages import Conversation

_DAYS = ", ".join(f"{kind}={days}" for kind, days in DEFAULT_DAYS.items())
_NEEDS = (("ask", ASKING), ("ask", ("dry_run",)))
_NO_EFFECT_WITHOUT = {"max_cost": ASKING, "instructions": ASKING, "interval": ("watch",)}
_OVERRULED_BY = {"lookback": ("whole", "distill"), "whole": ("distill",)}


def ingest(
    context: typer.Context,
    file: FileArgument,
    conversations: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CONVERSATION",
            help="Exports, session logs, messages as JSON, text with speakers; - for stdin. "
            "Without any, what waits in FILE for a model is read.",
            readable=False,
        ),
    ] = None,
    *,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="chatgpt, claude, claude-code, codex, openai or text; found out otherwise.",
        ),
    ] = None,
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="The partition that the memories live in.")
    ] = "default",
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Where they come from; by default the format's name."),
    ] = None,
    lookback: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Of a conversation that is new, the last N messages are read; of one that has "
            "grown, all that came since.",
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
            help=f"Read all, and keep {MAX_FACTS_DISTILLED} memories of a conversation at the "
            "most, or --max-facts.",
        ),
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Read what was read before, too.")] = False,
    max_facts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Maximum memories from one part.",
            show_default=str(MAX_FACTS),
        ),
    ] = None,
    min_importance: Annotated[
        int,
        typer.Option(metavar="1..5", min=1, max=5, help="What matters less is left out."),
    ] = 2,
    ttl: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=DAYS",
            help="Days until a memory of a kind expires, or none; repeat for more.",
            show_default=_DAYS,
        ),
    ] = None,
    instructions: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|@PATH",
            help="Instructions of your own for the model, placed before all others.",
        ),
    ] = None,
    watch: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Go on reading the session logs in DIR, and below, as they grow.",
        ),
    ] = None,
    interval: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="With --watch: how often it looks, and how long a log must have been quiet.",
        ),
    ] = 30.0,
    waiting: Annotated[
        bool,
        typer.Option(
            "--waiting", allow_from_autoenv=False, help="List the parts that wait for a model."
        ),
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            allow_from_autoenv=False,
            help="Discard a part that waits, by its id or its conversation's name, or all; repeat "
            "for more.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it would do; the file is only read.")
    ] = False,
    ask: AskOption = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    asking: RecordableModelOptions,
    wiki: WikiOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Take memories from conversations; nothing that was read is read twice.

    With a model, the messages that a memory quotes must say it, and a second reading must agree;
    without one, sentences that state facts, preferences or instructions are kept. What a model
    could not read waits in FILE.
    """
    _refuse_databases(file, conversations or ())
    refuse_foreign(file)
    _refuse_contradictions(context, bool(conversations))
    if not tenant.strip():
        raise typer.BadParameter("--tenant takes a name, not a blank.")
    refuse_unpublished(tenant)
    output = Output(json, quiet)
    for note in (
        *without_effect(context, given_in(context), _NO_EFFECT_WITHOUT),
        *overruled(context, _OVERRULED_BY),
    ):
        output.note(note)
    if waiting or drop:
        tenants = [] if source_of(context, "tenant") == "default" else [tenant]
        if drop:
            throw_away(file, drop, tenants, dry_run, output)
        else:
            show_waiting(file, tenants, output)
        return
    if not dry_run:
        refuse_unwritable_wiki(wiki, file)
    if conversations or dry_run:
        watch = None  # it may stand in a config file for other calls
    recordings = asking.recordings(dry_run and not ask)
    writer_of = partial(asking.writer, recordings)
    most = max_facts or (MAX_FACTS_DISTILLED if distill else MAX_FACTS)
    options = IngestOptions(
        tenant=tenant,
        lookback=lookback,
        whole=whole,
        distill=distill,
        again=again,
        max_facts=most,
        min_importance=min_importance,
        days=_days(ttl),
        instructions=_instructions(instructions),
        source=source,
        ask=ask and dry_run,
        shown={"tenant": [tenant], "embedder": embedder, "model": writer_of().model},
    )
    sitting = _Sitting(
        file, options, SentenceEmbedder(embedder), writer_of, recordings, dry_run,
        None if dry_run else wiki, output,
    )  # fmt: skip
    if watch is not None:
        watch_logs(watch, interval, from_format, sitting.on_log, sitting.output)
    raise typer.Exit(sitting.on(read_files(conversations or [], from_format, output)))


@dataclass(frozen=True)
class _Sitting:
    """How conversations are read into one file, and how that is told."""

    file: Path
    options: IngestOptions
    embedder: SentenceEmbedder
    # A new one each time: a budget is of one run.
    writer: Callable[[], Writer]
    recordings: Recordings | None
    dry_run: bool
    # Where the file is written out as a wiki afterwards.
    wiki: Path | None
    output: Output

    def on(self, conversations: Sequence[Conversation]) -> int:
        """Read conversations, tell what came of it, and give the exit code."""
        writer = self.writer()
        return self._told(self._ingested(conversations, writer), writer)

    def on_log(self, conversations: Sequence[Conversation]) -> None:
        """Read what stands in a log, and tell what came of it if anything there is new."""
        writer = self.writer()
        outcome = self._ingested(conversations, writer)
        if outcome.run_id is not None or outcome.unread:
            self._told(outcome, writer)

    def _told(self, outcome: IngestOutcome, writer: Writer) -> int:
        signals = signals_of_this_command()
        pages = write_after_run(self.wiki, self.file, self.file)
        self.output.result(
            {"command": "ingest", "file": str(self.file), "dry_run": self.dry_run}
            | as_json(outcome, writer)
            | pages.as_json()
        )
        self.output.show(*as_text(outcome, self.file, self.options.tenant, self.dry_run, writer))
        # Where it failed a part waits: whoever asks about the file is to hear of that, each time.
        came_to = Code.PARTLY if outcome.verdict == "failed" else OF_VERDICT[outcome.verdict]
        code: int = signals.code or came_to
        return pages.tell(self.output, self._with_problems(outcome, writer, code))

    def _ingested(self, conversations: Sequence[Conversation], writer: Writer) -> IngestOutcome:
        from slowwave.consolidation.ingest.ingest import ingest as run_ingest

        signals = signals_of_this_command()
        signals.open()
        with shown_progress(self.output.quiet) as progress:
            outcome = run_ingest(
                self.file,
                conversations,
                self.options,
                self.embedder,
                writer,
                datetime.now(UTC),
                self.dry_run,
                progress,
                signals,
            )
        signals.close()
        return outcome

    def _with_problems(self, outcome: IngestOutcome, writer: Writer, code: int) -> int:
        """Report on stderr what went wrong, and return the exit code."""
        failed = len([one for one in outcome.unread if one.state != "planned"])
        in_short = (
            f"{self.file}: parts of conversations that wait for a model: {failed}, "
            f"answers that could not be read: {len(outcome.of('raw'))}."
        )
        return tell_problems(
            self.output, code, writer, self.recordings, outcome.broken_off, in_short
        )


def _refuse_databases(file: Path, conversations: Sequence[Path]) -> None:
    """Refuse a database among the conversations: FILE may be in the wrong place."""
    for path in filter(is_database, conversations):
        if is_database(file):
            raise typer.BadParameter(f"{path} is a database, not a conversation.")
        others = [file, *(other for other in conversations if other != path)]
        named = " ".join(shlex.quote(str(each)) for each in (path, *others))
        raise typer.BadParameter(
            f"{path} is a database, and {file} is not. The memory file comes first: "
            f"slowwave ingest {named}"
        )


def _refuse_contradictions(context: typer.Context, has_conversations: bool) -> None:
    """Refuse options that cannot be combined, and an unknown format."""
    from slowwave.store.conversations.conversation_formats import FORMATS

    refuse_missing(context, _NEEDS)
    name, known = context.params["from_format"], [each.name for each in FORMATS]
    if name is not None and name not in known:
        raise typer.BadParameter(
            f"Unknown conversation format '{name}'. Known formats: {', '.join(known)}."
        )
    chosen = [
        f"--{name}"
        for name in ("waiting", "drop", "watch", "model", "replay")
        if is_on_command_line(context, name)
    ]
    others = chosen[1:] + ["conversations"] * has_conversations
    if chosen and chosen[0] in ("--waiting", "--drop") and others:
        raise typer.BadParameter(f"{chosen[0]} cannot be combined with {others[0]}.")
    others = ["conversations"] * has_conversations + ["--dry-run"] * context.params["dry_run"]
    if "--watch" in chosen and others:
        raise typer.BadParameter(f"--watch cannot be combined with {others[0]}.")


def _days(stated: Sequence[str] | None) -> dict[str, int | None]:
    """Return the days until a memory of each kind expires."""
    days = dict(DEFAULT_DAYS)
    for one in stated or ():
        kind, _, number = one.partition("=")
        if kind not in get_args(Kind) or not (number == "none" or number.isdecimal()):
            raise typer.BadParameter(
                f"--ttl takes KIND=DAYS or KIND=none, with one of {', '.join(get_args(Kind))}, "
                f"not '{one}'."
            )
        days[kind] = None if number == "none" else _whole_days(number)
    return days


def _whole_days(number: str) -> int:
    if not 1 <= int(number) <= MAX_DAYS:
        raise typer.BadParameter(f"--ttl takes 1 to {MAX_DAYS} days, not {number}.")
    return int(number)


def _instructions(stated: str | None) -> str:
    """Return the user's own instructions: as they are stated, or from a file."""
    from slowwave.store.opening import read_text

    if stated is None or not stated.startswith("@"):
        return stated or ""
    try:
        return read_text(Path(stated[1:]))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise typer.BadParameter(f"--instructions: cannot read {stated[1:]}: {why}.") from error
