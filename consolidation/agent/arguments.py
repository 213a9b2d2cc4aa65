"""The arguments of `AgentMemory`, checked and converted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from slowwave.store.errors import StoreError
from slowwave.store.records import timestamp


def to_timestamp(moment: datetime | None) -> str | None:
    """Return a time as the file stores it; without an offset it is UTC."""
    if moment is None:
        return None
    return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def refuse_unknown(what: str, name: str | None, known: Sequence[str]) -> None:
    """Refuse a name that is not among the known ones. Raises `StoreError`."""
    if name is not None and name not in known:
        raise StoreError(f"There is no {what} '{name}'.", f"There are: {', '.join(known)}.")
