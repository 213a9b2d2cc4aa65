"""Write the folder of a wiki: only changed pages, nothing outside of it, no pages of others.

No symbolic link below the folder is followed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from slowwave.cli.views.wiki import WrittenPages
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.opening import is_database

from .names import INDEX, PageName
from .text import file_of_index, is_untouched

# The folders in which an export removes its obsolete pages.
_OURS = ("raw", "wiki")
# A page that is being written; one of a killed export is overwritten.
_UNFINISHED = ".slowwave-new"


def write_wiki(
    folder: Path, pages: Iterable[tuple[PageName, str]], file: str, mode: int
) -> WrittenPages:
    """Write the pages of a wiki, and delete earlier ones that are obsolete.

    file: the name of the memory file. mode: its permissions, which each page gets, too. Raises
    `StoreError`, also if the folder has the pages of another file, and `FileHeld` while another
    export writes there.
    """
    counts, paths = WrittenPages(), set()
    with _explained(folder):
        if not folder.is_dir():  # it may be a link to a folder
            _make_folder(folder, mode)
        with _locked(folder):
            refuse_others_pages(folder, file)
            for name, text in pages:
                path = folder.joinpath(*name.parts)
                paths.add(path)
                for depth in range(1, len(name.parts)):
                    _make_folder(folder.joinpath(*name.parts[:depth]), mode)
                content = _content(path)
                if content == text.encode():
                    counts.unchanged += 1
                elif content is None or is_untouched(content):
                    _replace(path, text, mode)
                    counts.written += 1
                else:
                    counts.kept.append("/".join(name.parts))
            counts.removed = sum(_remove_obsolete(folder / name, paths) for name in _OURS)
    return counts


def refuse_others_pages(folder: Path, file: str) -> None:
    """Refuse a folder with the pages of a file of another name. Raises `StoreError`."""
    (index,) = INDEX.parts
    with _explained(folder):
        owner = file_of_index(_content(folder / index) or b"")
    if owner not in (None, file):
        raise StoreError(
            f"Cannot write into {folder}: it contains the wiki of {owner}, not of {file}.",
            f"Specify another folder; if it is the same file, delete {index} there.",
        )


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why, hint = error.strerror, "The pages written so far are complete; export again."
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            why = "another file is in the way"
            hint = (
                "A wiki requires real folders named raw and wiki. Specify a new folder, or delete "
                "the file."
            )
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            hint = "Specify another folder, or let this user write to it."
        where = f" ({error.filename})" if error.filename else ""
        raise StoreError(f"Cannot write into {folder}: {why}{where}.", hint) from error


def _make_folder(path: Path, mode: int) -> None:
    """Create a folder unless it exists. Raises `NotADirectoryError` for a link or another file."""
    try:
        path.mkdir(_folder_mode(mode))
    except FileExistsError:
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "", str(path)) from None
    except FileNotFoundError as error:
        raise StoreError(
            f"Cannot write into {path}: there is no folder {path.parent}.", "Create it first."
        ) from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise FileHeld(
            f"Another export writes into {folder}.", "Wait until it has ended, then try again."
        ) from None
    try:
        yield
    finally:
        os.close(opened)


def _content(path: Path) -> bytes | None:
    """Return the content of a page, or of something else that is not ours; None if missing."""
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return None
    return path.read_bytes() if is_file and not is_database(path) else b"not ours"


def _replace(path: Path, text: str, mode: int) -> None:
    draft = path.with_name(_UNFINISHED)
    flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW
    # Private from the start: it contains texts of memories.
    with os.fdopen(os.open(draft, flags, 0o600), "wb") as stream:
        stream.write(text.encode())
        stream.flush()
        with suppress(PermissionError):  # a file system such as FAT knows one mode for all
            os.fchmod(stream.fileno(), mode & 0o666)
    draft.replace(path)


def _remove_obsolete(top: Path, paths: set[Path]) -> int:
    """Remove the obsolete pages of earlier exports in a folder and below; return their number."""
    removed = 0
    for folder, _, names in [] if top.is_symlink() else os.walk(top, topdown=False):
        for path in (Path(folder, name) for name in names):
            if path.name == _UNFINISHED:
                path.unlink()
            elif path.suffix == ".md" and path not in paths:
                content = _content(path)
                if content and is_untouched(content):
                    path.unlink()
                    removed += 1
        with suppress(OSError):
            Path(folder).rmdir()  # fails unless it is empty
    return removed


def _folder_mode(mode: int) -> int:
    """Return the mode of a folder for files with a mode: those who may read them may enter."""
    return 0o700 | (mode & 0o066) | ((mode & 0o044) >> 2)
