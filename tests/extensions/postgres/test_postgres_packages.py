"""Memories of mem0 and of agno in PostgreSQL: a tenant's night, and its rows given back."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli
from databases import Database, Embed, empty_database, server
from nights import each_adding_something, more_of_it, of_one_thing, unchanged
from psycopg.sql import Identifier

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.postgres.place import FORMATS_OF_DATABASES, database_formats

__all__ = ["empty_database", "server"]  # fixtures, asked for by name

TWINS = [
    "Billing listens on port 8080.",
    "Billing listens on port 8080",
    "Refunds need a second signature.",
    "Refunds need a second signature",
    "Ravi prefers tea.",
]


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Package:
    """A package's table in a database, filled as the package does."""

    name: str
    database: Database
    embed: Embed
    table: str
    # What stands before a user's name in that of a tenant.
    whose: str

    def tell(self, user: str, *texts: str, first: int = 0, **more: Any) -> None:
        for number, text in enumerate(texts, first):
            if self.name == "mem0":
                self._tell_mem0(user, number, text, more)
            else:
                self._tell_agno(user, number, text, more)

    def _tell_mem0(self, user: str, number: int, text: str, more: dict[str, Any]) -> None:
        told = f"2026-03-{number + 1:02d}T09:00:00.000000+00:00"
        said = {"data": text, "text_lemmatized": text, "hash": _md5(text)}
        payload = {"user_id": user, **said, "created_at": told, "updated_at": told, **more}
        ((vector,),) = [self.embed([text])]
        self.database.execute(
            "INSERT INTO mem0 VALUES (%s, %s, %s)",
            str(uuid.uuid5(uuid.NAMESPACE_OID, f"{user} {number}")),
            str(vector.tolist()),
            json.dumps(payload),
        )

    def _tell_agno(self, user: str, number: int, text: str, more: dict[str, Any]) -> None:
        told = 1_772_000_000 + number * 86_400
        row = {"memory_id": f"{user}-{number}", "memory": text, "user_id": user, "agent_id": "a1"}
        row |= {"created_at": told, "updated_at": told, "topics": [f"t{number}"], **more}
        self.database.execute(
            "INSERT INTO ai.agno_memories "
            "SELECT * FROM jsonb_populate_record(NULL::ai.agno_memories, %s)",
            json.dumps(row),
        )

    def of(self, user: str) -> str:
        return self.database.of(f"{self.whose}{user}")

    def rows(self) -> list[tuple[Any, ...]]:
        return self.database.rows(f"SELECT to_jsonb(m)::text FROM {self.table} m ORDER BY 1")

    def texts(self, user: str) -> list[str]:
        """Return what the package would find of a user."""
        found = [json.loads(row) for (row,) in self.rows()]
        if self.name == "mem0":
            found = [match["payload"] | {"memory": match["payload"]["data"]} for match in found]
        return sorted(match["memory"] for match in found if match["user_id"] == user)

    def night(self, cli: Cli, user: str, *more: str) -> dict[str, Any]:
        command = ("maintain", self.of(user), "--format", self.name, "--json")
        return dict(cli(*command, *more).ends(0).json)


@pytest.fixture(params=["mem0", "agno"])
def package(
    request: pytest.FixtureRequest, empty_database: Database, embedder: SentenceEmbedder
) -> Package:
    """Provide the tables of one of them, with nothing in them."""
    return made(request.param, empty_database, embedder.encode)


def made(name: str, database: Database, embed: Embed) -> Package:
    schema = Path(__file__).with_name(f"{name}.sql")
    database.execute(schema.read_text("utf-8"))
    table, whose = {"mem0": ("mem0", "user_id="), "agno": ("ai.agno_memories", "")}[name]
    return Package(name, database, embed, table, whose)


@pytest.fixture
def mem0(empty_database: Database, embedder: SentenceEmbedder) -> Package:
    """Provide mem0's table."""
    return made("mem0", empty_database, embedder.encode)


@pytest.fixture
def agno(empty_database: Database, embedder: SentenceEmbedder) -> Package:
    """Provide agno's tables."""
    return made("agno", empty_database, embedder.encode)


