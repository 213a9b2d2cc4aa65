"""slowwave review apply: apply the proposals of a plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import EmbedderOption, IncludeProtectedOption
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
    """Apply the proposals that are left in a plan, each if it passes all checks again.

    A proposal whose sources have changed is stale; one whose text cannot be checked is rejected.
    """
    from slowwave.consolidation.running.approval import Approval, ReviewResult, find_declined
    from slowwave.consolidation.running.plan_file import read_plan

    output.refuse_changes(place)
    # Only the command line can permit this; a plan cannot.
    planned = read_plan(plan)
    wants_protected = any(entry.proposal.include_protected for entry in planned)
    planned = [
        replace(entry, proposal=replace(entry.proposal, include_protected=include_protected))
        for entry in planned
    ]
    now, model = datetime.now(UTC), SentenceEmbedder(embedder)

    if wants_protected and not include_protected:
        output.note(
            "The plan was made with --include-protected. Pass that here, too: otherwise proposals "
            "that change protected memories are stale."
        )
    with shown_progress(output.quiet) as progress:

        def do(opened: MemoryFile) -> ReviewResult:
            declined = [] if reconsider else list(find_declined(opened, planned))
            ids = {result.proposal.id for result in declined}
            rest = [entry for entry in planned if entry.proposal.id not in ids]
            approval = Approval(
                file=opened,
                embedder=model,
                now=now,
                way="plan",
                progress=progress,
                is_trusted=False,
                interruption=signals_of_this_command(),
            )
            decided = approval.apply(rest)
            return ReviewResult(decided.run_id, (*decided.results, *declined))

        decided = place.change(do)
    raise typer.Exit(report_decided("apply", place, decided, output))
