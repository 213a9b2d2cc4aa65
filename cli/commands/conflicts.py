"""slowwave conflicts: memories that contradict each other, and which of them a person keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.configured import VerbGroup, group_of
from slowwave.cli.arguments.options import (
    DryRunOption,
    OutputOptions,
    TenantsOption,
    per_call,
)
from slowwave.cli.terminal.output import clean
from slowwave.cli.views.conflict import conflicts_as_json, conflicts_as_text
from slowwave.cli.views.correction import make_correction
from slowwave.consolidation.reports.conflict_groups import group_conflicts
from slowwave.store.errors import NotFound
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.memories import find_id
from slowwave.store.places import Place
from slowwave.store.prefixes import match_prefix
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.consolidation.running.corrections import Correction


def list_conflicts(
    place: Place,
    tenant: TenantsOption = None,
    *,
    output: OutputOptions,
) -> None:
    """List memories that contradict each other. Same as 'slowwave conflicts FILE'.

    Only pairs in which neither memory clearly replaces the other.
    """
    from slowwave.consolidation.planning.conflicts import current_conflicts

    with place.reading() as memory_file:
        now = timestamp(datetime.now(UTC))
        with open_reading(memory_file) as opened:
            conflicts = current_conflicts(opened, tuple(tenant or ()), now)
        output.result("conflicts", file=str(place.named), conflicts=conflicts_as_json(conflicts))
        if not conflicts:
            output.show(clean(f"{place.named}: no conflicts."))
            return
        output.show(conflicts_as_text(conflicts, memory_file))
        settle = "slowwave conflicts resolve FILE ID --keep MEMORY, or --both if both are right"
        output.note(f"Settle one with: {settle}")


def resolve(
    place: Place,
    conflict: Annotated[
        str, typer.Argument(metavar="ID", help="The id of a conflict, or a unique prefix.")
    ],
    keep: Annotated[
        str | None,
        per_call(
            metavar="MEMORY", help="The memory that is right: it supersedes what contradicts it."
        ),
    ] = None,
    both: Annotated[
        bool, per_call("--both", help="Both are right: keep both, and do not list them again.")
    ] = False,
    dry_run: DryRunOption = False,
    *,
    output: OutputOptions,
) -> None:
    """Settle a conflict, so that it is not listed again; 'slowwave undo' undoes it."""
    if (keep is not None) == both:
        raise typer.BadParameter("Pass exactly one of --keep MEMORY and --both.")

    def do(opened: MemoryFile) -> Correction:
        from slowwave.consolidation.planning.conflicts import current_conflicts
        from slowwave.consolidation.running.corrections import Corrector

        now = datetime.now(UTC)
        groups = group_conflicts(current_conflicts(opened, (), timestamp(now)))
        by_id = {group.id: group for group in groups}
        hint = "'slowwave conflicts FILE' lists them."
        group = by_id[match_prefix(conflict, by_id, "conflict", f" in {place.named}", hint)]
        corrector = Corrector(opened, now)
        if keep is None:
            return corrector.allow([pair.sources for pair in group.conflicts])
        kept_id = find_id(opened, keep)
        if kept_id not in group.memories:
            raise NotFound(
                f"Memory {kept_id} is not in conflict {group.id}.",
                f"Nothing was changed. Its memories: {', '.join(sorted(group.memories))}.",
            )
        return corrector.keep(kept_id, group.rivals_of(kept_id))

    make_correction("conflicts", place, do, dry_run, output)


app = group_of(
    "conflicts",
    "List memories that contradict each other, and settle them.",
    {"list": list_conflicts, "resolve": resolve},
    VerbGroup,
)
