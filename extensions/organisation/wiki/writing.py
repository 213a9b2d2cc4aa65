"""What the option --wiki of the core's commands does: write a memory file as a folder of pages.

Only changed pages are written, nothing outside of the folder, and no pages of others. Symbolic
links below the folder are not followed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from slowwave.cli.views.wiki import WrittenPages
from slowwave.store.check import refuse_unreadable
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.file import open_reading
from slowwave.store.opening import is_database
from slowwave.store.sidecar import file_mode

from .names import INDEX
from .pages import all_pages
from .text import file_of_index, is_untouched

# The folders in which an export removes its obsolete pages.
_OURS = ("raw", "wiki")
# A page that is being written; one of a killed export is overwritten.
_UNFINISHED = ".slowwave-new"
# The content of what is not a page, such as a link or a pipe.
_NOT_A_PAGE = b"not a page"


def write_out(memory_file: Path, folder: Path, readers: Path) -> WrittenPages:
    """Write the wiki of a memory file, and delete earlier pages that are obsolete.

    readers: the file that the user named, whose permissions the pages get. Raises `StoreError`,
    also if the folder has the pages of another file, and `FileHeld` while another export writes
    there.
    """
    # Another agent's file may be a folder, whose execute permission does not matter for pages.
    file_name, mode = readers.absolute().name, file_mode(readers) & 0o666
    counts, names = WrittenPages(), set[str]()
    with open_reading(memory_file) as opened:
        refuse_unreadable(opened)
        with _explained(folder), _locked(folder, mode):
            refuse_others_pages(folder, file_name)
            for name, text in all_pages(opened, file_name):
                names.add(name)
                _write_page(folder, name, text.encode(), mode, counts)
            _remove_obsolete(folder, names, counts)
    return counts


def refuse_others_pages(folder: Path, file_name: str) -> None:
    """Refuse a folder with the pages of a file of another name. Raises `StoreError`."""
    with _explained(folder):
        owner = file_of_index(_content(folder / INDEX) or b"")
    if owner not in (None, file_name):
        raise StoreError(
            f"Cannot write into {folder}: it contains the wiki of {owner}, not of {file_name}.",
            f"Specify another folder; if it is the same file, delete {INDEX} there.",
        )


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Raise an `OSError` of the block as a `StoreError`."""
    hint = "The pages written so far are complete; export again."
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if isinstance(error.filename, str) else ""
        reason = error.strerror
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            reason = "another file is in the way"
            hint = (
                "A wiki requires real folders named raw and wiki. Specify a new folder, or delete "
                "the file."
            )
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            hint = "Specify another folder, or let this user write to it."
        raise StoreError(f"Cannot write into {folder}: {reason}{where}.", hint) from error


@contextmanager
def _locked(folder: Path, mode: int) -> Iterator[None]:
    """Lock the folder that the user specified, which may itself be a link, and create it."""
    import fcntl

    try:
        _create_folder(folder, mode)
    except FileNotFoundError as error:
        raise StoreError(
            f"Cannot write into {folder}: there is no folder {folder.parent}.", "Create it first."
        ) from error
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileHeld(
                f"Another export writes into {folder}.", "Wait until it has ended, then try again."
            ) from None
        yield
    finally:
        os.close(descriptor)


def _create_folder(folder: Path, mode: int) -> None:
    """Create a folder unless it exists, for files with a mode: those who read them may enter."""
    with suppress(FileExistsError):
        folder.mkdir(0o700 | (mode & 0o066) | ((mode & 0o044) >> 2))
    if not folder.is_dir():  # a file, or a link to a folder that is missing
        raise NotADirectoryError(errno.ENOTDIR, "", str(folder))


def _write_page(folder: Path, name: str, content: bytes, mode: int, counts: WrittenPages) -> None:
    path = folder / name
    for parent in reversed(path.relative_to(folder).parents[:-1]):
        _create_folder(folder / parent, mode)
        if (folder / parent).is_symlink():
            raise OSError(errno.ELOOP, "", str(folder / parent))
    existing = _content(path)
    if existing == content:
        counts.unchanged += 1
    elif existing is None or is_untouched(existing):
        _replace(path, content, mode)
        counts.written += 1
    else:
        counts.kept.append(name)


def _content(path: Path) -> bytes | None:
    """Return the content of a page, or of something else that is not ours; None if missing."""
    if not os.path.lexists(path):
        return None
    if path.is_symlink() or not path.is_file() or is_database(path):
        return _NOT_A_PAGE
    return path.read_bytes()


def _replace(path: Path, content: bytes, mode: int) -> None:
    draft = path.with_name(_UNFINISHED)
    flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW
    # Private from the start: it contains texts of memories.
    with os.fdopen(os.open(draft, flags, 0o600), "wb") as stream:
        stream.write(content)
        with suppress(PermissionError):  # a file system such as FAT knows one mode for all
            os.fchmod(stream.fileno(), mode)
    draft.replace(path)


def _remove_obsolete(folder: Path, names: Set[str], counts: WrittenPages) -> None:
    """Remove the pages of earlier exports that have none of these names, and empty folders."""
    for top in _OURS:
        if (folder / top).is_symlink():
            continue
        for parent, _, files in os.walk(folder / top, topdown=False):
            for path in (Path(parent, file) for file in files):
                if path.name == _UNFINISHED:
                    path.unlink()
                elif path.suffix == ".md" and path.relative_to(folder).as_posix() not in names:
                    content = _content(path)
                    if content and is_untouched(content):
                        path.unlink()
                        counts.removed += 1
            with suppress(OSError):  # it is not empty
                Path(parent).rmdir()
