"""slowwave apply: what is left in a plan, carried out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import (
    ConfigOption,
    EmbedderOption,
    FileArgument,
    JsonOption,
    QuietOption,
)
from slowwave.cli.files.foreign import FormatOption, StateOption, place_of
from slowwave.cli.results.waiting import decided_as_json, decided_as_text, exit_code
from slowwave.cli.terminal.output import Output
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.wiki.writing import WikiOption, refuse_unwritable_wiki, write_after_change
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

if TYPE_CHECKING:
    from slowwave.store.file import MemoryFile


def apply(
    file: FileArgument,
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="What maintain --dry-run --plan-out wrote, without what is not to be done.",
        ),
    ],
    embedder: EmbedderOption = DEFAULT_MODEL,
    wiki: WikiOption = None,
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Carry out what is left in a plan; nothing of a proposal whose sources have changed since."""
    from slowwave.consolidation.running.approval import Decided, carry_out, find_declined
    from slowwave.consolidation.running.plan_file import read_plan

    refuse_unwritable_wiki(wiki, file)
    several, reconsiders = read_plan(plan)
    now, model = datetime.now(UTC), SentenceEmbedder(embedder)

    output = Output(json, quiet)
    place = place_of(file, format, state, writes=True)
    with shown_progress(quiet) as progress:

        def do(opened: MemoryFile) -> Decided:
            declined = [] if reconsiders else list(find_declined(opened, several))
            ids = {one.proposal.id for one in declined}
            left = [one for one in several if one.proposal.id not in ids]
            decided = carry_out(opened, left, model, now, "plan", progress)
            return Decided(decided.run_id, (*decided.results, *declined))

        decided = place.change(do)
    pages = write_after_change(wiki, place)
    output.result(decided_as_json("apply", file, decided) | pages.as_json())
    output.show(decided_as_text(file, decided))
    raise typer.Exit(pages.tell(output, exit_code(decided)))
