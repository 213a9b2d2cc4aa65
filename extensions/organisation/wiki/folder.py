"""Write the folder of a wiki: only changed pages, nothing outside of it, no pages of others.

Every path is opened from the folder down, a part at a time, without following symbolic links.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from slowwave.cli.views.wiki import WrittenPages
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.opening import MAGIC

from .names import INDEX, PageName
from .text import file_of_index, is_untouched

# The folders in which an export removes its obsolete pages.
_OURS = ("raw", "wiki")
_ENDING = ".md"
# A page that is being written; one of a killed export is overwritten.
_UNFINISHED = ".slowwave-new"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# A pipe must not be waited for.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def write_wiki(
    folder: Path, pages: Iterable[tuple[PageName, str]], file: str, mode: int
) -> WrittenPages:
    """Write the pages of a wiki, and delete earlier ones that are obsolete.

    file: the name of the memory file. mode: its permissions, which each page gets, too. Raises
    `StoreError`, also if the folder has the pages of another file, and `FileHeld` while another
    export writes there.
    """
    counts, names = WrittenPages(), set()
    with _explained(folder), _opened(folder, mode) as top, _locked(top, folder):
        _refuse_others_pages(top, folder, file)
        for name, text in pages:
            names.add(name.parts)
            _write_page(top, name, text.encode(), mode, counts)
        for part in _OURS:
            _remove_others(top, (part,), names, counts)
    return counts


def refuse_others_pages(folder: Path, file: str) -> None:
    """Refuse a folder with the pages of a file of another name. Raises `StoreError`."""
    with _explained(folder):
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _refuse_others_pages(top, folder, file)
        finally:
            os.close(top)


def _refuse_others_pages(top: int, folder: Path, file: str) -> None:
    (index,) = INDEX.parts
    owner = file_of_index(_content(top, index) or b"")
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
        where = f" ({error.filename})" if isinstance(error.filename, str) else ""
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise StoreError(
                f"Cannot write into {folder}: another file is in the way{where}.",
                "A wiki requires real folders named raw and wiki. Specify a new folder, or delete "
                "the file.",
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StoreError(
                f"Cannot write into {folder}: {error.strerror}{where}.",
                "Specify another folder, or let this user write to it.",
            ) from error
        raise StoreError(
            f"Cannot write into {folder}: {error.strerror}{where}.",
            "The pages written so far are complete; export again.",
        ) from error


@contextmanager
def _opened(folder: Path, mode: int) -> Iterator[int]:
    """Open the folder that the user specified, which may itself be a link."""
    try:
        folder.mkdir(_folder_mode(mode))
    except FileExistsError:
        if not folder.is_dir():  # a file, or a link to a folder that is missing
            raise NotADirectoryError(errno.ENOTDIR, "", str(folder)) from None
    except FileNotFoundError as error:
        raise StoreError(
            f"Cannot write into {folder}: there is no folder {folder.parent}.", "Create it first."
        ) from error
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _locked(top: int, folder: Path) -> Iterator[None]:
    import fcntl

    try:
        fcntl.flock(top, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileHeld(
            f"Another export writes into {folder}.", "Wait until it has ended, then try again."
        ) from None
    yield  # closing the folder releases the lock


def _write_page(top: int, name: PageName, content: bytes, mode: int, counts: WrittenPages) -> None:
    with _folder_of(top, name.parts[:-1], mode) as folder:
        there = _content(folder, name.parts[-1])
        if there == content:
            counts.unchanged += 1
        elif there is None or is_untouched(there):
            _replace(folder, name.parts[-1], content, mode)
            counts.written += 1
        else:
            counts.kept.append("/".join(name.parts))


@contextmanager
def _folder_of(top: int, parts: tuple[str, ...], mode: int | None) -> Iterator[int]:
    """Open a folder below another. mode: for folders to create; None creates none."""
    with ExitStack() as open_ones:
        opened = top
        for part in parts:
            if mode is not None:
                with suppress(FileExistsError):
                    os.mkdir(part, _folder_mode(mode), dir_fd=opened)
            opened = os.open(part, _FOLDER, dir_fd=opened)
            open_ones.callback(os.close, opened)
        yield opened


def _content(folder: int, name: str) -> bytes | None:
    """Return the content of a page, or of something else that is not ours; None if missing."""
    try:
        opened = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return b"not ours"
        raise
    content = b"not ours"
    if stat.S_ISREG(os.fstat(opened).st_mode):
        with os.fdopen(opened, "rb", closefd=False) as stream:
            content = stream.read()
    if not content.startswith(MAGIC):
        os.close(opened)  # closing a database would release the locks of this process
    return content


def _replace(folder: int, name: str, content: bytes, mode: int) -> None:
    flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW
    # Private from the start: it contains texts of memories.
    with os.fdopen(os.open(_UNFINISHED, flags, 0o600, dir_fd=folder), "wb") as stream:
        stream.write(content)
        stream.flush()
        with suppress(PermissionError):  # a file system such as FAT knows one mode for all
            os.fchmod(stream.fileno(), mode & 0o666)
    os.rename(_UNFINISHED, name, src_dir_fd=folder, dst_dir_fd=folder)


def _remove_others(
    top: int, parts: tuple[str, ...], names: set[tuple[str, ...]], counts: WrittenPages
) -> None:
    """Remove the obsolete pages of earlier exports in a folder and below it."""
    try:
        with _folder_of(top, parts, None) as folder:
            for name in sorted(os.listdir(folder)):  # noqa: PTH208 - a descriptor, not a path
                kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                path = (*parts, name)
                if stat.S_ISDIR(kind):
                    _remove_others(top, path, names, counts)
                elif name == _UNFINISHED:
                    os.unlink(name, dir_fd=folder)
                elif name.endswith(_ENDING) and path not in names:
                    content = _content(folder, name)
                    if content and is_untouched(content):
                        os.unlink(name, dir_fd=folder)
                        counts.removed += 1
    except FileNotFoundError:
        return  # nothing was ever written there
    with _folder_of(top, parts[:-1], None) as above, suppress(OSError):
        os.rmdir(parts[-1], dir_fd=above)  # fails unless it is empty


def _folder_mode(mode: int) -> int:
    """Return the mode of a folder for files with a mode: those who may read them may enter."""
    return 0o700 | (mode & 0o066) | ((mode & 0o044) >> 2)
