"""Tables of LangGraph, mem0 and agno in PostgreSQL: runs over a tenant, and their undo."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli
from databases import TWINS, Database, Embed, empty_database, server
from nights import each_adding_something, more_of_it, of_one_thing, unchanged
from psycopg.sql import Identifier

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.postgres.place import FORMATS_OF_DATABASES, database_formats

__all__ = ["empty_database", "server"]  # fixtures, asked for by name


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Package:
    """A package's table in a database, filled as the package does."""

    name: str
    database: Database
    embed: Embed
    table: str
    # What precedes a user's name in that of a tenant.
    prefix: str

    def tell(self, user: str, *texts: str, first: int = 0, **more: Any) -> None:
        add = getattr(self, f"_add_to_{self.name}")
        for number, text in enumerate(texts, first):
            add(user, number, text, more)

    def _add_to_langgraph(self, user: str, number: int, text: str, more: dict[str, Any]) -> None:
        value = {"content": text} | more
        self.database.put(f"{self.prefix}{user}", f"m{number}", value, self.embed)

    def _add_to_mem0(self, user: str, number: int, text: str, more: dict[str, Any]) -> None:
        now = f"2026-03-{number + 1:02d}T09:00:00.000000+00:00"
        data = {"data": text, "text_lemmatized": text, "hash": _md5(text)}
        payload = {"user_id": user, **data, "created_at": now, "updated_at": now, **more}
        (vector,) = self.embed([text])
        self.database.execute(
            "INSERT INTO mem0 VALUES (%s, %s, %s)",
            str(uuid.uuid5(uuid.NAMESPACE_OID, f"{user} {number}")),
            str(vector.tolist()),
            json.dumps(payload),
        )

    def _add_to_agno(self, user: str, number: int, text: str, more: dict[str, Any]) -> None:
        now = 1_772_000_000 + number * 86_400
        row = {"memory_id": f"{user}-{number}", "memory": text, "user_id": user, "agent_id": "a1"}
        row |= {"created_at": now, "updated_at": now, "topics": [f"t{number}"], **more}
        self.insert(json.dumps(row))

    def insert(self, row: str) -> None:
        """Insert a row that is given as JSON."""
        self.database.execute(
            f"INSERT INTO {self.table} SELECT * FROM jsonb_populate_record(NULL::{self.table}, %s)",
            row,
        )

    def url_of(self, user: str) -> str:
        return self.database.url_of(f"{self.prefix}{user}")

    def stored(self) -> list[tuple[Any, ...]]:
        return self.database.rows(f"SELECT to_jsonb(m)::text FROM {self.table} m ORDER BY 1")

    def texts(self, user: str) -> list[str]:
        """Return what the package would find of a user."""
        content = {
            "langgraph": lambda row: (row["prefix"], row["value"]["content"]),
            "mem0": lambda row: (f"user_id={row['payload']['user_id']}", row["payload"]["data"]),
            "agno": lambda row: (row["user_id"], row["memory"]),
        }[self.name]
        contents = [content(json.loads(row)) for (row,) in self.stored()]
        return sorted(text for tenant, text in contents if tenant == f"{self.prefix}{user}")

    def night(self, cli: Cli, user: str, *more: str) -> dict[str, Any]:
        command = ("maintain", self.url_of(user), "--format", self.name, "--json")
        return dict(cli(*command, *more).ends(0).json)


PLACES = {
    "langgraph": ("store", "memories."),
    "mem0": ("mem0", "user_id="),
    "agno": ("ai.agno_memories", ""),
}
# The column of a text, in SQL.
TEXT_IN = {
    "langgraph": "value ->> 'content'",
    "mem0": "payload ->> 'data'",
    "agno": "memory #>> '{}'",
}


@pytest.fixture(params=PLACES)
def package(
    request: pytest.FixtureRequest, empty_database: Database, embedder: SentenceEmbedder
) -> Package:
    """Provide the tables of a package, with nothing in them."""
    return package_in(request.param, empty_database, embedder.encode)


def package_in(name: str, database: Database, embed: Embed) -> Package:
    database.execute(Path(__file__).with_name(f"{name}.sql").read_text("utf-8"))
    return Package(name, database, embed, *PLACES[name])


