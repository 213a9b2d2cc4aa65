"""The memory files of a fleet: those of a folder, a pattern, a list or a bucket, or tenants."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from itertools import starmap, takewhile
from pathlib import Path

from slowwave.extensions.postgres.format import PostgresFormat, Tenants
from slowwave.extensions.postgres.url import DatabaseUrl
from slowwave.store.errors import StoreError, UnusableFile, file_errors
from slowwave.store.opening import is_database, read_text
from slowwave.store.records import json_text

from .disk import version_of
from .object_store import Listed, Objects, is_bucket

# The suffix of memory files in a folder or a bucket, unless a pattern is specified.
SUFFIX = ".db"
# The suffix of mirrors of other agents' files, which are maintained with those.
_MIRROR_SUFFIX = ".slowwave.db"
# The default folder of receipts. Hidden folders are not searched.
RECEIPTS = ".slowwave-receipts"
_WILDCARD = re.compile(r"[*?[]")
# The version of a listed file that does not exist.
NOT_THERE = "missing"


@dataclass(frozen=True)
class FileSource:
    """Where the files of a fleet are, and how they are listed."""

    named: str
    # A folder or the address of a bucket; keys are relative to it.
    base: str
    listing: Callable[[], Iterator[Listed]]
    # Whether the files are objects instead of files on a disk.
    in_bucket: bool = False
    # The database whose tenants it lists; None for files.
    database: Tenants | None = None
    # The chosen files below the base: a pattern, or names; () means all.
    of_these: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """A hash that is the same for two sources of the same files."""
        names = json_text([self.base, *self.of_these]).encode(errors="surrogateescape")
        return hashlib.blake2b(names, digest_size=8).hexdigest()

    @property
    def receipts(self) -> str:
        """The default place of receipts."""
        return f"{self.base.rstrip('/')}/{RECEIPTS}"


def source_of(named: str, format: PostgresFormat | None = None) -> FileSource:
    """Return the source that a user named. Raises `UnusableFile` if it does not exist.

    format: the format of the memories in a database; None for files.
    """
    if format is not None:
        url = DatabaseUrl.parse(named)
        tenants = Tenants(url, format)
        base = str(url.of(None))
        return FileSource(
            str(url), base, lambda: starmap(Listed, tenants.versions()), database=tenants
        )
    if is_bucket(named):
        return _bucket(named)
    if named == "-":
        return _listed(named, Path.cwd(), sys.stdin.read().splitlines())
    with file_errors("read", Path(named), error_type=UnusableFile):
        return _on_disk(named)


def _on_disk(named: str) -> FileSource:
    path = Path(named)
    if path.is_dir():
        return FileSource(named, str(path.absolute()), lambda: _each_once(_in_folder(path)))
    if path.is_file():
        lines = [path.name] if is_database(path) else _lines_of(path)
        return _listed(named, path.absolute().parent, lines)
    if _WILDCARD.search(named):
        path = path.absolute()
        base = Path(*takewhile(lambda part: not _WILDCARD.search(part), path.parts))
        wild = path.relative_to(base).as_posix()
        return FileSource(
            named, str(base), lambda: _each_once(_matching(base, wild)), of_these=(wild,)
        )
    raise UnusableFile(
        f"There is no folder, list or file {named}.",
        "SOURCE is a folder, a quoted pattern, a list of paths (- for stdin), or a bucket.",
    )


def _bucket(named: str) -> FileSource:
    address, wild = named, ""
    if (match := _WILDCARD.search(named)) is not None:
        cut = named.rindex("/", 0, match.start())
        address, wild = named[:cut], named[cut + 1 :]
    objects = Objects(address.rstrip("/"))
    # As in a shell, a star does not match a slash; two do.
    pattern = re.compile(_pattern(wild)) if wild else None

    def listing() -> Iterator[Listed]:
        for object in objects.list():
            is_hidden = any(part.startswith(".") for part in object.key.split("/"))
            is_chosen = pattern.fullmatch(object.key) if pattern else _has_suffix(object.key)
            if is_chosen and not is_hidden:
                yield object

    these = (wild,) if wild else ()
    return FileSource(named, address.rstrip("/"), listing, in_bucket=True, of_these=these)


def _pattern(wild: str) -> str:
    """Return the regular expression of a pattern in which only ** matches slashes."""
    return "".join(
        "(?:.*/)?"
        if part == "**/"
        else translate(part).removeprefix("(?s:").removesuffix(r")\Z").replace(".*", "[^/]*")
        for part in re.split(r"(\*\*/)", wild)
    )


def _in_folder(folder: Path) -> Iterator[tuple[str, Path]]:
    for place, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place) / name
            if _has_suffix(name) and not name.startswith("."):
                yield path.relative_to(folder).as_posix(), path


def _refuse(error: OSError) -> None:
    raise StoreError(f"Cannot read {error.filename}: {error.strerror}.") from error


def _matching(base: Path, wild: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(base.glob(wild)):
        if not path.name.endswith(_MIRROR_SUFFIX):
            yield path.relative_to(base).as_posix(), path


def _listed(named: str, base: Path, lines: list[str]) -> FileSource:
    keys = list(dict.fromkeys(line.strip() for line in lines if not re.match(r"\s*(#|$)", line)))

    def listing() -> Iterator[Listed]:
        return _each_once(((key, base / key) for key in keys), with_missing=True)

    return FileSource(named, str(base), listing, of_these=("", *sorted(keys)))


def _lines_of(path: Path) -> list[str]:
    try:
        return read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{path} is neither a memory file nor a list of them.",
            "A list has a path on each line.",
        ) from error


def _each_once(paths: Iterable[tuple[str, Path]], with_missing: bool = False) -> Iterator[Listed]:
    """List each file by its first name: by two names, two workers would wait for its lock.

    with_missing: list also files that do not exist; otherwise they were deleted a moment ago.
    Raises `StoreError` for a file in a folder that cannot be searched.
    """
    seen: set[tuple[int, int]] = set()
    for key, path in paths:
        try:
            status = path.stat()
            identity = status.st_dev, status.st_ino
            if identity not in seen and (with_missing or stat.S_ISREG(status.st_mode)):
                seen.add(identity)
                yield Listed(key, version_of(path))
        except OSError as error:
            if with_missing:
                yield Listed(key, NOT_THERE)
            elif isinstance(error, PermissionError):
                _refuse(error)


def _has_suffix(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.endswith(_MIRROR_SUFFIX)
