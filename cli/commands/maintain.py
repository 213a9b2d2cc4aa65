"""slowwave maintain: the dream cycle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.durations import duration_of, retention_of
from slowwave.cli.arguments.model_options import AskOption, RecordableModelOptions
from slowwave.cli.arguments.night_options import AskedOptions, NightSettings, OldPhases, PhaseOption
from slowwave.cli.arguments.option_rules import ASKING, given_in, refuse_missing, without_effect
from slowwave.cli.arguments.options import OUTPUT_PANEL, PROPOSALS_PANEL, OutputOptions, per_call
from slowwave.cli.arguments.settings import source_of
from slowwave.cli.nights.gates import Gates
from slowwave.cli.nights.maintain_files import Night
from slowwave.cli.nights.watch import Watch
from slowwave.cli.views.report_file import (
    is_page,
    refuse_unwritable,
    refuse_unwritable_folder,
    refuse_unwritable_metrics,
)
from slowwave.cli.views.wiki import refuse_unwritable_wiki
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.places import Place

_NEEDS = (("ask", ASKING), *((option, ("dry_run",)) for option in ("ask", "plan_out", "exit_code")))
# On the command line, these have no effect without one of the options named.
_NO_EFFECT_WITHOUT = {
    "max_cost": ASKING,
    **dict.fromkeys(("review", "reconsider", "full"), ("consolidate",)),
}


def maintain(
    context: typer.Context,
    places: Sequence[Place],
    *,
    phase: PhaseOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, and change nothing.")
    ] = False,
    ask: AskOption = False,
    asking: RecordableModelOptions,
    asked: AskedOptions,
    full: Annotated[
        bool, typer.Option("--full", help="Compare all memories again, not only changed ones.")
    ] = False,
    backup: Annotated[
        bool,
        typer.Option(
            "--backup", help="Create a verified backup next to FILE before the first change."
        ),
    ] = False,
    plan_out: Annotated[
        Path | None,
        per_call(
            metavar="PATH",
            rich_help_panel=PROPOSALS_PANEL,
            help="With --dry-run: write the plan to a new file. Delete the proposals you do not "
            "want, then run 'slowwave review apply'.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            rich_help_panel=OUTPUT_PANEL,
            help="Show whole texts, all conflicts, equal memories that were not merged, "
            "similarity and trust.",
        ),
    ] = False,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            rich_help_panel=OUTPUT_PANEL,
            help="With --dry-run: exit with 4 if there is something to do.",
        ),
    ] = False,
    old_phases: OldPhases,
    settings: NightSettings,
    output: OutputOptions,
) -> None:
    """Consolidate memory files: merge duplicates, join related memories, replace old values.

    Every file has its own budget; the worst exit code is returned. The slowwave.toml next to the
    first file applies to all files.
    """
    phases = old_phases.phases(context, phase)
    given_options = given_in(context) | phases
    # A config file for dry runs may set options that need one together with --no-dry-run.
    refuse_missing(context, _NEEDS)
    _refuse_unwritable(settings, plan_out, places, dry_run)
    for note in without_effect(context, given_options, _NO_EFFECT_WITHOUT):
        output.note(note)

    recordings = asking.recordings(dry_run and not ask)
    writer = asking.writer(recordings)
    options = replace(
        asked.cycle_options(writer.model, writer.checker),
        expire="expire" in phases,
        retention=retention_of(settings.retain or ()),
        decay="decay" in phases,
        limit=old_phases.max_active if "limit" in phases else None,
        consolidate="consolidate" in phases,
        full=full,
        ask=ask and dry_run,
        purge="purge" in phases,
        keep_backups=settings.keep_backups if backup else None,
    )
    gates = Gates(
        None if settings.enabled else source_of(context, "enabled"),
        duration_of(settings.min_interval),
        settings.min_new,
    )
    watch = Watch(None if dry_run else settings.metrics_file)
    model = SentenceEmbedder(asked.embedder)
    for place in places:
        place.set_embedder(model.name, model.encode)
        if not dry_run:
            place.refuse_changes()
            refuse_unwritable_wiki(settings.wiki, place.named)
    if backup and not all(place.is_memory_file for place in places):
        raise typer.BadParameter(
            "--backup works only with slowwave's own files; undo restores other files."
        )
    night = Night(
        options=options,
        settings=settings,
        embedder=model,
        models=asking,
        recordings=recordings,
        gates=gates,
        watch=watch,
        output=output,
        dry_run=dry_run,
        exit_code=exit_code and dry_run,
        verbose=verbose,
        plan_out=plan_out,
    )
    raise typer.Exit(night.maintain(places))


def _refuse_unwritable(
    settings: NightSettings, plan_out: Path | None, places: Sequence[Place], dry_run: bool
) -> None:
    paths = {"--report": settings.report, "--wiki": settings.wiki, "--plan-out": plan_out}
    for option, path in paths.items():
        if path is not None and len(places) > 1:
            raise typer.BadParameter(
                f"{option} works with one file only: run each file separately."
            )
    if settings.report is not None:
        is_page(settings.report)
        refuse_unwritable(settings.report)
    if plan_out is not None:
        refuse_unwritable_folder(plan_out.absolute().parent, str(plan_out))
        if os.path.lexists(plan_out):
            raise typer.BadParameter(f"{plan_out} already exists.")
    if not dry_run and settings.metrics_file is not None:
        refuse_unwritable_metrics(settings.metrics_file)
