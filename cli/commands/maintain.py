"""slowwave maintain: the dream cycle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.durations import check_duration, check_rules, duration_of, retention_of
from slowwave.cli.arguments.model_options import (
    ApiBaseOption,
    CheckerOption,
    ConcurrencyOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTimeOption,
    MaxTokensOption,
    ModelOption,
    RecordOption,
    ReplayOption,
)
from slowwave.cli.arguments.option_rules import given_in
from slowwave.cli.arguments.options import (
    ALL_OPERATIONS,
    ConfigOption,
    ConsolidateOption,
    EmbedderOption,
    EnabledOption,
    FilesArgument,
    IncludeProtectedOption,
    JsonOption,
    OnlyOption,
    QuietOption,
    TenantsOption,
)
from slowwave.cli.arguments.settings import is_on_command_line, source_of
from slowwave.cli.arguments.writers import make_recordings, make_writer, operations_of
from slowwave.cli.files.places import on_place
from slowwave.cli.nights.gates import Gates
from slowwave.cli.nights.night import Night
from slowwave.cli.nights.watch import Watch
from slowwave.cli.results.recall_guard import guard_of
from slowwave.cli.results.textfile import refuse_unwritable_metrics
from slowwave.cli.results.wiki import WikiOption, refuse_unwritable_wiki, write_after_change
from slowwave.cli.reviewing.interactive import refuse_to_ask
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.log_lines import LogFormat, write_in
from slowwave.cli.terminal.output import Output
from slowwave.consolidation.options import CycleOptions, Review
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.places import Place
from slowwave.store.purge import KEPT_DAYS

from .maintain_usage import (
    options_without_effect,
    phases_of,
    refuse_report,
    refuse_unasked_guard,
    refuse_what_lacks,
)


@on_place
def maintain(
    context: typer.Context,
    files: FilesArgument = None,
    places: Sequence[Place] = (),
    consolidate: ConsolidateOption = False,
    all_phases: Annotated[
        bool,
        typer.Option(
            "--all",
            help="All phases: expire, decay, consolidate, limit (where max_active is set), purge.",
        ),
    ] = False,
    expire: Annotated[
        bool,
        typer.Option(
            "--expire",
            help="Let memories expire whose end, their own or one that a rule sets, has passed.",
        ),
    ] = False,
    retain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            callback=check_rules,
            help="With --expire: how long memories are kept, such as kind=context,keep=30d or "
            "tenant=ops,layer=working,keep=2w; again for more.",
        ),
    ] = None,
    decay: Annotated[
        bool,
        typer.Option("--decay", help="Say how much is left of the memories, by age and use."),
    ] = False,
    max_active: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Archive what a tenant has above N active memories, the least used first.",
        ),
    ] = None,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help=f"Delete what was superseded more than {KEPT_DAYS} days ago and nothing needs.",
        ),
    ] = False,
    enabled: EnabledOption = True,
    min_interval: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            callback=check_duration,
            help="Do nothing if a run changed something less than so long ago, such as 12h.",
        ),
    ] = None,
    min_new: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Do nothing if fewer memories are new since the last night."
        ),
    ] = None,
    backup: Annotated[
        bool,
        typer.Option("--backup", help="Before the first change, a verified backup beside FILE."),
    ] = False,
    keep_backups: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many backups stay; the oldest go.")
    ] = 7,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan and stop; the file is only read.")
    ] = False,
    plan_out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="With --dry-run: write the plan to a new file, of which 'slowwave apply' carries "
            "out what a person leaves in it.",
        ),
    ] = None,
    only: OnlyOption = ALL_OPERATIONS,
    tenant: TenantsOption = None,
    embedder: EmbedderOption = DEFAULT_MODEL,
    model: ModelOption = None,
    api_base: ApiBaseOption = None,
    checker: CheckerOption = None,
    record: RecordOption = None,
    replay: ReplayOption = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="With --dry-run: ask the model, and show what a real run would do; with --record "
            "the real run can take the answers from there.",
        ),
    ] = False,
    concurrency: ConcurrencyOption = 4,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    max_time: MaxTimeOption = None,
    include_protected: IncludeProtectedOption = False,
    review: Annotated[
        Review,
        typer.Option(
            help="Which proposals wait for a person ('slowwave review'): all, those in which more "
            "can be wrong (updates, rules, protected or loosely connected memories, a model's own "
            "words), or none."
        ),
    ] = "never",
    interactive: Annotated[
        bool,
        typer.Option(
            "--interactive",
            help="At a terminal: ask about each proposal, and about what waits from before.",
        ),
    ] = False,
    reconsider: Annotated[
        bool,
        typer.Option(
            "--reconsider", help="Propose again what was rejected, declined or undone before."
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Look at everything anew, whatever earlier runs found out."),
    ] = False,
    guard: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTIONS|self|none",
            help="Measure recall on a copy first, by questions (see 'slowwave eval') or by the "
            "memories' own words, and leave out what would lower it.",
        ),
    ] = None,
    guard_limit: Annotated[
        float,
        typer.Option(metavar="SHARE", min=0, max=1, help="How far recall@10 may fall."),
    ] = 0.01,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write what it did, or would do, as a page (.html) or as Markdown (.md).",
        ),
    ] = None,
    wiki: WikiOption = None,
    log_format: Annotated[
        LogFormat,
        typer.Option(
            callback=write_in,
            help="What stderr gets: sentences, or a JSON object a line (with --quiet, too).",
        ),
    ] = "text",
    metrics_file: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write what it did as metrics of Prometheus, for the node exporter's textfile "
            "collector (.prom); a dry run writes none.",
        ),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: end with 4 if there is work to do.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show all conflicts, and all pairs that were kept apart."),
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Maintain memory files: the dream cycle, and what comes before and after it.

    Duplicates become one, similar memories knowledge, old values give way to new ones. Of several
    files each is maintained by itself, and the worst exit code counts. A budget is of one file. A
    slowwave.toml beside the first of them is for all.
    """
    if not files:
        raise typer.BadParameter("Name the memory file, or set SLOWWAVE_FILE.")
    # A number in a config file is for --all: by itself it archives nothing.
    limits_by_itself = max_active is not None and is_on_command_line(context, "max_active")
    phases = phases_of(all_phases, consolidate, expire, decay, purge)
    if not phases and not limits_by_itself:
        raise typer.BadParameter(
            "Say what is to be done: --consolidate, --expire, --decay, --limit N, --purge or --all."
        )
    given = given_in(context) | phases
    consolidate = "consolidate" in phases
    refuse_what_lacks(context, given)
    refuse_unasked_guard(given)
    refuse_report(report, files)
    if wiki is not None and len(files) > 1:
        raise typer.BadParameter(
            "--wiki works with one file only: name one, or run each by itself."
        )
    if not dry_run:
        refuse_unwritable_wiki(wiki, files[0])
    if metrics_file is not None and not dry_run:
        refuse_unwritable_metrics(metrics_file)
    if plan_out is not None and len(files) > 1:
        raise typer.BadParameter("--plan-out works with one file only.")
    if plan_out is not None and plan_out.exists():
        raise typer.BadParameter(f"{plan_out} exists already.")
    if interactive:
        refuse_to_ask(given, len(files), log_format)
        review = "always"  # until the person has answered
    output = Output(json, quiet)
    for said in options_without_effect(context, given):
        output.note(said)

    limits = (max_calls, max_tokens, max_cost, max_time)
    recordings = make_recordings(record, replay, dry_run and not ask)
    writer_of = partial(make_writer, model, api_base, checker, concurrency, limits, recordings)
    writer = writer_of()
    options = CycleOptions(
        expire="expire" in phases,
        retention=retention_of(retain or ()),
        decay="decay" in phases,
        limit=max_active if all_phases or limits_by_itself else None,
        consolidate=consolidate,
        tenants=tuple(tenant or ()),
        only=operations_of(only),
        include_protected=include_protected,
        review=review,
        reconsider=reconsider,
        full=full,
        ask=ask and dry_run,
        purge="purge" in phases,
        keep_backups=keep_backups if backup else None,
        shown={"only": only, "tenant": tenant or [], "embedder": embedder, "model": writer.model}
        | ({} if writer.checker == writer.model else {"checker": writer.checker})
        | ({} if review == "never" else {"review": review}),
    )
    night = Night(
        options,
        SentenceEmbedder(embedder),
        writer_of,
        recordings,
        dry_run,
        exit_code,
        verbose,
        guard_of(guard, guard_limit) if consolidate else None,
        report,
        # The questions show what a report would.
        Output(json, quiet or interactive),
        plan_out,
        # What a person answers is to be in it.
        None if interactive else wiki,
        Gates(
            None if enabled else source_of(context, "enabled"),
            duration_of(min_interval),
            min_new,
        ),
        Watch(None if dry_run else metrics_file),
        shows_progress=not quiet,
    )
    for place in places:
        place.lend(night.embedder.name, night.embedder.encode)
        if not dry_run:
            place.refuse_changes()
    if backup and not all(place.is_memory_file for place in places):
        raise typer.BadParameter("--backup is for slowwave's own files: undo gives others back.")
    code = night.on(places)
    if interactive and code in (Code.DONE, Code.PARTLY):
        from slowwave.cli.reviewing.interactive import ask_each

        code = max(code, ask_each(places[0], SentenceEmbedder(embedder), output))
        code = write_after_change(wiki, places[0]).tell(output, code)
    raise typer.Exit(code)
