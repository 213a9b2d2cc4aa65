"""The night of an object: on a copy of it, put back only over the version that was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import Usage
from slowwave.store.errors import StoreError
from slowwave.store.file import checkpoint_log, open_writing
from slowwave.store.fleet.object_store import Changed, Gone, Objects
from slowwave.store.fleet.receipt import Receipt
from slowwave.store.model_answers import KeptAnswer, keep_answers, read_answers
from slowwave.store.records import timestamp

from .fleet_job import FleetJob, Item
from .receipt_from_file import run_ids
from .working_folders import COPY, answers_left, working_folder, working_root

if TYPE_CHECKING:
    from .worker import Worker

# How often an object is taken that others put meanwhile.
TRIES = 3


def night_of_object(worker: Worker, job: FleetJob, item: Item, now: datetime) -> Receipt:
    """Do the night of an object, again where another has put it meanwhile.

    What a model answered is carried over to the next try, and from a night that was killed on this
    machine: nothing is paid for twice. An object whose night changed nothing is not put.
    """
    objects = Objects(job.base)
    address = f"{job.base}/{item.key}"
    try:
        root = working_root()
    except StoreError as error:
        return _failed(item, error, 0)
    answers: list[KeptAnswer] = [] if job.dry_run else answers_left(root, address)
    wasted = Usage()
    for tried in range(1, TRIES + 1):
        with working_folder(root, address) as folder:
            path = folder / COPY
            try:
                version = objects.fetch(item.key, path)
            except StoreError as error:
                return _failed(item, error, tried)
            _carry_over(path, answers, now)
            before = _runs(path)
            receipt = worker.in_place(item, path, now)
            receipt = replace(_with(receipt, wasted), version=version, tries=tried)
            if before.issuperset(receipt.runs) or job.dry_run:
                return receipt
            checkpoint_log(path)
            try:
                return replace(receipt, version=objects.replace(item.key, path, version))
            except (Changed, Gone):
                with open_writing(path) as file:
                    answers = read_answers(file)
                wasted = Usage(
                    receipt.calls, 0, receipt.prompt_tokens, receipt.completion_tokens, receipt.cost
                )
            except StoreError as error:
                return _with(_failed(item, error, tried), wasted)
    why = f"it was put by another under each of {TRIES} tries"
    return _with(Receipt(item.key, "stale", why, last_run=item.last_run, tries=TRIES), wasted)


def _carry_over(path: Path, answers: Sequence[KeptAnswer], now: datetime) -> None:
    """Put answers into a file; into none that cannot be written, which the night says."""
    if not answers:
        return
    try:
        with open_writing(path) as file:
            keep_answers(file, answers, timestamp(now))
    except StoreError:
        return


def _runs(path: Path) -> set[str]:
    """Return the runs in a file; none in one that cannot be read, which the night says."""
    try:
        return run_ids(path)
    except StoreError:
        return set()


def _with(receipt: Receipt, wasted: Usage) -> Receipt:
    """Return a receipt with what tries took whose file could not be put back."""
    used = Usage(receipt.calls, 0, receipt.prompt_tokens, receipt.completion_tokens, receipt.cost)
    used += wasted
    return replace(
        receipt,
        calls=used.calls,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        cost=used.cost_usd,
    )


def _failed(item: Item, error: StoreError, tried: int) -> Receipt:
    return Receipt(item.key, "failed", error.message, last_run=item.last_run, tries=tried)
