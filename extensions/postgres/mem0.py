"""mem0's memories in its pgvector store.

mem0ai 2.2.1. A collection is a table with an id, a vector of the text, and a payload with the rest.
The package finds memories by user_id, agent_id and run_id, separately or together, so memories that
differ in any of these are never merged. Its expiration_date hides a row only after a search has
ranked it, and prevents the package from adding its text again; so removed rows are deleted.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from hashlib import md5
from typing import TYPE_CHECKING
from urllib.parse import unquote

from slowwave.extensions.formats.base import Image, New, Record
from slowwave.extensions.formats.database import key_of, moment_of, place_of
from slowwave.extensions.formats.vector_model import MAX_SAMPLE, SAMPLES_AT_EITHER_END

from .format import PostgresFormat
from .table import MemoryTable, as_bytes, as_literal, refuse_other_vector_types
from .whole_rows import Row, WholeRows

if TYPE_CHECKING:
    from .connection import Connection

# The first of these that a memory has identifies its tenant.
_IDS = ("user_id", "agent_id", "run_id")
_SCOPE = (*_IDS, "actor_id")
# A key in the payload of rows that slowwave wrote.
_MARK = "slowwave"
# Keys that are not copied from replaced rows.
_OWN = frozenset({"data", "hash", "text_lemmatized", "created_at", "updated_at", _MARK})
_WHENS = "".join(
    f" WHEN payload ->> '{name}' <> '' THEN '{name}=' || (payload ->> '{name}')" for name in _IDS
)
_TENANT = f"CASE{_WHENS} END"
# Summaries of an agent's actions must stay verbatim; memories with an end expire by themselves.
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
# The package's own collection, which identifies its user.
_TELEMETRY = "mem0migrations"
# The suffix of the collection with the entities of another one.
_ENTITIES = "_entities"


class _Collection(WholeRows):
    """The memories of a user, an agent or a run."""

    tenants_are = "A tenant is user_id=NAME, agent_id=NAME or run_id=NAME."
    id, id_type = "id", "uuid"
    said_at = "coalesce(payload ->> 'updated_at', payload ->> 'created_at')"
    unread = ("vector",)

    def record_of(self, row: Row) -> Record:
        """Return a row as a memory with the time of its last change."""
        payload = row["payload"]
        key = key_of(self._tenant, row["id"], payload["data"])
        observed_at = moment_of(payload.get("updated_at") or payload.get("created_at"))
        return Record(key, _scope_of(payload), payload["data"], observed_at)

    def row_with_text(self, new: New, replaced: Sequence[Row]) -> Row:
        """Return a row with what all replaced rows have in common, and the times of the latest."""
        vector = self._vector(new.text)
        payloads = [row["payload"] for row in replaced]
        latest = payloads[-1] if payloads else {}
        common = {
            name: value
            for name, value in latest.items()
            if name not in _OWN and all(payload.get(name) == value for payload in payloads)
        }
        now = self._value(
            "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
        )
        created = latest.get("created_at") or f"{now}+00:00"
        payload = {
            **_ids_of(new.tenant),
            **common,
            **_text_fields(new.text),
            "created_at": created,
            "updated_at": latest.get("updated_at") or created,
            _MARK: True,
        }
        return {"id": str(uuid.uuid4()), "vector": vector, "payload": payload}

    def can_rewrite(self, key: str, new: New) -> bool:
        ours = self._value(
            f"SELECT payload -> '{_MARK}' = 'true' FROM {self._table.in_statement} WHERE id = %s",
            [place_of(key)[1]],
        )
        return ours is True

    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Keep the row's id, and its payload except the text."""
        _, name = place_of(key)
        (row,) = self._rows("WHERE id = %s", [name])
        vector = former["vector"] if former else self._vector(new.text)
        self._conn.execute(
            f"UPDATE {self._table.in_statement} SET vector = %s, payload = payload || %s::jsonb "
            "WHERE id = %s",
            [vector, json.dumps(_text_fields(new.text)), name],
        )
        return key_of(self._tenant, name, new.text), {"vector": row["vector"]}

    def samples(self) -> list[tuple[str, bytes]]:
        """Return texts of the tenant's oldest and latest rows, with their vectors."""
        refuse_other_vector_types(self._conn, self._table.name, "vector")
        vectors: dict[str, bytes] = {}
        for order in ("ASC", "DESC"):
            rows = self._conn.execute(
                f"SELECT payload ->> 'data', vector::text FROM {self._table.in_statement} "
                f"WHERE {_IS_A_MEMORY} AND {_TENANT} = %s AND vector IS NOT NULL "
                f"AND length(payload ->> 'data') <= %s "
                f"ORDER BY {self.said_at} {order}, id LIMIT %s",
                [self._tenant, MAX_SAMPLE, SAMPLES_AT_EITHER_END],
            ).fetchall()
            vectors |= {text: as_bytes(vector) for text, vector in rows}
        return list(vectors.items())

    def _vector(self, text: str) -> str:
        assert self.vector_model is not None  # noqa: S101 - each row has a vector
        return as_literal(self.vector_model.vector(text))


class Mem0(PostgresFormat):
    """A collection of mem0 in PostgreSQL."""

    name = "mem0"
    about = "mem0's pgvector store"
    holds = "a row with data in its payload; a tenant is a user, or else an agent or run"
    rows = _Collection
    tables_are = (
        "A table with id uuid, vector and payload jsonb is expected, as mem0 2.2.1 creates it."
    )

    def find(self, conn: Connection) -> list[MemoryTable]:
        """Return the collections of memories."""
        collections: dict[str, str] = dict(conn.execute(_COLLECTIONS).fetchall())
        return [
            MemoryTable(place, _TENANT, "id::text", _IS_A_MEMORY)
            for name, place in collections.items()
            if name != _TELEMETRY
            and name.removesuffix(_ENTITIES) not in collections.keys() - {name}
        ]


def _scope_of(payload: Row) -> str:
    """Return the ids by which the package finds a memory, spelled as the package does."""
    return "&".join(
        f"{name}={_escaped(payload[name])}" for name in sorted(_SCOPE) if payload.get(name)
    )


def _escaped(value: object) -> str:
    return str(value).replace("%", "%25").replace("&", "%26").replace("=", "%3D")


def _ids_of(scope: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in scope.split("&"))
    return {name: unquote(value) for name, _, value in pairs}


def _text_fields(text: str) -> dict[str, str]:
    """Return the fields that the package computes of a text without its model of English."""
    digest = md5(text.encode(), usedforsecurity=False).hexdigest()
    return {"data": text, "hash": digest, "text_lemmatized": text}
