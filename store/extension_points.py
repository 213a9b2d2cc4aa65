"""What installed extensions register: commands, options, places, schema steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Any


def registered(group: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of each entry point under `slowwave.{group}`, by name."""
    for point in _points(group):
        yield point.name, point.load()


@cache
def _points(group: str) -> tuple[Any, ...]:
    return tuple(sorted(entry_points(group=f"slowwave.{group}"), key=lambda point: point.name))
