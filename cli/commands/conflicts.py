"""slowwave conflicts: memories that give one thing two values."""

from __future__ import annotations

from datetime import UTC, datetime

from slowwave.cli.arguments.options import (
    ConfigOption,
    FileArgument,
    JsonOption,
    QuietOption,
    TenantsOption,
)
from slowwave.cli.files.places import on_place
from slowwave.cli.results.left_as_it_is import conflicts_as_json, conflicts_as_text
from slowwave.cli.results.memory_texts import MemoryTexts
from slowwave.cli.terminal.output import Output, clean
from slowwave.store.places import Place


@on_place
def conflicts(
    file: FileArgument,
    place: Place,
    tenant: TenantsOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List memories that contradict each other.

    Only pairs in which neither memory clearly replaces the other.
    """
    from slowwave.consolidation.planning.conflicts import current_conflicts
    from slowwave.store.records import timestamp

    output = Output(json, quiet)
    with place.reading() as memory_file:
        now = timestamp(datetime.now(UTC))
        found = current_conflicts(memory_file, tuple(tenant or ()), now)
        output.result(
            {
                "command": "conflicts",
                "file": str(file),
                "conflicts": conflicts_as_json(found),
            }
        )
        if found:
            output.show(conflicts_as_text(found, MemoryTexts(memory_file)))
        else:
            output.show(clean(f"{file}: no conflicts."))
