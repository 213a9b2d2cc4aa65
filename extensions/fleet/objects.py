"""Maintain a copy of an object, and put it back only over the version that was read."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING

import filelock

from slowwave.extensions.fleet.store.object_store import Changed, Gone, Objects
from slowwave.extensions.fleet.store.receipt import Became, Receipt
from slowwave.store.errors import StoreError
from slowwave.store.file import checkpoint_log, migrate_file, open_writing
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

    A model's answers are carried over to the next try, and from a run that was killed on this
    machine, so that nothing is paid for twice. An object without changes is not put.
    """
    address = f"{job.base}/{item.key}"
    became: Became = "stale"
    tried, why = 0, f"another program replaced it during all {TRIES} attempts"
    # The usage of tries whose file could not be put back.
    wasted = Receipt(item.key, became)
    try:
        objects, root = Objects(job.base), working_root()
        answers: list[CachedAnswer] = [] if job.dry_run else answers_left(root, address)
        for tried in range(1, TRIES + 1):
            with working_folder(root, address) as folder:
                path = folder / COPY
                version = objects.fetch(item.key, path)
                if answers:
                    with suppress(StoreError):  # of its file, which the run reports
                        migrate_file(path)
                        with open_writing(path) as file:
                            cache_answers(file, answers, timestamp(now))
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


# The name of the copy of an object in its folder.
COPY = "memory.db"
_LOCK = "lock"
# The prefix of a folder whose lock is not held yet.
_NEW = "new-"
_ELSEWHERE = "Set TMPDIR to another folder for temporary files."


def working_root() -> Path:
    """Return the folder of all copies, which only this user can read. Raises `StoreError`."""
    root = Path(gettempdir()) / f"slowwave-fleet-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        status = root.lstat()
    except OSError as error:
        raise StoreError(
            f"Cannot create the folder {root}: {error.strerror}.", _ELSEWHERE
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise StoreError(f"{root} is not a folder that only this user can read.", _ELSEWHERE)
    return root


@contextmanager
def working_folder(root: Path, address: str) -> Iterator[Path]:
    """Provide a folder for the copy of an object; a killed process leaves it behind."""
    folder = Path(mkdtemp(prefix=_NEW, dir=root))
    try:
        with filelock.FileLock(folder / _LOCK):
            folder = folder.rename(root / (_name(address) + folder.name.removeprefix(_NEW)))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answers_left(root: Path, address: str) -> list[CachedAnswer]:
    """Return the models' answers of runs of an object that were killed here, and tidy up."""
    answers: list[CachedAnswer] = []
    for folder in sorted(root.glob(f"{_name(address)}*")):
        try:
            with filelock.FileLock(folder / _LOCK, timeout=0):
                # Unless it was killed before the copy was complete.
                with suppress(StoreError), open_writing(folder / COPY) as file:
                    answers += read_answers(file)
                shutil.rmtree(folder, ignore_errors=True)
        except (filelock.Timeout, FileNotFoundError):
            continue  # its run goes on, or another one has just tidied up
    return answers


def _name(address: str) -> str:
    digest = hashlib.blake2b(address.encode(errors="surrogateescape"), digest_size=16)
    return f"{digest.hexdigest()}-"
