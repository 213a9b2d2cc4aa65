"""A Prometheus textfile: written whole, to a new file or over an earlier one of slowwave's.

See https://github.com/prometheus/node_exporter#textfile-collector.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.cli.files.writable import refuse_unwritable_folder
from slowwave.store.errors import StoreError
from slowwave.store.opening import is_database

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

PREFIX = "slowwave_"
# What such a file of ours begins with, and no other.
_MARK = f"# HELP {PREFIX}".encode()


def refuse_unwritable_metrics(path: Path) -> None:
    """Refuse a path that metrics cannot be written to, before a night is spent on it.

    Raises `StoreError`.
    """
    refuse_unwritable_folder(path.absolute().parent, str(path))
    if path.exists() and not _is_ours(path):
        raise StoreError(
            f"{path} holds no metrics of slowwave, and stays as it is.", "Give another name."
        )


def write_textfile(path: Path, registry: CollectorRegistry) -> None:
    """Put metrics in place of what stands there. Raises `StoreError`."""
    from prometheus_client import write_to_textfile

    try:
        # Beside it, and then renamed.
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error


def _is_ours(path: Path) -> bool:
    if is_database(path):
        return False
    try:
        with path.open("rb") as stream:
            beginning = stream.read(len(_MARK))
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    return beginning in (b"", _MARK)
