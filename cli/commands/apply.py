"""slowwave review apply: apply the proposals of a plan."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import (
    EmbedderOption,
    IncludeProtectedOption,
)
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.review import report_decided
from slowwave.cli.views.wiki import ChangeOutput
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.store.file import MemoryFile


def apply(
    place: Place,
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A plan of 'maintain --dry-run --plan-out', from which you may delete proposals.",
        ),
    ],
    include_protected: IncludeProtectedOption = False,
    reconsider: Annotated[
        bool, typer.Option("--reconsider", help="Also apply proposals that were declined since.")
    ] = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    *,
    output: ChangeOutput,
) -> None:
    """Apply the proposals that are left in a plan, each if a run would do exactly this now.

    Otherwise it is stale. What a model wrote is rejected.
    """
    from slowwave.consolidation.running.approval import Approval
    from slowwave.consolidation.running.plan_file import apply_plan, read_plan

    output.refuse_changes(place)
    planned = read_plan(plan)
    now, model = datetime.now(UTC), SentenceEmbedder(embedder)
    with shown_progress(output.quiet) as progress:

        def do(opened: MemoryFile) -> ReviewResult:
            approval = Approval(
                file=opened,
                embedder=model,
                now=now,
                way="plan",
                progress=progress,
                interruption=signals_of_this_command(),
            )
            return apply_plan(approval, planned, include_protected, reconsider)

        decided = place.change(do)
    raise typer.Exit(report_decided("apply", place, decided, output))
