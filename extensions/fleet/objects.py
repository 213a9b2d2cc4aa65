"""Maintain a copy of an object, and put it back only over the version that was read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from slowwave.extensions.fleet.store.object_store import Changed, Gone, Objects
from slowwave.extensions.fleet.store.receipt import Became, Receipt
from slowwave.store.errors import StoreError
from slowwave.store.file import checkpoint_log, open_writing
from slowwave.store.model_answers import CachedAnswer, cache_answers, read_answers
from slowwave.store.records import timestamp

from .fleet_job import GONE, FleetJob, Item
from .receipt_from_file import run_ids

if TYPE_CHECKING:
    from .worker import Worker

# How often an object is fetched that other programs replace at the same time.
TRIES = 3


def night_of_object(worker: Worker, job: FleetJob, item: Item, now: datetime) -> Receipt:
    """Maintain an object; retry if another program has replaced it.

    A model's answers are carried over to the next try, so that nothing is paid for twice. An object
    without changes is not put.
    """
    became: Became = "stale"
    tried, why = 0, f"another program replaced it during all {TRIES} attempts"
    # The usage of tries whose file could not be put back.
    wasted = Receipt(item.key, became)
    try:
        objects = Objects(job.base)
        answers: list[CachedAnswer] = []
        for tried in range(1, TRIES + 1):
            with TemporaryDirectory(prefix="slowwave-") as folder:
                path = Path(folder) / "memory.db"
                version = objects.fetch(item.key, path)
                _carry_over(path, answers, now)
                before = run_ids(path)
                receipt = worker.in_place(item, path, now).with_usage_of(wasted)
                receipt = replace(receipt, version=version, tries=tried)
                if before.issuperset(receipt.runs) or job.dry_run:
                    return receipt
                wasted = receipt
                checkpoint_log(path)
                try:
                    return replace(receipt, version=objects.replace(item.key, path, version))
                except (Changed, Gone):
                    with open_writing(path) as file:
                        answers = read_answers(file)
    except Gone:
        became, why = "gone", GONE
    except StoreError as error:
        became, why = "failed", error.message
    receipt = Receipt(item.key, became, why, last_run=item.last_run, tries=tried)
    return receipt.with_usage_of(wasted)


def _carry_over(path: Path, answers: Sequence[CachedAnswer], now: datetime) -> None:
    """Put answers into a file, unless it cannot be written, which its run reports."""
    if answers:
        with suppress(StoreError), open_writing(path) as file:
            cache_answers(file, answers, timestamp(now))
