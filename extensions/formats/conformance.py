"""Conformance checks for a format, on a file as its own program writes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from slowwave.store.errors import FileHeld
from slowwave.store.opening import is_database, open_database

from .base import Change, Format, Image, New, Record, Successor, Written
from .known_formats import recognised

_TEXT = "The tuba of the brass band hangs in the third shed"


def faults(format: Format, path: Path) -> Iterator[str]:
    """Yield what is wrong with a format, as a sentence each; the file is copied, and left alone.

    path: a file of the format in which something is told. Nothing is yielded of a sound format.
    """
    others = [one.name for one in recognised(path) if one.name != format.name]
    if not format.recognises(path) or others:
        yield f"it is not recognised, or by others as well: {', '.join(others) or 'none'}"
    before = _content(path)
    records = _read(format, path)
    if _content(path) != before:
        yield "reading changes the file"
    if not records:
        yield "nothing is found in it"
    if len({one.key for one in records}) < len(records):
        yield "two entries have one key"
    if format.is_only_read:
        return
    yield from _faults_of_leaving(format, path, records)
    if format.why_no_texts(path) is None:
        record = next((one for one in records if not one.pinned), None)
        if record is not None:
            yield from _faults_of_adding(format, path, records, record)
            if not is_database(path):  # these have a lock
                yield from _faults_of_not_noticing(format, path, record)
    else:
        yield from _faults_of_refusing(format, path, records)


def _faults_of_leaving(format: Format, path: Path, records: list[Record]) -> Iterator[str]:
    """Let each entry leave and come back; it must be where it was."""
    movable = [one for one in records if not one.pinned]
    for record in movable:
        successor = next((one.key for one in movable if one.key != record.key), None)
        with _copied(path) as copy:
            before = _content(copy)
            successors = {} if successor is None else {record.key: successor}
            written = _written(format, copy, Change({record.key: "m"}, successors=successors))
            left = sorted(one.text for one in _read(format, copy))
            if left != sorted(one.text for one in records if one is not record):
                yield f"after it left, the rest is not what is read: {record.text}"
                continue
            back = _new(record, written.images["m"])
            done = _written(format, copy, Change(put=[back]))
            if done.keys.get("m") not in {one.key for one in _read(format, copy)}:
                yield f"what came back has not the key that was given: {record.text}"
            if _content(copy) != before:
                yield f"it left and came back, and the file is another: {record.text}"


def _faults_of_adding(
    format: Format, path: Path, records: list[Record], record: Record
) -> Iterator[str]:
    """Put a text in an entry's place, and take both steps back."""
    with _copied(path) as copy:
        before = _content(copy)
        put = replace(_new(record, None), memory="n", text=_TEXT, replaces=(record.key,))
        successor = Successor("n", None, stands_for={"m": None})
        change = Change({record.key: "m"}, [put], taking_over=[successor])
        written = _written(format, copy, change)
        texts = {one.key: one.text for one in _read(format, copy)}
        if texts.get(written.keys["n"]) != _TEXT or record.text in _texts_gained(records, texts):
            yield "a text that was put in an entry's place is not read, or the entry still is"
        back = _new(record, written.images["m"])
        _written(format, copy, Change({written.keys["n"]: "n"}, [back]))
        if _content(copy) != before:
            yield "a text came and went in an entry's place, and the file is another"


def _faults_of_not_noticing(format: Format, path: Path, record: Record) -> Iterator[str]:
    """Let an agent come in between, where no lock of the file's own keeps it out."""
    with _copied(path) as copy, format.opened(copy, writes=True) as other:
        other.prepare(Change({record.key: "m"}))
        _touch(copy)
        changed = _content(copy)
        try:
            other.commit()
        except FileHeld:
            pass
        else:
            yield "it writes over what its agent wrote meanwhile"
        if _content(copy) != changed:
            yield "it changes a file that its agent wrote meanwhile"


def _faults_of_refusing(format: Format, path: Path, records: list[Record]) -> Iterator[str]:
    with _copied(path) as copy, format.opened(copy, writes=True) as other:
        put = replace(_new(records[0], None), memory="n", text=_TEXT)
        try:
            other.prepare(Change(put=[put]))
        except Exception as error:  # noqa: BLE001 - what it raises is looked at
            if getattr(error, "message", None) is None:
                yield f"it refuses a text with a defect: {error}"
        else:
            yield "it takes a text though it says that it takes none"


def _texts_gained(records: list[Record], after: dict[str, str]) -> list[str]:
    """Return the texts that are there as often as before; one of them should be fewer."""
    texts = list(after.values())
    before = [one.text for one in records]
    return [text for text in set(texts) if texts.count(text) >= before.count(text) > 0]


def _new(record: Record, image: Image | None) -> New:
    return New("m", record.tenant, record.text, (), image)


def _read(format: Format, path: Path) -> list[Record]:
    with format.opened(path, writes=False) as other:
        return list(other.records)


def _written(format: Format, path: Path, change: Change) -> Written:
    with format.opened(path, writes=True) as other:
        written = other.prepare(change)
        other.commit()
        return written


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    """Provide a copy of a file or a folder, in a folder of the same name as its own."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / path.resolve().parent.name
        place.mkdir()
        if path.is_dir():
            yield Path(shutil.copytree(path, place / path.name))
        else:
            yield _copy_of(path, place / path.name)


def _copy_of(path: Path, copy: Path) -> Path:
    if not is_database(path):
        return Path(shutil.copy2(path, copy))
    with open_database(path, "ro") as source, open_database(copy, "rwc") as target:
        source.backup(target)
    return copy


def _content(path: Path) -> object:
    """Return what must be equal: of a database its rows, of a folder its files."""
    if path.is_dir():
        return {one.name: one.read_bytes() for one in sorted(path.iterdir()) if one.is_file()}
    if not is_database(path):
        return path.read_bytes()
    with open_database(path, "rw") as db:
        tables = [
            name
            for _, name, kind, *_ in db.execute("PRAGMA main.table_list")
            # What a virtual table keeps by itself may lie elsewhere afterwards.
            if kind == "table" and not name.startswith("sqlite_")
        ]
        return {name: sorted(map(repr, db.execute(f"SELECT * FROM {name}"))) for name in tables}


def _touch(path: Path) -> None:
    """Change a file as its agent might, or one of the files of a folder."""
    one = path if path.is_file() else next(iter(sorted(path.glob("*.md"))))
    one.write_bytes(one.read_bytes().replace(b"e", b"i", 1))