def test_a_users_night_merges_and_undo_restores_every_row(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    package.tell("eva", TWINS[0])
    before = package.rows()
    planned = package.night(cli, "ravi", "--dry-run")
    assert package.rows() == before
    done = package.night(cli, "ravi")
    assert [proposal["id"] for proposal in done["proposals"]] == [
        proposal["id"] for proposal in planned["proposals"]
    ]
    assert [proposal["state"] for proposal in done["proposals"]] == ["applied"] * 2
    assert len(package.texts("ravi")) == 3
    assert package.texts("eva") == [TWINS[0]]
    after, mirrors = package.rows(), package.database.mirrors()
    assert package.night(cli, "ravi")["proposals"] == []
    assert (package.rows(), package.database.mirrors()) == (after, mirrors)
    assert cli("undo", package.of("ravi"), done["run"]).code == 0
    assert package.rows() == before


def test_a_forgotten_text_leaves_rows_and_mirror(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    package.tell("eva", TWINS[0])
    package.night(cli, "ravi")
    assert cli("forget", package.of("ravi"), "--matching", "port 8080", "--yes").code == 0
    assert package.texts("ravi") == sorted(TWINS[3:])
    assert package.texts("eva") == [TWINS[0]]
    assert all(b"port 8080" not in mirror for _, mirror, _ in package.database.mirrors())
    assert package.night(cli, "ravi")["proposals"] == []


def test_a_text_grows_in_its_row(package: Package, cli: Cli, scripted: tuple[str, ...]) -> None:
    texts = of_one_thing()
    package.tell("ravi", *texts)
    before = package.rows()
    first = package.night(cli, "ravi", *scripted)
    (ours,) = package.texts("ravi")
    assert ours not in texts
    told = package.rows()
    package.tell("ravi", *more_of_it(), first=len(texts))
    with unchanged(package.rows):
        second = package.night(cli, "ravi", *scripted)
        (fuller,) = package.texts("ravi")
        assert len(fuller) > len(ours)
        assert cli("undo", package.of("ravi"), second["run"]).code == 0
    package.database.execute(
        f"DELETE FROM {package.table} m WHERE to_jsonb(m)::text <> ALL(%s)",
        [row for (row,) in told],
    )
    assert cli("undo", package.of("ravi"), first["run"]).code == 0
    assert package.rows() == before


def test_a_new_row_of_mem0_has_the_hash_vector_and_ids_that_the_package_gives(
    mem0: Package, cli: Cli, scripted: tuple[str, ...], embedder: SentenceEmbedder
) -> None:
    mem0.tell("ravi", *each_adding_something(), agent_id="a=1", category="work")
    before = [json.loads(row)["payload"] for (row,) in mem0.rows()]
    mem0.night(cli, "ravi", *scripted)
    ((row,),) = mem0.rows()
    payload = json.loads(row)["payload"]
    (expected,) = embedder.encode([payload["data"]])
    vector = json.loads(json.loads(row)["vector"])
    assert vector == pytest.approx(expected.tolist(), abs=1e-6)
    assert payload.pop("hash") == _md5(payload["data"])
    assert payload.pop("text_lemmatized") == payload.pop("data")
    assert payload == {
        "user_id": "ravi",
        "agent_id": "a=1",
        "category": "work",
        "slowwave": True,
        "created_at": max(item["created_at"] for item in before),
        "updated_at": max(item["updated_at"] for item in before),
    }


APART: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "agents": ({"agent_id": "a1"}, {"agent_id": "a2"}),
    "sessions": ({"run_id": "r1"}, {}),
    "speakers": ({"actor_id": "ann"}, {"actor_id": "bo"}),
    "an end": ({}, {"expiration_date": "2099-01-01"}),
    "what an agent did": ({}, {"memory_type": "procedural_memory"}),
}


@pytest.mark.parametrize("case", APART)
def test_mem0_memories_kept_apart_are_not_joined(case: str, mem0: Package, cli: Cli) -> None:
    for number, more in enumerate(APART[case]):
        mem0.tell("ravi", TWINS[number], first=number, **more)
    with unchanged(mem0.rows):
        assert mem0.night(cli, "ravi")["proposals"] == []


def test_memories_of_an_agent_without_a_user_are_a_tenant_of_mem0(mem0: Package, cli: Cli) -> None:
    mem0.tell("", *TWINS, agent_id="helper")
    ended = cli("maintain", mem0.database.url, "--dry-run", "--json")
    assert ended.json["file"].endswith("#agent_id=helper")
    assert len(ended.json["proposals"]) == 2


def test_a_new_row_of_agno_has_topics(agno: Package, cli: Cli, scripted: tuple[str, ...]) -> None:
    texts = each_adding_something()
    agno.tell("ravi", *texts)
    agno.night(cli, "ravi", *scripted)
    ((row,),) = agno.rows()
    new = json.loads(row)
    assert new.pop("memory_id").startswith("slowwave-")
    assert set(new.pop("topics")) == {f"t{number}" for number in range(len(texts))}
    assert new.pop("memory") not in texts
    told = 1_772_000_000 + (len(texts) - 1) * 86_400
    nothing = dict.fromkeys(("feedback", "input", "team_id"))
    assert new == {"user_id": "ravi", "agent_id": "a1", "created_at": told, "updated_at": told} | (
        nothing
    )


def test_rows_of_nobody_or_another_form_are_left_alone_in_agno(agno: Package, cli: Cli) -> None:
    agno.tell("ravi", *TWINS[:2])
    agno.tell("x", *TWINS[:2], user_id=None)
    agno.database.execute(
        "INSERT INTO ai.agno_memories (memory_id, memory, user_id, created_at) "
        "VALUES ('o', '{\"likes\": 1}', 'ravi', 1)"
    )
    agno.night(cli, "ravi")
    assert len(agno.rows()) == 4


# Columns that a table's owner adds: computed, numbered by the database, of any name.
OWN_COLUMNS = {
    "computed": "ADD noted numeric DEFAULT 1.10, "
    "ADD length int GENERATED ALWAYS AS (length({said})) STORED",
    "numbered": "ADD number int GENERATED ALWAYS AS IDENTITY",
    "any name": ", ".join(
        f"ADD {Identifier(name).as_string()} text DEFAULT 'kept'"
        for name in ("100%", "%s", '"%(x)s" "', "order; --")
    ),
}


@pytest.mark.parametrize("columns", OWN_COLUMNS)
def test_undo_restores_columns_of_an_owner(columns: str, package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    said = "payload ->> 'data'" if package.name == "mem0" else "memory #>> '{}'"
    added = OWN_COLUMNS[columns].replace("{said}", said)
    package.database.execute(f"ALTER TABLE {package.table} {added}")
    with unchanged(package.rows):
        done = package.night(cli, "ravi")
        assert len(package.rows()) == 3
        assert cli("undo", package.of("ravi"), done["run"]).code == 0


def test_a_table_or_schema_may_have_any_name(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    _, _, table = package.table.rpartition(".")
    package.database.execute('CREATE SCHEMA "100%s"')
    package.database.execute(f'ALTER TABLE {package.table} SET SCHEMA "100%s"')
    moved = replace(package, table=f'"100%s".{table}')
    url = package.of("ravi").replace("?", "?options=-csearch_path%3D%22100%25s%22,public&")
    with unchanged(moved.rows):
        ended = cli("maintain", url, "--format", package.name, "--json").ends(0)
        assert len(moved.rows()) == 3
        assert cli("undo", url, ended.json["run"]).code == 0


def test_a_new_row_with_the_id_prevents_undo(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    before = package.rows()
    done = package.night(cli, "ravi")
    after = package.rows()
    (gone, *_) = [row for row in before if row not in after]
    package.database.execute(
        f"INSERT INTO {package.table} "
        f"SELECT * FROM jsonb_populate_record(NULL::{package.table}, %s)",
        gone[0].replace("8080", "9090").replace("second", "third"),
    )
    there, mirrors = package.rows(), package.database.mirrors()
    cli("undo", package.of("ravi"), done["run"]).ends(1, "There is now another row")
    assert (package.rows(), package.database.mirrors()) == (there, mirrors)


UNKNOWN: dict[str, tuple[str, str, str]] = {
    "a payload that is text": (
        "mem0",
        "DROP INDEX mem0_text_lemmatized_idx; "
        "ALTER TABLE mem0 ALTER payload TYPE json USING payload::json",
        "as mem0 2.2.1 creates it",
    ),
    "two collections": (
        "mem0",
        "CREATE TABLE other (LIKE mem0)",
        "several tables of mem0's pgvector store: public.mem0, public.other",
    ),
    "memories that are text": (
        "agno",
        "ALTER TABLE ai.agno_memories ALTER memory TYPE text",
        "The table agno_memories is expected",
    ),
    "two schemas": (
        "agno",
        "CREATE TABLE agno_memories (LIKE ai.agno_memories)",
        "several tables of agno's PostgresDb",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_schema_that_is_not_known_is_refused_and_nothing_is_written(
    case: str, empty_database: Database, cli: Cli, embedder: SentenceEmbedder
) -> None:
    name, change, said = UNKNOWN[case]
    package = made(name, empty_database, embedder.encode)
    package.tell("ravi", *TWINS)
    empty_database.execute(change)
    with unchanged(package.rows):
        for dry_run in ((), ("--dry-run",)):
            cli("maintain", package.of("ravi"), "--format", name, *dry_run).ends(10, said)
    assert empty_database.rows("SELECT to_regclass('slowwave_mirrors')") == [(None,)]


def test_tables_of_entities_and_telemetry_are_not_collections(mem0: Package, cli: Cli) -> None:
    for name in ("mem0_entities", "mem0migrations"):
        mem0.database.execute(f"CREATE TABLE {name} (LIKE mem0)")
    mem0.tell("ravi", *TWINS)
    assert len(mem0.night(cli, "ravi")["proposals"]) == 2


def test_a_schema_in_the_url_says_which_of_two_is_meant(agno: Package, cli: Cli) -> None:
    agno.database.execute("CREATE TABLE agno_memories (LIKE ai.agno_memories)")
    agno.tell("ravi", *TWINS)
    url = agno.of("ravi").replace("#", "&options=-csearch_path%3Dai#")
    ended = cli("maintain", url, "--format", "agno", "--dry-run", "--json")
    assert len(ended.json["proposals"]) == 2


def test_tenants_do_not_mix(empty_database: Database, cli: Cli, embedder: SentenceEmbedder) -> None:
    """The names of their tenants may be the same."""
    agno, mem0 = (made(name, empty_database, embedder.encode) for name in ("agno", "mem0"))
    agno.tell("user_id=ravi", *TWINS)
    mem0.tell("ravi", *TWINS)
    cli("maintain", mem0.of("ravi"), "--dry-run").ends(2, "may be mem0 or agno")
    mem0.night(cli, "ravi")
    # The one that has a mirror is meant from then on.
    assert cli("maintain", mem0.of("ravi"), "--json").json["proposals"] == []
    assert len(agno.night(cli, "user_id=ravi")["proposals"]) == 2
    assert len(empty_database.mirrors()) == 2
    assert len(mem0.texts("ravi")) == len(agno.texts("user_id=ravi")) == 3


def test_a_schema_of_agno_that_is_newer_than_the_one_tried_is_said(agno: Package, cli: Cli) -> None:
    agno.tell("ravi", *TWINS)
    agno.database.execute("UPDATE ai.agno_schema_versions SET version = '4.0.0'")
    ended = cli("maintain", agno.of("ravi"), "--format", "agno", "--dry-run")
    assert ended.code == 0
    assert "schema 4 of agno, newer than 3" in ended.err


def test_a_fleet_has_a_night_for_each_user(package: Package, cli: Cli, tmp_path: Path) -> None:
    for user in ("ann", "bo"):
        package.tell(user, *TWINS)
    fleet = ("fleet", "maintain", package.database.url, "--workers", 1)
    command = (*fleet, "--format", package.name, "--receipts", tmp_path, "--json")
    cli(*command).ends(0)
    assert [len(package.texts(user)) for user in ("ann", "bo")] == [3, 3]
    with unchanged(package.rows):
        assert cli(*command).code == 0


def test_the_formats_of_databases_are_listed_and_named_in_help(cli: Cli) -> None:
    names = [database["name"] for database in cli("formats", "--json").json["databases"]]
    assert names == FORMATS_OF_DATABASES.split(", ")
    shown = cli("formats").out
    assert all(f"{kind.name:<18} {kind.about}" in shown for kind in database_formats().values())
