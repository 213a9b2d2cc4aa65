"""What extensions keep in a memory file, as they register it under `slowwave.schema`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from .extension_points import registered

if TYPE_CHECKING:
    from .file import MemoryFile


@dataclass(frozen=True)
class ExtensionTables:
    """The tables of an extension."""

    # Those that an export of the whole file holds, each with the order of its rows.
    exported: Mapping[str, str]
    # Yields what is wrong with their rows: the name of a problem, and its details.
    find_faults: Callable[[MemoryFile], Iterator[tuple[str, str]]]


@cache
def extension_tables() -> tuple[ExtensionTables, ...]:
    """Return the tables of each installed extension."""
    return tuple(tables for _, tables in registered("schema"))
