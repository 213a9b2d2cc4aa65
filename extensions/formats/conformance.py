"""Conformance checks for a format, on a file as its own program writes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.opening import is_database, open_database

from .base import Change, Format, Image, New, Record, RemovedEntry, Successor, Written
from .known_formats import recognised

_TEXT = "The tuba of the brass band hangs in the third shed"


def faults(format: Format, path: Path) -> Iterator[str]:
    """Yield the faults of a format as sentences; a correct format has none.

    path: a file of the format that contains memories; it is copied and not changed.
    """
    elsewhere = [candidate.name for candidate in recognised(path) if candidate.name != format.name]
    if not format.recognises(path) or elsewhere:
        yield f"it is not recognized, or also by other formats: {', '.join(elsewhere) or 'none'}"
    before = _content(path)
    records = _read(format, path)
    if _content(path) != before:
        yield "reading changes the file"
    if not records:
        yield "no entry was found in it"
    if len({record.key for record in records}) < len(records):
        yield "two entries have the same key"
    if format.is_only_read:
        return
    yield from _faults_of_removal(format, path, records)
    if format.no_new_texts_reason(path) is not None:
        yield from _faults_of_refusal(format, path, records)
        return
    record = next((record for record in records if not record.pinned), None)
    if record is not None:
        yield from _faults_of_addition(format, path, records, record)
        if not is_database(path):  # databases have a lock
            yield from _faults_of_conflict(format, path, record)


def _faults_of_removal(format: Format, path: Path, records: Sequence[Record]) -> Iterator[str]:
    """Yield the faults found by removing and restoring each entry."""
    movable = [record for record in records if not record.pinned]
    for record in movable:
        other_keys = (left.key for left in movable if left.key != record.key)
        successor = next((Successor("s", key) for key in other_keys), None)
        with _copied(path) as copy:
            before = _content(copy)
            written = _write(format, copy, Change([RemovedEntry(record.key, "m", successor)]))
            left = sorted(entry.text for entry in _read(format, copy))
            if left != sorted(entry.text for entry in records if entry is not record):
                yield f"removing it changes other entries: {record.text}"
                continue
            done = _write(format, copy, Change(put=[_new(record, written.images["m"])]))
            if done.keys.get("m") not in {entry.key for entry in _read(format, copy)}:
                yield f"it is restored under another key than was returned: {record.text}"
            if _content(copy) != before:
                yield f"removing and restoring it changes the file: {record.text}"


def _faults_of_addition(
    format: Format, path: Path, records: Sequence[Record], record: Record
) -> Iterator[str]:
    """Yield the faults found by replacing an entry by a text and undoing that."""
    with _copied(path) as copy:
        before = _content(copy)
        put = replace(_new(record, None), memory="n", text=_TEXT, replaces=(record.key,))
        successor = Successor("n", None, replaces={"m": None})
        removals = [RemovedEntry(record.key, "m", successor)]
        written = _write(format, copy, Change(removals, [put], inheriting=[successor]))
        texts = {entry.key: entry.text for entry in _read(format, copy)}
        count = [entry.text for entry in records].count(record.text)
        if (
            texts.get(written.keys["n"]) != _TEXT
            or list(texts.values()).count(record.text) >= count
        ):
            yield "a text that replaces an entry is not found, or the entry still is"
        back = _new(record, written.images["m"])
        _write(format, copy, Change([RemovedEntry(written.keys["n"], "n")], [back]))
        if _content(copy) != before:
            yield "replacing an entry and restoring it changes the file"


def _faults_of_conflict(format: Format, path: Path, record: Record) -> Iterator[str]:
    """Yield the faults found when its agent changes the file before the commit."""
    with _copied(path) as copy, format.opened(copy, writes=True) as file:
        file.prepare(Change([RemovedEntry(record.key, "m")]))
        changed = copy if copy.is_file() else min(copy.glob("*.md"))
        changed.write_bytes(changed.read_bytes().replace(b"e", b"i", 1))
        before = _content(copy)
        try:
            file.commit()
        except FileHeld:
            pass
        else:
            yield "it overwrites what its agent wrote during the change"
        if _content(copy) != before:
            yield "it changes a file that its agent wrote during the change"


def _faults_of_refusal(format: Format, path: Path, records: Sequence[Record]) -> Iterator[str]:
    with _copied(path) as copy, format.opened(copy, writes=True) as file:
        put = replace(_new(records[0], None), memory="n", text=_TEXT)
        try:
            file.prepare(Change(put=[put]))
        except StoreError:
            return
        except Exception as error:  # noqa: BLE001 - any other error is a fault
            yield f"it refuses a text with a defect: {error}"
        else:
            yield "it accepts a text although it says that it does not"


def _new(record: Record, image: Image | None) -> New:
    return New("m", record.tenant, record.text, (), image)


def _read(format: Format, path: Path) -> list[Record]:
    with format.opened(path, writes=False) as file:
        return list(file.records)


def _write(format: Format, path: Path, change: Change) -> Written:
    with format.opened(path, writes=True) as file:
        written = file.prepare(change)
        file.commit()
        return written


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    """Provide a copy of a file or a folder, in a folder of the same name."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / path.resolve().parent.name
        folder.mkdir()
        copy = folder / path.name
        if path.is_dir():
            shutil.copytree(path, copy)
        elif is_database(path):
            with open_database(path, "ro") as source, open_database(copy, "rwc") as target:
                source.backup(target)
        else:
            shutil.copy2(path, copy)
        yield copy


def _content(path: Path) -> object:
    """Return what must be equal: the rows of a database, the files of a folder."""
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    if not is_database(path):
        return path.read_bytes()
    with open_database(path, "rw") as db:
        tables = [
            name
            for _, name, kind, *_ in db.execute("PRAGMA main.table_list")
            # The layout of a virtual table's own data may change.
            if kind == "table" and not name.startswith("sqlite_")
        ]
        return {name: sorted(map(repr, db.execute(f'SELECT * FROM "{name}"'))) for name in tables}
