"""Whole nights for tests: import, run, and read the file with plain SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.running.run_in_file import NightInputs
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer
from slowwave.store.exchange import import_lines
from slowwave.store.file import open_writing
from slowwave.store.records import content_hash
from slowwave.store.shown_to_model import Dispute, record_disputes

# What has nothing to do with `of_one_thing`.
OTHERS = [
    "Ines waters the plants on the third floor.",
    "The coffee machine is descaled by the caretaker.",
    "Parking permits are handed out at the front desk.",
]
PORT = "The billing service listens on port {} for requests of the web shop."
TWINS = ["Billing listens on port 8080.", "Billing listens on port 8080"]
NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)

# What a night must give back when it is undone: everything that agents see.
AGENTS_TABLES = ("memories", "embeddings", "entities", "memory_entities", "synthesized_from")

# One fact in six layouts, and two texts that each add something to it.
_ONE_THING = (
    "Oksana carries the database pager at weekends until 22:00.",
    "oksana carries the database pager at weekends until 22:00!",
    "Oksana carries the database pager at weekends until 22:00..",
    "Oksana carries the database pager at weekends until 22:00",
    "Oksana carries the database pager at weekends\u00a0until 22:00.",
    "Oksana answers the database pager at weekends until 22:00, on her second phone.",
    "At weekends Oksana carries the database pager until 22:00 and is paid extra for it.",
    "Oksana carries  the database pager at weekends until 22:00!",
)
# The same with something new, which the second of them states most of.
_MORE_OF_IT = (
    "Oksana answers the database pager at weekends until 22:00 from the harbour office.",
    "At weekends until 22:00 Oksana answers the database pager from the harbour office, beside "
    "the kitchen.",
    "Oksana answers the pager of the databases from the harbour office at weekends until 22:00.",
)


def of_one_thing() -> list[str]:
    """Return texts of which a night without a model merges six."""
    return list(_ONE_THING)


def more_of_it() -> list[str]:
    """Return texts that add something to those of `of_one_thing`."""
    return list(_MORE_OF_IT)


def each_adding_something() -> list[str]:
    """Return texts of one thing that only a model joins into one memory."""
    return list(_ONE_THING[5:7])


def fill(path: Path, memories: Sequence[dict[str, Any] | str]) -> None:
    """Import memories, each a text or an object."""
    rows = [{"content": memory} if isinstance(memory, str) else memory for memory in memories]
    with open_writing(path) as file:
        import_lines(file, [json.dumps(row).encode() for row in rows], NOW)


def daily(
    texts: Sequence[str], prefix: str, first_day: int = 1, **fields: object
) -> list[dict[str, Any]]:
    """Return texts as memories of days that follow each other, a session each."""
    return [
        {
            "id": f"{prefix}-{number:02d}",
            "content": text,
            "session": f"{prefix}-{number}",
            "observed_at": f"2026-02-{first_day + number:02d}T09:00:00+00:00",
            "created_at": f"2026-02-{first_day + number:02d}T09:00:00+00:00",
            **fields,
        }
        for number, text in enumerate(texts)
    ]


def dispute(path: Path, earlier: str, later: str) -> None:
    """Record that a model found two texts contradictory."""
    hashes = content_hash(earlier), content_hash(later)
    with open_writing(path) as file, file.transaction():
        record_disputes(file, [Dispute("default", *hashes, "two values")], "no run")


@dataclass
class SlowEmbedder:
    """The real model, with a callback while a model writes or before its draft is embedded."""

    embedder: SentenceEmbedder
    meanwhile: Callable[[], None]
    # The first call is for what the memories lack, the second for a text whose vector is known.
    call: int = 2
    calls: int = 0

    @property
    def name(self) -> str:
        return self.embedder.name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.calls == self.call:
            self.meanwhile()
        return self.embedder.encode(texts)


class CountingEmbedder:
    """The real model, which records each request, and fails after a number of texts."""

    def __init__(self, embedder: SentenceEmbedder, fails_after: int | None = None) -> None:
        self._embedder = embedder
        self._fails_after = fails_after
        self.name = embedder.name
        self.requests: list[Sequence[str]] = []

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._fails_after is not None and len(self.texts) >= self._fails_after:
            raise EmbedderError("the power went")
        self.requests.append(texts)
        return self._embedder.encode(texts)


@dataclass
class NoEmbedder:
    """An embedder that must not be called, since all vectors are stored."""

    name: str

    def encode(self, texts: object) -> Any:
        raise AssertionError(f"encoded {texts}")


def night(
    path: Path,
    embedder: Embedder,
    dry_run: bool = False,
    writer: Writer | None = None,
    now: datetime = NOW,
    **options: Any,
) -> Outcome:
    """Run the cycle over a file."""
    return run_cycle(inputs_of(path, embedder, writer, now=now, dry_run=dry_run, **options))


def inputs_of(
    path: Path, embedder: Embedder, writer: Writer | None = None, now: datetime = NOW, **more: Any
) -> NightInputs:
    """Return the inputs of a night. more: its options, `dry_run` and `progress`."""
    of_night = {name: more.pop(name) for name in ("dry_run", "progress") if name in more}
    return NightInputs(
        path=path,
        options=CycleOptions(**more),
        embedder=embedder,
        writer=writer or BuiltInWriter(),
        now=now,
        **of_night,
    )


def rows(path: Path, sql: str, *values: object) -> list[dict[str, Any]]:
    """Read with plain SQL, as an agent would."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql, values)]


def execute(path: Path, sql: str, *values: object) -> None:
    """Write with plain SQL, as an agent would."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql, values)


def age_runs(path: Path) -> None:
    """Backdate all runs and supersessions to 2020, so that a purge deletes."""
    execute(path, "UPDATE runs SET started_at = '2020-01-01T00:00:00.000+00:00'")
    execute(
        path,
        "UPDATE memories SET superseded_at = '2020-01-01T00:00:00.000+00:00' "
        "WHERE status = 'superseded'",
    )


def picture(path: Path, tables: Sequence[str] = AGENTS_TABLES) -> dict[str, list[dict[str, Any]]]:
    """Return every row of the tables, in a fixed order."""
    return {
        table: sorted(
            rows(path, f"SELECT * FROM {table}"), key=lambda row: str(sorted(row.items()))
        )
        for table in tables
    }


@contextmanager
def unchanged(read: Callable[..., object], *arguments: object) -> Iterator[None]:
    """Check that the block does not change what a function reads."""
    before = read(*arguments)
    yield
    # Two files of megabytes are not to be printed.
    assert read(*arguments) == before, read


# Three things, of which a night without a model knows that they were said twice.
SAID_TWICE = {
    "backup": "The backup of the wiki runs at 02:30 every night.",
    "invoices": "Helvi settles the invoices on the first Tuesday of the month.",
    "plants": "Ines waters the office plants on Mondays.",
}


def said_twice() -> list[dict[str, Any]]:
    """Return two memories of each of them, `backup-00`, `backup-01` ...: a merge each."""
    return [
        memory for name, text in SAID_TWICE.items() for memory in daily([f"{text}!", text], name)
    ]


def states(path: Path) -> dict[str, str]:
    """Return the status of each memory by its id."""
    return {row["id"]: row["status"] for row in rows(path, "SELECT id, status FROM memories")}


def active(path: Path) -> list[str]:
    """Return the texts of the active memories, sorted."""
    memories = rows(path, "SELECT content FROM memories WHERE status = 'active' ORDER BY content")
    return [row["content"] for row in memories]