@pytest.fixture
def mem0(empty_database: Database, embedder: SentenceEmbedder) -> Package:
    """Provide mem0's table."""
    return package_in("mem0", empty_database, embedder.encode)


@pytest.fixture
def agno(empty_database: Database, embedder: SentenceEmbedder) -> Package:
    """Provide agno's tables."""
    return package_in("agno", empty_database, embedder.encode)


def test_a_users_duplicates_are_merged_and_undo_restores_them(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    package.tell("eva", TWINS[0])
    with unchanged(package.stored):
        plans = [package.night(cli, "ravi", "--dry-run") for _ in "12"]
    assert plans[0] == plans[1]
    assert package.database.rows("SELECT to_regclass('slowwave_mirrors')") == [(None,)]
    with unchanged(package.stored):
        done = package.night(cli, "ravi")
        assert [proposal["id"] for proposal in done["proposals"]] == [
            proposal["id"] for proposal in plans[0]["proposals"]
        ]
        assert [proposal["state"] for proposal in done["proposals"]] == ["applied"] * 2
        assert len(package.texts("ravi")) == 3
        assert package.texts("eva") == [TWINS[0]]
        with unchanged(lambda: (package.stored(), package.database.mirrors())):
            assert package.night(cli, "ravi")["proposals"] == []
        assert cli("undo", package.url_of("ravi"), done["run"]).code == 0


def test_forget_deletes_a_text_from_rows_and_mirror(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    package.tell("eva", TWINS[0])
    package.night(cli, "ravi")
    assert b"port 8080" in package.database.mirrors()[0][1]
    forget = ("forget", package.url_of("ravi"), "--matching", "port 8080")
    assert len(cli(*forget, "--dry-run", "--json").json["memories"]) == 2
    assert cli(*forget, "--yes").code == 0
    assert package.texts("ravi") == sorted(TWINS[3:])
    assert package.texts("eva") == [TWINS[0]]
    assert not [row for (row,) in package.stored() if "8080" in row and "eva" not in row]
    assert all(b"port 8080" not in mirror for _, mirror, _ in package.database.mirrors())
    assert package.night(cli, "ravi")["proposals"] == []
    assert cli("check", package.url_of("ravi")).code == 0


def test_a_text_grows_in_its_row(package: Package, cli: Cli, scripted: tuple[str, ...]) -> None:
    texts = of_one_thing()
    package.tell("ravi", *texts)
    before = package.stored()
    first = package.night(cli, "ravi", *scripted)
    (derived,) = package.texts("ravi")
    assert derived not in texts
    rows = package.stored()
    package.tell("ravi", *more_of_it(), first=len(texts))
    with unchanged(package.stored):
        second = package.night(cli, "ravi", *scripted)
        (extended,) = package.texts("ravi")
        assert len(extended) > len(derived)
        assert cli("undo", package.url_of("ravi"), second["run"]).code == 0
    package.database.execute(
        f"DELETE FROM {package.table} m WHERE to_jsonb(m)::text <> ALL(%s)",
        [row for (row,) in rows],
    )
    assert cli("undo", package.url_of("ravi"), first["run"]).code == 0
    assert package.stored() == before


def test_a_new_row_of_mem0_has_the_hash_vector_and_ids_of_the_package(
    mem0: Package, cli: Cli, scripted: tuple[str, ...], embedder: SentenceEmbedder
) -> None:
    mem0.tell("ravi", *each_adding_something(), agent_id="a=1", category="work")
    before = [json.loads(row)["payload"] for (row,) in mem0.stored()]
    mem0.night(cli, "ravi", *scripted)
    ((row,),) = mem0.stored()
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


KEPT_APART: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "agents": ({"agent_id": "a1"}, {"agent_id": "a2"}),
    "sessions": ({"run_id": "r1"}, {}),
    "speakers": ({"actor_id": "ann"}, {"actor_id": "bo"}),
    "an end": ({}, {"expiration_date": "2099-01-01"}),
    "what an agent did": ({}, {"memory_type": "procedural_memory"}),
}


@pytest.mark.parametrize("case", KEPT_APART)
def test_mem0_memories_kept_apart_are_not_merged(case: str, mem0: Package, cli: Cli) -> None:
    for number, more in enumerate(KEPT_APART[case]):
        mem0.tell("ravi", TWINS[number], first=number, **more)
    with unchanged(mem0.stored):
        assert mem0.night(cli, "ravi")["proposals"] == []


def test_an_agent_without_a_user_is_a_tenant_of_mem0(mem0: Package, cli: Cli) -> None:
    mem0.tell("", *TWINS, agent_id="helper")
    ended = cli("maintain", mem0.database.url, "--dry-run", "--json")
    assert ended.json["file"].endswith("#agent_id=helper")
    assert len(ended.json["proposals"]) == 2


def test_a_new_row_of_agno_has_topics(agno: Package, cli: Cli, scripted: tuple[str, ...]) -> None:
    texts = each_adding_something()
    agno.tell("ravi", *texts)
    agno.night(cli, "ravi", *scripted)
    ((row,),) = agno.stored()
    new = json.loads(row)
    assert new.pop("memory_id").startswith("slowwave-")
    assert set(new.pop("topics")) == {f"t{number}" for number in range(len(texts))}
    assert new.pop("memory") not in texts
    latest = 1_772_000_000 + (len(texts) - 1) * 86_400
    nulls = dict.fromkeys(("feedback", "input", "team_id"))
    times = {"created_at": latest, "updated_at": latest}
    assert new == {"user_id": "ravi", "agent_id": "a1"} | times | nulls


def test_agno_rows_without_user_or_of_another_form_are_left_alone(agno: Package, cli: Cli) -> None:
    agno.tell("ravi", *TWINS[:2])
    agno.tell("x", *TWINS[:2], user_id=None)
    agno.database.execute(
        "INSERT INTO ai.agno_memories (memory_id, memory, user_id, created_at) "
        "VALUES ('o', '{\"likes\": 1}', 'ravi', 1)"
    )
    agno.night(cli, "ravi")
    assert len(agno.stored()) == 4


# Columns that a table's owner adds: computed, numbered by the database, of any name.
OWN_COLUMNS = {
    "computed": "ADD noted numeric DEFAULT 1.10, "
    "ADD length int GENERATED ALWAYS AS (length({text})) STORED",
    "numbered": "ADD number int GENERATED ALWAYS AS IDENTITY",
    "any name": ", ".join(
        f"ADD {Identifier(name).as_string()} text DEFAULT 'kept'"
        for name in ("100%", "%s", '"%(x)s" "', "order; --")
    ),
}


@pytest.mark.parametrize("package", ["mem0", "agno"], indirect=True)
@pytest.mark.parametrize("columns", OWN_COLUMNS)
def test_undo_restores_columns_the_owner_added(columns: str, package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    added = OWN_COLUMNS[columns].replace("{text}", TEXT_IN[package.name])
    package.database.execute(f"ALTER TABLE {package.table} {added}")
    with unchanged(package.stored):
        done = package.night(cli, "ravi")
        assert len(package.texts("ravi")) == 3
        assert cli("undo", package.url_of("ravi"), done["run"]).code == 0


@pytest.mark.parametrize("package", ["mem0", "agno"], indirect=True)
def test_a_table_or_schema_may_have_any_name(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    _, _, table = package.table.rpartition(".")
    package.database.execute('CREATE SCHEMA "100%s"')
    package.database.execute(f'ALTER TABLE {package.table} SET SCHEMA "100%s"')
    moved = replace(package, table=f'"100%s".{table}')
    url = package.url_of("ravi").replace("?", "?options=-csearch_path%3D%22100%25s%22,public&")
    with unchanged(moved.stored):
        ended = cli("maintain", url, "--format", package.name, "--json").ends(0)
        assert len(moved.stored()) == 3
        assert cli("undo", url, ended.json["run"]).code == 0


def test_a_new_row_with_the_key_of_a_deleted_row_prevents_undo(package: Package, cli: Cli) -> None:
    package.tell("ravi", *TWINS)
    before = package.stored()
    done = package.night(cli, "ravi")
    after = package.stored()
    (gone, *_) = [row for (row,) in before if (row,) not in after]
    package.insert(gone.replace("8080", "9090").replace("second", "third"))
    with unchanged(lambda: (package.stored(), package.database.mirrors())):
        cli("undo", package.url_of("ravi"), done["run"]).ends(1, "now", "another")


UNKNOWN_SCHEMAS: dict[str, tuple[str, str, str]] = {
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


@pytest.mark.parametrize("case", UNKNOWN_SCHEMAS)
def test_an_unknown_schema_is_refused(
    case: str, empty_database: Database, cli: Cli, embedder: SentenceEmbedder
) -> None:
    name, change, message = UNKNOWN_SCHEMAS[case]
    package = package_in(name, empty_database, embedder.encode)
    package.tell("ravi", *TWINS)
    empty_database.execute(change)
    with unchanged(package.stored):
        for dry_run in ((), ("--dry-run",)):
            cli("maintain", package.url_of("ravi"), "--format", name, *dry_run).ends(10, message)
    assert empty_database.rows("SELECT to_regclass('slowwave_mirrors')") == [(None,)]


def test_tables_of_entities_and_telemetry_are_not_collections(mem0: Package, cli: Cli) -> None:
    for name in ("mem0_entities", "mem0migrations"):
        mem0.database.execute(f"CREATE TABLE {name} (LIKE mem0)")
    mem0.tell("ravi", *TWINS)
    assert len(mem0.night(cli, "ravi")["proposals"]) == 2


def test_a_schema_in_the_url_chooses_between_two(agno: Package, cli: Cli) -> None:
    agno.database.execute("CREATE TABLE agno_memories (LIKE ai.agno_memories)")
    agno.tell("ravi", *TWINS)
    url = agno.url_of("ravi").replace("#", "&options=-csearch_path%3Dai#")
    ended = cli("maintain", url, "--format", "agno", "--dry-run", "--json")
    assert len(ended.json["proposals"]) == 2


def test_tenants_of_two_packages_in_a_database_do_not_mix(
    empty_database: Database, cli: Cli, embedder: SentenceEmbedder
) -> None:
    agno, mem0 = (package_in(name, empty_database, embedder.encode) for name in ("agno", "mem0"))
    agno.tell("user_id=ravi", *TWINS)
    mem0.tell("ravi", *TWINS)
    cli("maintain", mem0.url_of("ravi"), "--dry-run").ends(2, "may be mem0 or agno")
    mem0.night(cli, "ravi")
    # From then on, the name is that of the tenant with a mirror.
    assert cli("maintain", mem0.url_of("ravi"), "--json").json["proposals"] == []
    assert len(agno.night(cli, "user_id=ravi")["proposals"]) == 2
    assert len(empty_database.mirrors()) == 2
    assert len(mem0.texts("ravi")) == len(agno.texts("user_id=ravi")) == 3


def test_a_newer_schema_of_agno_has_a_warning(agno: Package, cli: Cli) -> None:
    agno.tell("ravi", *TWINS)
    agno.database.execute("UPDATE ai.agno_schema_versions SET version = '4.0.0'")
    preview = ("maintain", agno.url_of("ravi"), "--format", "agno", "--dry-run")
    cli(*preview).ends(0, "schema 4 of agno, newer than 3")


def test_a_fleet_maintains_each_user(package: Package, cli: Cli, tmp_path: Path) -> None:
    for user in ("ann", "bo"):
        package.tell(user, *TWINS)
    fleet = ("fleet", "maintain", package.database.url, "--workers", 1)
    command = (*fleet, "--format", package.name, "--receipts", tmp_path, "--json")
    cli(*command).ends(0)
    assert [len(package.texts(user)) for user in ("ann", "bo")] == [3, 3]
    with unchanged(package.stored):
        assert cli(*command).code == 0


def test_formats_lists_the_formats_of_databases(cli: Cli) -> None:
    names = [database["name"] for database in cli("formats", "--json").json["databases"]]
    assert names == FORMATS_OF_DATABASES.split(", ")
    shown = cli("formats").out
    assert all(f"{kind.name:<18} {kind.about}" in shown for kind in database_formats().values())
