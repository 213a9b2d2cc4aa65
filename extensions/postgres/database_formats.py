"""The formats of memories in a PostgreSQL database."""

from __future__ import annotations

from .agno import Agno
from .format import PostgresFormat
from .langgraph import PostgresStore
from .mem0 import Mem0


def database_formats() -> dict[str, type[PostgresFormat]]:
    """Return those that there are, by their names."""
    return {one.name: one for one in (PostgresStore, Mem0, Agno)}
