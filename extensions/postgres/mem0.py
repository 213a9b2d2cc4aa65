"""mem0's memories in its pgvector store.

mem0ai 2.2.1. A collection is a table with an id, a vector of the text, and a payload that says all
else. The package finds memories by user_id, agent_id and run_id, each alone or several together, so
nothing is joined across any of these. Its hiding (expiration_date) lets a row take part in each
search before it is left out, and keeps its text from being told again; so what leaves is deleted.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from hashlib import md5
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from slowwave.extensions.formats.base import Image, New, Record
from slowwave.extensions.formats.langmem import moment_of, place_of
from slowwave.extensions.formats.lent_model import LONGEST_SAMPLE, SAMPLES_AT_EITHER_END

from .format import PostgresFormat
from .pgvector import as_bytes, as_literal
from .table import MemoryTable, refuse_other_vector_types
from .whole_rows import Row, WholeRows

if TYPE_CHECKING:
    from psycopg import Connection

# What a memory is found by: the first of these that it has says whose it is.
_IDS = ("user_id", "agent_id", "run_id")
_SCOPE = (*_IDS, "actor_id")
# What stands in the payload of a row that slowwave wrote.
_MARK = "slowwave"
# What each memory has for itself.
_OWN = frozenset({"data", "hash", "text_lemmatized", "created_at", "updated_at", _MARK})
_WHOSE = "".join(
    f" WHEN payload ->> '{one}' <> '' THEN '{one}=' || (payload ->> '{one}')" for one in _IDS
)
_TENANT = f"CASE{_WHOSE} END"
# Summaries of what an agent did are meant to the letter; what has an end goes by itself.
_IS_A_MEMORY = (
    "jsonb_typeof(payload -> 'data') = 'string' "
    "AND coalesce(payload ->> 'expiration_date', '') = '' "
    f"AND coalesce(payload ->> 'memory_type', '') <> 'procedural_memory' AND {_TENANT} IS NOT NULL"
)
_COLLECTIONS = """
SELECT c.relname, format('%I.%I', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid)
  AND has_table_privilege(c.oid, 'SELECT')
  AND 3 = (
    SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped
    AND (a.attname = 'vector' OR (a.attname, format_type(a.atttypid, NULL))
         IN (('id', 'uuid'), ('payload', 'jsonb')))
  )
ORDER BY 2
"""
# A collection by which the package tells apart who it is used by.
_TELEMETRY = "mem0migrations"
# Of the entities that a collection speaks of the package has another one.
_ENTITIES = "_entities"


class Collection(WholeRows):
    """The memories of a user, an agent or a run."""

    tenants_are = "A tenant is one of user_id=NAME, agent_id=NAME and run_id=NAME."
    id, id_type = "id", "uuid"
    said_at = "coalesce(payload ->> 'updated_at', payload ->> 'created_at')"
    unread = ("vector",)

    def record_of(self, key: str, row: Row) -> Record:
        """Date it by its last change, since that is when its text was told."""
        payload = row["payload"]
        said_at = moment_of(payload.get("updated_at") or payload.get("created_at"))
        return Record(key, _scope_of(payload), payload["data"], said_at)

    def text_of(self, row: Row) -> str:
        """Return what the payload says."""
        return str(row["payload"]["data"])

    def row_saying(self, new: New, replaced: Sequence[Row]) -> Row:
        """Give it what all whose place it takes say alike, and the latest one's times."""
        vector = self._vector(new.text)
        payloads = [one["payload"] for one in replaced]
        latest = payloads[-1] if payloads else {}
        alike = {
            name: value
            for name, value in latest.items()
            if name not in _OWN and all(one.get(name) == value for one in payloads)
        }
        now = self._value(
            "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
        )
        created = latest.get("created_at") or f"{now}+00:00"
        payload = {
            **_ids_of(new.tenant),
            **alike,
            **_said(new.text),
            "created_at": created,
            "updated_at": latest.get("updated_at") or created,
            _MARK: True,
        }
        return {"id": str(uuid.uuid4()), "vector": vector, "payload": payload}

    def can_rewrite(self, key: str, new: New) -> bool:
        """Whether it has slowwave's mark."""
        ours = self._value(
            f"SELECT payload -> '{_MARK}' = 'true' FROM {self._table.in_statement} WHERE id = %s",
            [place_of(key)[1]],
        )
        return ours is True

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the row's id, and whatever it says besides its text."""
        _, name = place_of(key)
        (row,) = self._rows("WHERE id = %s", [name])
        had = {"vector": row["vector"]}
        vector = former["vector"] if former else self._vector(new.text)
        said = _said(new.text)
        self._conn.execute(
            f"UPDATE {self._table.in_statement} SET vector = %s, payload = payload || %s::jsonb "
            "WHERE id = %s",
            [vector, json.dumps(said), name],
        )
        return self._key_of({"id": name, "payload": said}), had

    def samples(self) -> list[tuple[str, bytes]]:
        """Return texts of the tenant's oldest and latest rows, with their vectors."""
        refuse_other_vector_types(self._conn, self._table.name, "vector")
        found: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = self._conn.execute(
                f"SELECT payload ->> 'data', vector::text FROM {self._table.in_statement} "
                f"WHERE {_IS_A_MEMORY} AND {_TENANT} = %s AND vector IS NOT NULL "
                f"AND length(payload ->> 'data') <= %s "
                f"ORDER BY {self.said_at} {order}, id LIMIT %s",
                [self._tenant, LONGEST_SAMPLE, SAMPLES_AT_EITHER_END],
            ).fetchall()
            found |= {text: as_bytes(vector) for text, vector in rows}
        return list(found.items())

    def texts_to_embed(self, new: New) -> list[str]:
        """Return the text itself."""
        return [new.text]

    def _vector(self, text: str) -> str:
        model = self.vector_model
        assert model is not None  # noqa: S101 - each row has a vector
        return as_literal(model.vector(text))


class Mem0(PostgresFormat):
    """A collection of mem0's in PostgreSQL."""

    name = "mem0"
    about = "mem0's pgvector store"
    holds = "a row whose payload has data; a user is a tenant, or an agent or run without one"
    rows = Collection
    tables_are = (
        "A table is looked for with id uuid, vector and payload jsonb, as mem0 2.2.1 makes it."
    )

    def find(self, conn: Connection[tuple[Any, ...]]) -> list[MemoryTable]:
        """Return the collections of memories."""
        found = dict(conn.execute(_COLLECTIONS).fetchall())
        return [
            MemoryTable(place, _TENANT, "id::text", _IS_A_MEMORY)
            for name, place in found.items()
            if name != _TELEMETRY and name.removesuffix(_ENTITIES) not in found.keys() - {name}
        ]


def _scope_of(payload: Row) -> str:
    """Return by what the package finds a memory, as the package itself spells that."""
    return "&".join(f"{one}={_escaped(payload[one])}" for one in sorted(_SCOPE) if payload.get(one))


def _escaped(value: object) -> str:
    return str(value).replace("%", "%25").replace("&", "%26").replace("=", "%3D")


def _ids_of(scope: str) -> dict[str, str]:
    pairs = (one.partition("=") for one in scope.split("&"))
    return {name: unquote(value) for name, _, value in pairs}


def _said(text: str) -> dict[str, str]:
    """Return what the package computes of a text where its model of English is not installed."""
    hashed = md5(text.encode(), usedforsecurity=False).hexdigest()
    return {"data": text, "hash": hashed, "text_lemmatized": text}
