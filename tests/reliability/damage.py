"""A file after two runs, and the ways in which a disk damages a copy of it."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import night as fixture
from builders import copy_of
from model_nights import a_writer
from model_server import oracle
from nights import NOW, TWINS, daily, execute, fill, night, rows

from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, Embedder
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing
from slowwave.store.model_answers import Answer, cache_answers

PAGE = 4096
# A part of the memories of the night fixture: enough for every operation.
_FACTS, _RULES, _UPDATES, _SINGLES = 3, 1, 2, 6

Damage = Callable[[bytearray, random.Random], None]


@dataclass(frozen=True)
class Original:
    """A file without damage, closed, and the same file with a log that was not checkpointed."""

    path: Path
    unclean: Path
    # The positions of texts of memories, and of JSON, in the file.
    texts: tuple[int, ...]
    json: tuple[int, ...]
    # Ids of the memories that runs made.
    derived: frozenset[bytes]
    # What commands are given: a run, a proposal of it, a memory that was superseded and one made.
    ids: dict[str, str]
    # Per page of the table of memories, the ids of those that lie, or once lay, there; none: it
    # leads to others.
    pages: dict[int, frozenset[str]]


def make_original(folder: Path, embedder: Embedder) -> Original:
    """Make a file after two nights, with a merge left that needs no model."""
    path = folder / "memory.db"
    create_file(path)
    with open_writing(path) as file:
        import_lines(file, (line.encode() for line in _statement_lines()), NOW)
    long = " ".join(f"Entry {number} of the long list is kept." for number in range(300))
    fill(path, [{"id": "long", "content": long, "pinned": True, "entities": ["Long List"]}])
    fill(path, daily(TWINS, "twin"))
    with a_writer(oracle) as writer:
        night(path, embedder, writer=writer)
    with open_writing(path) as file:
        answer = Answer('{"same": true}', 10, 5, None)
        cache_answers(file, [("key", "a model", answer)], NOW.isoformat())
    execute(path, "INSERT INTO memories (id, content) VALUES ('late', 'The kettle is descaled.')")
    night(path, embedder)
    vector = [float(item) for item in embedder.encode([TWINS[0]])[0]]
    again = {"embedding": vector, "embedding_model": DEFAULT_MODEL}
    fill(path, daily(TWINS[:1], "again", **again))
    data = path.read_bytes()
    texts = frozenset(
        row["id"].encode() for row in rows(path, "SELECT id FROM memories WHERE generation > 0")
    )
    unclean = _unclean(path, folder / "unclean.db")
    return Original(path, unclean, _texts(path, data), _json(data), texts, _ids(path), _pages(path))


def copied(original: Path, folder: Path) -> Path:
    """Copy a file with its log into a folder of its own."""
    folder.mkdir()
    return copy_of(original, folder / "memory.db")


def spoil(path: Path, damage: Damage, chance: random.Random) -> None:
    """Change the bytes of a file."""
    data = bytearray(path.read_bytes())
    damage(data, chance)
    path.write_bytes(data)


def _ids(path: Path) -> dict[str, str]:
    asked = {
        "run": "SELECT id FROM runs ORDER BY id",
        "key": "SELECT key AS id FROM proposals WHERE state = 'applied'",
        "gone": "SELECT id FROM memories WHERE status = 'superseded'",
        "made": "SELECT id FROM memories WHERE generation > 0",
    }
    return {what: rows(path, sql)[0]["id"] for what, sql in asked.items()}


def _pages(path: Path) -> dict[int, frozenset[str]]:
    """Return the pages of each memory, found by its text, with all overflow pages."""
    data = path.read_bytes()
    memories = rows(path, "SELECT id, content FROM memories")
    pages = {}
    for row in rows(path, "SELECT pageno, pagetype FROM dbstat WHERE name = 'memories'"):
        start = (row["pageno"] - 1) * PAGE
        bytes_ = data[start : start + PAGE]
        if row["pagetype"] == "overflow":
            pages[row["pageno"]] = frozenset({"long"})
        else:
            pages[row["pageno"]] = frozenset(
                item["id"] for item in memories if item["content"].encode()[:60] in bytes_
            )
    return pages


def _statement_lines() -> list[str]:
    planted = fixture.load()
    groups = {item["id"] for item in planted.facts[:_FACTS] + planted.rules[:_RULES]}
    groups |= {item["id"] for item in planted.updates[:_UPDATES] + planted.singles[:_SINGLES]}
    ids = {item.id for item in planted.memories if item.group in groups}
    return [line for line in fixture.lines(planted) if json.loads(line)["id"] in ids]


def _unclean(path: Path, to: Path) -> Path:
    """Copy a file that is open, with its log that is not checkpointed."""
    own = to.with_suffix(".own")
    shutil.copyfile(path, own)
    with closing(sqlite3.connect(own, isolation_level=None)) as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("UPDATE memories SET access_count = access_count + 1")
        for number in range(40):
            db.execute(f"INSERT INTO memories (content) VALUES ('Box {number} is full.')")
        shutil.copyfile(own, to)
        shutil.copyfile(f"{own}-wal", f"{to}-wal")
    return to


def _texts(path: Path, data: bytes) -> tuple[int, ...]:
    with closing(sqlite3.connect(path)) as db:
        texts = [row[0].encode()[:60] for row in db.execute("SELECT content FROM memories")]
    starts = [data.find(text) for text in texts]
    assert min(starts) >= 0
    return tuple(
        start + i for start, text in zip(starts, texts, strict=True) for i in range(len(text))
    )


def _json(data: bytes) -> tuple[int, ...]:
    return tuple(i for i in range(len(data)) if data[i : i + 2] in (b'{"', b'["', b"[]", b"{}"))


def _flip(data: bytearray, place: int, chance: random.Random) -> None:
    data[place] ^= 1 << chance.randrange(8) if chance.random() < 0.5 else chance.randrange(1, 256)


def flip_anywhere(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        _flip(data, chance.randrange(len(data)), chance)


def flip_page_header(data: bytearray, chance: random.Random) -> None:
    page = chance.randrange(len(data) // PAGE)
    _flip(data, page * PAGE + (100 if page == 0 else 0) + chance.randrange(40), chance)


def flip_file_header(data: bytearray, chance: random.Random) -> None:
    _flip(data, chance.randrange(100), chance)


def zero_page_of(path: Path, page: int) -> None:
    """Overwrite a page of a file with zeros."""
    with path.open("r+b") as stream:
        stream.seek((page - 1) * PAGE)
        stream.write(bytes(PAGE))


def zero_page(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = bytes(PAGE)


def noise_page(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = chance.randbytes(PAGE)


def swap_pages(data: bytearray, chance: random.Random) -> None:
    first, second = (page * PAGE for page in chance.sample(range(len(data) // PAGE), 2))
    first_page = data[first : first + PAGE]
    data[first : first + PAGE] = data[second : second + PAGE]
    data[second : second + PAGE] = first_page


def truncate_at(number: int) -> Damage:
    """Return a damage that leaves `number` pages, modulo the number of pages."""

    def truncate(data: bytearray, chance: random.Random) -> None:
        del data[(1 + number % (len(data) // PAGE - 1)) * PAGE :]

    return truncate


def truncate_anywhere(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def flip_among(places: tuple[int, ...]) -> Damage:
    """Return a damage that flips bits at some of these places."""

    def flip(data: bytearray, chance: random.Random) -> None:
        for place in chance.sample(places, chance.choice((1, 1, 3))):
            _flip(data, place, chance)

    return flip
