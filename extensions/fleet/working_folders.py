"""Where an object lies while its night goes on, and what a night that was killed left there."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir, mkdtemp

import filelock

from slowwave.store.errors import StoreError
from slowwave.store.file import open_writing
from slowwave.store.model_answers import KeptAnswer, read_answers

# What the copy of an object is called in its folder.
COPY = "memory.db"
_LOCK = "lock"
# Before its lock is held a folder is nobody's.
_NEW = "new-"
_ELSEWHERE = "Name another folder for temporary files with TMPDIR."


def working_root() -> Path:
    """Return the folder of all of them, which is this user's alone. Raises `StoreError`."""
    root = Path(gettempdir()) / f"slowwave-fleet-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
    except OSError as error:
        raise StoreError(f"Cannot make the folder {root}: {error.strerror}.", _ELSEWHERE) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StoreError(f"{root} is not a folder that this user alone can read.", _ELSEWHERE)
    return root


@contextmanager
def working_folder(root: Path, address: str) -> Iterator[Path]:
    """Provide a folder for the night of an object; whose process is killed leaves it."""
    folder = Path(mkdtemp(prefix=_NEW, dir=root))
    try:
        with filelock.FileLock(folder / _LOCK):
            folder = folder.rename(root / (_name(address) + folder.name.removeprefix(_NEW)))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answers_left(root: Path, address: str) -> list[KeptAnswer]:
    """Return what models answered to nights of an object that were killed here, and tidy up."""
    answers: list[KeptAnswer] = []
    for folder in sorted(root.glob(f"{_name(address)}*")):
        try:
            with filelock.FileLock(folder / _LOCK, timeout=0):
                answers += _answers_in(folder / COPY)
                shutil.rmtree(folder, ignore_errors=True)
        except (filelock.Timeout, FileNotFoundError):
            continue  # its night goes on, or another has just tidied up
    return answers


def _answers_in(copy: Path) -> list[KeptAnswer]:
    try:
        with open_writing(copy) as file:
            return read_answers(file)
    except StoreError:
        return []  # killed before all of it was there


def _name(address: str) -> str:
    digest = hashlib.blake2b(address.encode(errors="surrogateescape"), digest_size=16)
    return f"{digest.hexdigest()}-"
