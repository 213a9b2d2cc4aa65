"""Private copies of a file whose first page is spoiled, mended so that SQLite opens them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .file import create_file
from .opening import copy_bytes, first_bytes, open_database

_HEADER = 100
_PAGE = 4096
# Bytes of the header that are the same in every memory file: https://sqlite.org/fileformat.html.
_CONSTANT = {
    0: b"SQLite format 3\x00",
    20: bytes([0, 64, 32, 32]),
    44: (4).to_bytes(4, "big"),
    52: bytes(4),
    56: (1).to_bytes(4, "big"),
    64: bytes(4),
    72: bytes(20),
}
_VERSIONS = (b"\x01\x01", b"\x02\x02")


def with_sound_header(path: Path) -> bool:
    """Whether the parts of the header by which SQLite reads are as we write them."""
    head = first_bytes(path, _HEADER)
    return (
        len(head) == _HEADER
        and all(head[at : at + len(part)] == part for at, part in _CONSTANT.items())
        and head[18:20] in _VERSIONS
        and _is_page_size(head)
    )


@contextmanager
def readable_copies(path: Path) -> Iterator[Iterator[Path]]:
    """Provide mended copies one after the other, in a folder that is removed in the end."""
    with tempfile.TemporaryDirectory() as folder:
        yield _copies(path, Path(folder))


def _copies(path: Path, folder: Path) -> Iterator[Path]:
    copy = folder / "copy.db"
    copy_bytes(path, copy)
    log = Path(f"{path.resolve()}-wal")
    if log.exists():
        copy_bytes(log, Path(f"{copy}-wal"))
    _set_header(copy)
    yield copy
    # What lies in the log belongs to no file whose first page is another one.
    Path(f"{copy}-wal").unlink(missing_ok=True)
    fresh = folder / "fresh.db"
    create_file(fresh)
    for compact in (False, True):
        if compact:
            with open_database(fresh, "rw") as db:
                db.execute("VACUUM")
        mended = folder / f"mended-{compact}.db"
        shutil.copyfile(copy, mended)
        _replace_first_page(mended, fresh)
        yield mended


def _is_page_size(head: bytes | bytearray) -> bool:
    size = int.from_bytes(head[16:18], "big")
    return size == 1 or (512 <= size <= 32_768 and size & (size - 1) == 0)


def _set_header(copy: Path) -> None:
    data = copy.read_bytes().ljust(_PAGE, b"\0")
    head = bytearray(data[:_HEADER])
    for at, part in _CONSTANT.items():
        head[at : at + len(part)] = part
    if bytes(head[18:20]) not in _VERSIONS:
        head[18:20] = _VERSIONS[1]
    if not _is_page_size(head):
        head[16:18] = _PAGE.to_bytes(2, "big")
    with copy.open("r+b") as stream:
        stream.write(head)


def _replace_first_page(mended: Path, fresh: Path) -> None:
    """Return a copy a first page that says where a new memory file has its tables."""
    with open_database(fresh, "ro") as db:
        parts = db.execute(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE rootpage > 0"
        ).fetchall()
    pages = max(1, -(-mended.stat().st_size // _PAGE))
    empty = mended.with_suffix(".empty")
    with open_database(empty, "rwc") as db:
        db.execute(f"PRAGMA page_size = {_PAGE:d}")
        db.execute("VACUUM")
    first = bytearray(empty.read_bytes()[:_PAGE])
    first[28:32] = pages.to_bytes(4, "big")
    with mended.open("r+b") as stream:
        stream.write(first)
        stream.truncate(pages * _PAGE)
    with open_database(mended, "rw") as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("BEGIN")
        db.executemany("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", parts)
        db.execute("COMMIT")
