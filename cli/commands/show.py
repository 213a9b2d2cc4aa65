"""slowwave show: all that the file says about one memory."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.arguments.options import (
    ConfigOption,
    FileArgument,
    JsonOption,
    MemoryArgument,
    QuietOption,
)
from slowwave.cli.files.foreign import FormatOption, StateOption, place_of
from slowwave.cli.terminal.output import Output, clean
from slowwave.store.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slowwave.store.file import MemoryFile
    from slowwave.store.records import Memory

# What comes first, and under a heading of its own.
_APART = ("content", "content_hash", "id", "derivations")


def show(
    file: FileArgument,
    memory: MemoryArgument,
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show all that the file says about one memory.

    Where it came from is shown by trace.
    """
    from slowwave.store.entities import read_memory_entities
    from slowwave.store.file import open_reading
    from slowwave.store.lineage import read_derivations
    from slowwave.store.vectors import read_memory_vectors

    with (
        place_of(file, format, state, writes=False).reading() as memory_file,
        open_reading(memory_file) as opened,
    ):
        found = _read(opened, memory, file)
        names = [name for name, _ in read_memory_entities(opened, found.id)]
        vectors = [model for model, of, _ in read_memory_vectors(opened, found.id)]
        derivations = read_derivations(opened, found.id)
    output = Output(json, quiet)
    fields = asdict(found) | {
        "entities": names,
        "vectors": vectors,
        "derivations": [asdict(derivation) for derivation in derivations],
    }
    output.result({"command": "show", "file": str(file), "memory": fields})
    output.show("\n".join([clean(found.id), clean(found.content), "", *_lines(fields)]))


def _read(opened: MemoryFile, prefix: str, named: Path) -> Memory:
    """Return a memory. Raises `NotFound`, which says so if it was purged, and `Ambiguous`."""
    from slowwave.store.memories import read_memory
    from slowwave.store.purge import find_purged

    try:
        return read_memory(opened, prefix)
    except NotFound:
        purged = find_purged(opened, prefix)
        if purged is None:
            raise
        memory_id, run_id, at = purged
        raise NotFound(
            f"Memory {memory_id} was purged on {at[:10]} by run {run_id}.",
            "What it said stands in the lineage: "
            f"slowwave trace {shlex.quote(str(named))} {shlex.quote(memory_id)}",
        ) from None


def _lines(fields: dict[str, Any]) -> Iterator[str]:
    """Yield each property that says something on a line."""
    for name, value in fields.items():
        if name not in _APART and value not in (None, (), [], {}):
            shown = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
            yield clean(f"{name:<14} {shown}")
    for made in fields["derivations"]:
        writer = made["model"] or made["writer"]
        how = f"{made['operation']} by {writer}, prompt {made['prompt_hash'][:12]}"
        yield clean(f"{'derived':<14} {how}, run {made['run_id']}")
