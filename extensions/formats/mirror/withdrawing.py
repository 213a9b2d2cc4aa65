"""Withdraw applied proposals that the other file does not get, and correct their runs' reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime

from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.errors import ChangedSince
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import correct_report, read_run
from slowwave.store.memories import count_memories, tenants
from slowwave.store.records import timestamp
from slowwave.store.undo.undo import withdraw_proposal


def withdraw(file: MemoryFile, run_id: str, key: str, state: str, why: str, now: datetime) -> bool:
    """Withdraw a proposal in the caller's transaction; return False if a later one depends on it.

    state: "stale" if the next run may make it again, or "rejected".
    """
    try:
        withdraw_proposal(file, run_id, key, state, why, timestamp(now))
    except ChangedSince:
        return False
    return True


def recount(file: MemoryFile, run_ids: Iterable[str]) -> None:
    """Correct the reports of runs with withdrawn proposals, in the caller's transaction."""
    for run_id in run_ids:
        counted = read_run(file, run_id).options.get("tenant") or tenants(file)
        correct_report(file, run_id, asdict(count_memories(file, counted, count_tokens)))
