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
from pathlib import Path, PurePosixPath

from slowwave.extensions.postgres.format import PostgresFormat
from slowwave.extensions.postgres.tenants import Tenants
from slowwave.extensions.postgres.url import DatabaseUrl, is_database_url
from slowwave.store.errors import StoreError, UnusableFile
from slowwave.store.opening import is_database, read_text
from slowwave.store.records import json_text

from .disk import version_of
from .object_store import SCHEMES, Listed, Objects, is_bucket

# What a memory file is called in a folder or a bucket, where no pattern says it.
SUFFIX = ".db"
# A mirror of another agent's file: its night is that file's.
_MIRROR = ".slowwave.db"
# Where receipts lie, if nobody says where. Hidden folders are not looked into.
RECEIPTS = ".slowwave-receipts"
_WILD = re.compile(r"[*?[]")
# The version of a file that a list names and that is not there.
NOT_THERE = "missing"


@dataclass(frozen=True)
class FileSource:
    """Where the files of a fleet lie, and how they are listed."""

    named: str
    # What keys are relative to: a folder, or a bucket's address.
    base: str
    # Whether the files are objects, or lie on a disk.
    in_bucket: bool
    listing: Callable[[], Iterator[Listed]]
    # Where its tenants take the place of files.
    database: Tenants | None = None
    # Which of the files below the base are chosen: a pattern, or each by name.
    of_these: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """What is the same for two sources of the same files, and tells nothing of them."""
        return _mark(self.base, *self.of_these)

    @property
    def marks_of_wider(self) -> frozenset[str]:
        """The marks of the sources whose files are all of this one's, and maybe more."""
        return frozenset((self.mark, _mark(self.base)))

    @property
    def receipts(self) -> str:
        """Where receipts lie, if nobody says where."""
        return f"{self.base.rstrip('/')}/{RECEIPTS}"


def source_of(named: str, format: PostgresFormat | None = None) -> FileSource:
    """Return the source of a name. Raises `UnusableFile` if it does not exist.

    format: of the memories, if it is a database's URL.
    """
    if is_database_url(named):
        if format is None:
            raise StoreError("A database requires --format.")
        return _database(Tenants(DatabaseUrl.parse(named), format))
    if is_bucket(named):
        return _bucket(named)
    if "://" in named:
        raise StoreError(
            f"{named} is not a known kind of address.",
            f"Known kinds: {', '.join((*SCHEMES, 'postgresql://'))}.",
        )
    if named == "-":
        lines = sys.stdin.read().splitlines()
        return _listed(named, Path.cwd(), lines)
    return _on_disk(named)


def _on_disk(named: str) -> FileSource:
    path = Path(named)
    if path.is_dir():
        return FileSource(named, str(path.absolute()), False, lambda: _each_once(_in_folder(path)))
    if path.is_file():
        if is_database(path):
            return _listed(named, path.absolute().parent, [path.name])
        return _listed(named, path.absolute().parent, _lines_of(path))
    if _WILD.search(named):
        base = _before_wild(named)
        wild = Path(named).absolute().relative_to(base).as_posix()

        def matching() -> Iterator[Listed]:
            return _each_once(_matching(base, wild))

        return FileSource(named, str(base), False, matching, of_these=(wild,))
    raise UnusableFile(
        f"There is no folder, list or file {named}.",
        "SOURCE is a folder, a quoted pattern, a list of paths (- for stdin), or a bucket.",
    )


def _mark(*parts: str) -> str:
    names = json_text(list(parts)).encode(errors="surrogateescape")
    return hashlib.blake2b(names, digest_size=8).hexdigest()


def _bucket(named: str) -> FileSource:
    address, wild = named, ""
    if (found := _WILD.search(named)) is not None:
        cut = named.rindex("/", 0, found.start())
        address, wild = named[:cut], named[cut + 1 :]
    objects = Objects(address.rstrip("/"))
    # As in the shell a star does not go beyond a slash; two do.
    pattern = re.compile(_pattern(wild)) if wild else None

    def listing() -> Iterator[Listed]:
        return _in_bucket(objects, pattern)

    these = (wild,) if wild else ()
    return FileSource(named, address.rstrip("/"), True, listing, of_these=these)


def _database(database: Tenants) -> FileSource:
    def tenants() -> Iterator[Listed]:
        return (Listed(*item) for item in database.all())

    url = database.url
    return FileSource(str(url), str(url.of(None)), False, tenants, database)


def _in_bucket(objects: Objects, pattern: re.Pattern[str] | None) -> Iterator[Listed]:
    for item in objects.list():
        if _is_hidden(item.key):
            continue
        if pattern.fullmatch(item.key) if pattern else _is_named_so(item.key):
            yield item


def _pattern(wild: str) -> str:
    """Return the regular expression of a pattern in which ** alone goes beyond a slash."""
    parts = re.split(r"(\*\*/)", wild)
    translated = ("(?:.*/)?" if part == "**/" else _of_one_part(part) for part in parts if part)
    return "".join(translated)


def _of_one_part(wild: str) -> str:
    inner = translate(wild).removeprefix("(?s:").removesuffix(r")\Z")
    return inner.replace(".*", "[^/]*")


def _in_folder(folder: Path) -> Iterator[tuple[str, Path]]:
    for place, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(item for item in folders if not item.startswith("."))
        for name in sorted(files):
            path = Path(place) / name
            if _is_named_so(name) and not name.startswith("."):
                yield path.relative_to(folder).as_posix(), path


def _refuse(error: OSError) -> None:
    raise StoreError(f"Cannot read {error.filename}: {error.strerror}.") from error


def _matching(base: Path, wild: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(base.glob(wild)):
        if not path.name.endswith(_MIRROR):
            yield path.relative_to(base).as_posix(), path


def _before_wild(named: str) -> Path:
    """Return the folder that all that match a pattern lie in."""
    steady = []
    for part in Path(named).absolute().parts:
        if _WILD.search(part):
            break
        steady.append(part)
    return Path(*steady)


def _listed(named: str, base: Path, lines: list[str]) -> FileSource:
    keys = list(dict.fromkeys(line.strip() for line in lines if line.strip()))

    def listing() -> Iterator[Listed]:
        return _each_once(((key, base / key) for key in keys), with_missing=True)

    return FileSource(named, str(base), False, listing, of_these=("", *sorted(keys)))


def _lines_of(path: Path) -> list[str]:
    try:
        return read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{path} is neither a memory file nor a list of them.",
            "A list has a path on each line.",
        ) from error


def _each_once(found: Iterable[tuple[str, Path]], with_missing: bool = False) -> Iterator[Listed]:
    """List each file by the first of its names: by two, workers would meet at its lock.

    with_missing: also what is not there; else that has just been taken away. Raises `StoreError`
    for a file in a folder that cannot be searched: its night would be missed.
    """
    seen: set[tuple[int, int]] = set()
    for key, path in found:
        try:
            status = path.stat()
            which = status.st_dev, status.st_ino
            if which not in seen and (with_missing or stat.S_ISREG(status.st_mode)):
                seen.add(which)
                yield Listed(key, version_of(path))
        except OSError as error:
            if with_missing:
                yield Listed(key, NOT_THERE)
            elif isinstance(error, PermissionError):
                _refuse(error)


def _is_named_so(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.endswith(_MIRROR)


def _is_hidden(key: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(key).parts)
