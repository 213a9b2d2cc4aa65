"""slowwave show: all that the file says about one memory."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .foreign import FormatOption, StateOption, place_of
from .output import Output, clean
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption

if TYPE_CHECKING:
    from collections.abc import Iterator

# What comes first, and under a heading of its own.
_APART = ("content", "content_hash", "id")


def show(
    file: FileArgument,
    memory: Annotated[str, typer.Argument(metavar="MEMORY", help="Its id, or the start of it.")],
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show all that the file says about one memory.

    Where it came from is shown by trace.
    """
    from slowwave.store.entities import entities_of
    from slowwave.store.file import open_reading
    from slowwave.store.memories import read_memory
    from slowwave.store.vectors import vectors_of

    with (
        place_of(file, format, state, writes=False).reading() as memory_file,
        open_reading(memory_file) as opened,
    ):
        found = read_memory(opened, memory)
        names = [name for name, _ in entities_of(opened, found.id)]
        vectors = [model for model, of, _ in vectors_of(opened, found.id)]
    output = Output(json, quiet)
    told = asdict(found) | {"entities": names, "vectors": vectors}
    output.result({"command": "show", "file": str(file), "memory": told})
    output.show("\n".join([clean(found.id), clean(found.content), "", *_lines(told)]))


def _lines(told: dict[str, Any]) -> Iterator[str]:
    """Yield each property that says something on a line."""
    for name, value in told.items():
        if name not in _APART and value not in (None, (), [], {}):
            shown = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
            yield clean(f"{name:<14} {shown}")
