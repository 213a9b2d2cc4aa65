"""slowwave restore: one memory active again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slowwave.cli.arguments.options import (
    ConfigOption,
    FileArgument,
    JsonOption,
    MemoryArgument,
    QuietOption,
)
from slowwave.cli.files.places import on_place
from slowwave.cli.terminal.output import Output, clean
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.store.file import MemoryFile
    from slowwave.store.records import Memory


@on_place
def restore(
    file: FileArgument,
    place: Place,
    memory: MemoryArgument,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a superseded, archived or expired memory active.

    Its lineage stays.
    """
    from slowwave.store.memories import restore_memory
    from slowwave.store.records import timestamp

    def bring_back(opened: MemoryFile) -> Memory:
        return restore_memory(opened, memory, timestamp(datetime.now(UTC)))

    restored = place.change(bring_back)
    output = Output(json, quiet)
    output.result({"command": "restore", "file": str(file), "id": restored.id})
    output.show(clean(f"Active again: {restored.id} {restored.content}"))
    if (too_full := place.too_full()) is not None:
        output.note(clean(too_full))
