"""LangGraph's store in PostgreSQL: rows and vectors, leases, kills, and passwords in URLs."""

from __future__ import annotations

import json
import pickle
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from answerers import answers_to, joined_once_by
from cli_calls import Cli
from commands import setting
from databases import TWINS, Database, Server, database, empty_database, server
from model_nights import Agent, joined_once
from model_server import answering, approval
from nights import each_adding_something, more_of_it, of_one_thing, rows, unchanged
from nights import night as a_night

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.postgres.connection import connected, transaction
from slowwave.extensions.postgres.langgraph import PostgresStore
from slowwave.extensions.postgres.lease import Lease
from slowwave.extensions.postgres.mirror import TenantMirror
from slowwave.extensions.postgres.url import DatabaseUrl
from slowwave.store.errors import FileHeld, StoreError

__all__ = ["database", "empty_database", "server"]  # fixtures, asked for by name

RAVI = "memories.ravi"
NIGHT = ("maintain", "--format", "langgraph", "--json")
PROFILE = {"name": "Ravi", "content": {"likes": ["tea"]}}


@pytest.fixture
def filled(database: Database) -> Database:
    """Provide a store with two tenants, and a profile among the memories."""
    database.tell(RAVI, *TWINS)
    database.put(RAVI, "s0", {"kind": "Memory", "content": {"content": "Ravi prefers tea"}})
    database.put(RAVI, "profile", PROFILE)
    database.tell("memories.eva", TWINS[0])
    return database


def night(cli: Cli, url: str, *model: str) -> dict[str, Any]:
    return dict(cli(*NIGHT, url, *model).ends(0).json)


def mirror_of(database: Database) -> TenantMirror:
    return TenantMirror.of(DatabaseUrl.parse(database.url_of(RAVI)), PostgresStore())


def test_nested_contents_are_merged_and_profiles_are_not(filled: Database, cli: Cli) -> None:
    with unchanged(filled.store):
        done = night(cli, filled.url_of(RAVI))
        assert [proposal["state"] for proposal in done["proposals"]] == ["applied"] * 3
        values = dict(filled.rows("SELECT key, value FROM store WHERE prefix = %s", RAVI))
        assert (len(values), values["profile"]) == (4, PROFILE)
        assert cli("undo", filled.url_of(RAVI), done["run"]).code == 0


def test_the_mirror_keeps_an_agents_answers(filled: Database, tmp_path: Path, cli: Cli) -> None:
    filled.tell(RAVI, *TWINS, *each_adding_something())
    before, url, answers = filled.store(), filled.url_of(RAVI), tmp_path / "answers.jsonl"
    reply = cli("questions", url, "--json").json
    kinds = []
    while reply["questions"]:
        assert filled.store() == before
        kinds += [question["kind"] for question in reply["questions"]]
        answers.write_text(answers_to(reply["questions"], joined_once_by), "utf-8")
        reply = cli("answer", url, answers, "--format", "langgraph", "--json").ends(0).json
    assert kinds[:2] == ["write", "check"]
    assert cli("undo", url, reply["night"]["run"]).code == 0
    assert filled.store() == before


def test_a_new_row_has_the_vectors_that_langgraph_would_compute(
    database: Database, cli: Cli, scripted: tuple[str, ...], embedder: SentenceEmbedder
) -> None:
    database.tell(RAVI, *each_adding_something(), embed=embedder.encode)
    before = database.store()
    done = night(cli, database.url_of(RAVI), *scripted)
    ((key, value, created),) = database.rows(
        "SELECT key, value, created_at FROM store WHERE prefix = %s", RAVI
    )
    assert value.keys() == {"content"}
    assert created == max(row[3] for row in before if len(row) == 7)
    stored = dict(
        database.rows("SELECT field_name, embedding::text FROM store_vectors WHERE key = %s", key)
    )
    whole = json.dumps(value, sort_keys=True, ensure_ascii=False)
    for field, text in {"$": whole, "content": value["content"]}.items():
        (expected,) = embedder.encode([text])
        assert json.loads(stored.pop(field)) == pytest.approx(expected.tolist(), abs=1e-6)
    assert stored == {}
    assert night(cli, database.url_of(RAVI), *scripted)["proposals"] == []
    assert cli("undo", database.url_of(RAVI), done["run"]).code == 0
    assert database.store() == before


def test_a_row_that_a_later_run_extends_gets_a_new_vector(
    database: Database, cli: Cli, scripted: tuple[str, ...], embedder: SentenceEmbedder
) -> None:
    database.tell(RAVI, *of_one_thing(), embed=embedder.encode)
    night(cli, database.url_of(RAVI), *scripted)
    for number, text in enumerate(more_of_it()):
        database.put(RAVI, f"n{number}", {"content": text}, embedder.encode)
    own_rows = "SELECT key FROM store WHERE key LIKE 'slowwave-%'"
    with unchanged(database.store):
        (key,) = database.rows(own_rows)
        second = night(cli, database.url_of(RAVI), *scripted)
        assert database.rows(own_rows) == [key]
        ((vector,),) = database.rows(
            "SELECT embedding::text FROM store_vectors WHERE key = %s AND field_name = 'content'",
            *key,
        )
        (expected,) = embedder.encode(database.texts(RAVI))
        assert json.loads(vector) == pytest.approx(expected.tolist(), abs=1e-6)
        assert cli("undo", database.url_of(RAVI), second["run"]).code == 0


def test_a_store_with_vectors_of_another_model_gets_only_merges(
    database: Database, cli: Cli, scripted: tuple[str, ...], embedder: SentenceEmbedder
) -> None:
    def encode_otherwise(texts: list[str]) -> Any:
        return -embedder.encode(texts)[:, ::-1]

    database.tell(RAVI, *of_one_thing(), *TWINS, embed=encode_otherwise)
    ended = cli(*NIGHT, database.url_of(RAVI), *scripted)
    assert {proposal["operation"] for proposal in ended.json["proposals"]} == {"merge"}
    assert "not those of all-MiniLM-L6-v2" in ended.err
    assert database.rows("SELECT 1 FROM store WHERE key LIKE 'slowwave-%'") == []


def test_concurrent_writes_stay(database: Database, cli: Cli, embedder: SentenceEmbedder) -> None:
    database.tell(RAVI, *TWINS, embed=embedder.encode)
    put: dict[str, str] = {}
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            key, text = f"w{number % 7}", f"Shed {number} holds the lamps of pier {number}."
            database.put(RAVI, key, {"content": text})
            put[key] = text

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            codes = {
                cli("maintain", "--format", "langgraph", "--quiet", database.url_of(RAVI)).code
                for _ in range(3)
            }
        finally:
            ended.set()
        writer.result()
    assert codes <= {0, 3}
    texts = database.texts(RAVI)
    assert put.keys() == {f"w{number}" for number in range(7)}
    assert set(put.values()) <= set(texts)
    assert len([text for text in texts if text.startswith("Billing")]) == 1


def test_a_source_changed_late_makes_a_proposal_stale(database: Database, agent: Agent) -> None:
    agent.server.responder = answering(joined_once, approval)
    database.tell(RAVI, *each_adding_something())
    mirror, now = mirror_of(database), datetime.now(UTC)
    with mirror.held(now):
        a_night(mirror.state, agent.embedder, writer=agent.writer())
        database.put(RAVI, "m1", {"content": "Oksana is on leave."})
        before = database.store()
        assert len(mirror.settle(now)) == 1
    assert database.store() == before


def test_a_leased_tenant_is_refused_until_it_is_released(filled: Database, cli: Cli) -> None:
    with Lease(DatabaseUrl.parse(filled.url_of(RAVI)), PostgresStore()).held():
        with unchanged(filled.store):
            cli(*NIGHT, filled.url_of(RAVI)).ends(11, "has leased")
        assert cli(*NIGHT, filled.url_of("memories.eva")).code == 0
    assert cli(*NIGHT, filled.url_of(RAVI)).code == 0


def test_a_run_locks_no_rows_while_it_lasts(filled: Database) -> None:
    with mirror_of(filled).held(datetime.now(UTC)), closing(psycopg.connect(filled.url)) as agent:
        agent.execute("SET lock_timeout = '10ms'")
        agent.execute("SELECT 1 FROM store FOR UPDATE")
        agent.execute("SELECT 1 FROM slowwave_mirrors FOR UPDATE")
        agent.rollback()


def test_a_statement_has_a_timeout(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.extensions.postgres.connection.STATEMENT_SECONDS", 1)
    url = DatabaseUrl.parse(filled.url)
    with (
        pytest.raises(StoreError, match="ended a statement: canceling statement due to"),
        connected(url) as conn,
        transaction(conn, writes=False),
    ):
        conn.execute("SELECT pg_sleep(20)")


def test_a_lease_does_not_wait_forever(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.extensions.postgres.connection._LOCK_SECONDS", 1)
    lease = Lease(DatabaseUrl.parse(filled.url_of(RAVI)), PostgresStore())
    with lease.held():
        pass
    with closing(psycopg.connect(filled.url)) as locking:
        locking.execute("LOCK TABLE slowwave_mirrors IN EXCLUSIVE MODE")
        with pytest.raises(FileHeld, match="is locked by another program"), lease.held():
            pass


def test_a_lost_lease_is_final(filled: Database, cli: Cli, embedder: SentenceEmbedder) -> None:
    mirror, now = mirror_of(filled), datetime.now(UTC)
    before = filled.store()
    with mirror.held(now):
        a_night(mirror.state, embedder)
        filled.execute(
            "UPDATE slowwave_mirrors SET lease_owner = 'another', "
            "leased_until = now() - interval '1 second'"
        )
        with pytest.raises(FileHeld, match="taken over"):
            mirror.settle(now)
    assert filled.store() == before
    assert cli(*NIGHT, filled.url_of(RAVI)).code == 0
    assert filled.store() != before


def test_a_lease_is_renewed_during_a_run(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.extensions.postgres.lease.LEASE_SECONDS", 0.6)
    lease, rival = (Lease(DatabaseUrl.parse(filled.url_of(RAVI)), PostgresStore()) for _ in "12")
    with lease.held():
        (began,) = filled.rows("SELECT leased_until FROM slowwave_mirrors")
        while filled.rows("SELECT leased_until FROM slowwave_mirrors") == [began]:
            threading.Event().wait(0.02)
        while filled.rows("SELECT 1 FROM slowwave_mirrors WHERE now() < %s", *began):
            threading.Event().wait(0.02)
        with pytest.raises(FileHeld), rival.held():
            pass
    assert filled.rows("SELECT 1 FROM slowwave_mirrors") == []


def test_reading_commands_accept_a_url_and_hide_its_password(filled: Database, cli: Cli) -> None:
    url = filled.url_of(RAVI)
    done = night(cli, url)
    (first, *_) = done["proposals"]
    (gone,) = set(first["sources"]) - {first["survivor"]}
    commands: list[tuple[object, ...]] = [
        *((name, url) for name in ("conflicts", "log", "check", "list")),
        ("show", "--lineage", url, first["survivor"]),
        ("show", url, first["survivor"]),
        ("log", url, done["run"]),
        ("export", url, "--all"),
        ("log", "--stats", url),
        ("undo", url, done["run"], "--dry-run"),
    ]
    commands += [(*command, "--json") for command in commands]
    output = json.dumps(done)
    for command in (*commands, ("undo", url, gone)):
        ended = cli(*command).ends(0)
        output += ended.out + ended.err
    assert "sesame" not in output
    assert f"/{filled.name}?host=" in output
    assert all(b"sesame" not in bytes(mirror) for _, mirror, _ in filled.mirrors())


def test_only_the_owner_may_read_pages(filled: Database, cli: Cli, tmp_path: Path) -> None:
    report, wiki = tmp_path / "night.html", tmp_path / "wiki"
    cli(*NIGHT, filled.url_of(RAVI), setting("report", report), "--wiki", wiki).ends(0)
    pages = [report, *wiki.rglob("*.md")]
    assert len(pages) > 3
    assert {stat.S_IMODE(page.stat().st_mode) for page in pages} == {0o600}
    assert not [page for page in pages if "sesame" in page.read_text()]


def test_a_row_that_was_put_again_can_be_superseded_again(filled: Database, cli: Cli) -> None:
    night(cli, filled.url_of(RAVI))
    archive = "SELECT key FROM store WHERE prefix = 'slowwave_superseded.memories.ravi' ORDER BY 1"
    archived = filled.rows(archive)
    ((key, value), *_) = filled.rows(
        "SELECT key, value FROM store WHERE prefix LIKE 'slowwave_s%%' ORDER BY 1"
    )
    filled.put(RAVI, key, value)
    with unchanged(filled.store):
        again = night(cli, filled.url_of(RAVI))
        assert [proposal["state"] for proposal in again["proposals"]] == ["applied"]
        assert len(filled.rows(archive)) == len(archived) + 1
        assert cli("undo", filled.url_of(RAVI), again["run"]).code == 0


def test_file_may_be_a_url(filled: Database, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_FILE", filled.url_of(RAVI))
    assert cli("maintain", "--dry-run", "--json").json["proposals"]


def test_a_url_must_name_one_of_several_tenants(filled: Database, cli: Cli) -> None:
    ended = cli("maintain", filled.url, "--dry-run").ends(2)
    assert f"{RAVI}." in ended.err or f"{RAVI}," in ended.err
    assert "sesame" not in ended.err
    filled.execute("DELETE FROM store WHERE prefix = 'memories.eva'")
    ended = cli("maintain", filled.url, "--dry-run", "--json")
    assert ended.json["file"].endswith(f"#{RAVI}")


def test_the_first_run_that_writes_must_name_the_format(filled: Database, cli: Cli) -> None:
    cli("maintain", filled.url_of(RAVI)).ends(2, "--format langgraph")
    night(cli, filled.url_of(RAVI))
    assert cli("maintain", filled.url_of(RAVI)).code == 0
    assert cli("maintain", filled.url_of(RAVI), "--format", "hermes").code == 2


UNUSABLE_URLS: dict[str, tuple[Callable[[Server, Database], str], str, int]] = {
    "no such database": (
        lambda server, _: server.url("nowhere") + "#a",
        'database "nowhere" does not exist',
        10,
    ),
    "no such user": (
        lambda server, database: server.url(database.name, "nobody") + f"#{RAVI}",
        'role "nobody" does not exist',
        10,
    ),
    "nobody listens": (
        lambda *_: "postgresql://u:sesame-7@127.0.0.1:9/db#a",
        "cannot be reached",
        10,
    ),
    "a URL that libpq does not take": (
        lambda *_: "postgresql://u:sesame-7%zz@h/db#a",
        "not a valid PostgreSQL URL",
        10,
    ),
    "a mark in a password": (lambda *_: "postgresql://u:ses#ame-7@h/db", "%23", 2),
    "no such tenant": (
        lambda _, database: database.url_of("memories.nobody"),
        "no memories of a tenant 'memories.nobody'",
        1,
    ),
}


@pytest.mark.parametrize("case", UNUSABLE_URLS)
def test_errors_hide_the_password(case: str, server: Server, filled: Database, cli: Cli) -> None:
    url_of, message, code = UNUSABLE_URLS[case]
    for dry_run in ((), ("--dry-run",)):
        ended = cli(*NIGHT[:-1], url_of(server, filled), *dry_run).ends(code, message)
        assert "sesame" not in ended.err
        assert "ame-7" not in ended.err
    assert filled.rows("SELECT count(*) FROM store")[0] == (8,)


def test_a_rejected_password_is_not_shown(server: Server, filled: Database, cli: Cli) -> None:
    rules = server.folder / "pg_hba.conf"
    before = rules.read_text()
    filled.execute("CREATE ROLE warden LOGIN PASSWORD 'right-one'")
    rules.write_text(f"local {filled.name} warden scram-sha-256\n{before}")
    try:
        filled.execute("SELECT pg_reload_conf()")
        filled.rows("SELECT pg_sleep(0.2)")
        ended = cli(*NIGHT, server.url(filled.name, "warden") + f"#{RAVI}")
    finally:
        rules.write_text(before)
        filled.execute("SELECT pg_reload_conf()")
        filled.execute("DROP ROLE warden")
    assert ended.code == 10
    assert "password authentication failed" in ended.err
    assert "sesame" not in ended.err


def test_a_database_without_the_tables_is_refused(filled: Database, cli: Cli) -> None:
    filled.execute("ALTER TABLE store RENAME COLUMN prefix TO namespace")
    cli(*NIGHT, filled.url_of(RAVI)).ends(10, "does not have the tables of")
    filled.execute("DROP TABLE store CASCADE")
    assert cli(*NIGHT, filled.url_of(RAVI)).code == 10


@pytest.fixture
def guest(filled: Database) -> Any:
    """Provide the URL of the tenant for a user with rights to its rows only."""
    filled.execute("CREATE ROLE guest LOGIN")
    filled.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON store, store_vectors TO guest")
    yield filled.server.url(filled.name, "guest") + f"#{RAVI}"
    filled.execute("DROP OWNED BY guest")
    filled.execute("DROP ROLE guest")


def test_row_level_security_is_refused(filled: Database, guest: str, cli: Cli) -> None:
    filled.execute("ALTER TABLE store ENABLE ROW LEVEL SECURITY")
    filled.execute("GRANT CREATE ON SCHEMA public TO guest")
    filled.execute("CREATE POLICY most ON store USING (key <> 'm0')")
    with unchanged(filled.store):
        for dry_run in ((), ("--dry-run",)):
            cli(*NIGHT, guest, *dry_run).ends(1, "row security")


def test_a_user_without_create_rights_may_preview(filled: Database, guest: str, cli: Cli) -> None:
    with unchanged(filled.store):
        assert cli(*NIGHT, guest, "--dry-run").code == 0
        cli(*NIGHT, guest).ends(1, "permission denied")


def test_a_read_only_database_can_only_be_previewed(filled: Database, cli: Cli) -> None:
    filled.execute(f"ALTER DATABASE {filled.name} SET default_transaction_read_only = on")
    try:
        assert cli(*NIGHT, filled.url_of(RAVI), "--dry-run").code == 0
        ended = cli(*NIGHT, filled.url_of(RAVI))
    finally:
        Database(filled.server, "postgres").execute(
            f"ALTER DATABASE {filled.name} RESET default_transaction_read_only"
        )
    assert ended.code == 1
    assert "read-only" in ended.err


def test_without_psycopg_the_error_has_a_hint(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    install = "pip install --require-hashes --no-deps -r locks/postgres.txt"
    cli("maintain", "postgresql://h/db#a", "--dry-run").ends(1, install)


def test_a_memory_that_is_a_url_is_stored_verbatim(memory_file: Path, cli: Cli) -> None:
    texts = [
        "postgresql://ann:sesame-7@h/db",
        "postgresql://ann:ses#ame@h/db",
        "postgresql://h/db is for billing: ask ops@example.org.",
    ]
    for text in texts:
        assert cli("add", memory_file, text, "--tag", texts[0]).code == 0
    memories = rows(memory_file, "SELECT content, tags FROM memories ORDER BY rowid")
    assert [match["content"] for match in memories] == texts
    assert {match["tags"] for match in memories} == {json.dumps([texts[0]])}


MISPLACED_URLS: list[tuple[str, ...]] = [
    ("import", "--empty", "URL"),
    ("add", "URL", "A text."),
    ("list", "own.db", "--state", "URL"),
    ("list", "own.db", "--config", "URL"),
    ("list", "URL", "--state", "x.db"),
    ("import", "own.db", "URL"),
    ("ingest", "own.db", "URL"),
    ("formats", "URL"),
    ("fleet", "report", "URL"),
    ("maintain", "own.db", "--report=URL"),
]


@pytest.mark.parametrize("command", MISPLACED_URLS, ids=" ".join)
def test_a_misplaced_url_is_refused_without_its_password(
    command: tuple[str, ...], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("import", "--empty", "own.db").code == 0
    url = "postgresql://u:sesame-7@127.0.0.1:9/db"
    ended = cli(*(item.replace("URL", url) for item in command))
    assert "sesame" not in ended.out + ended.err
    assert ended.code != 0 or command[:2] in (("list", "own.db"), ("formats", "URL"))


def test_a_lost_connection_changes_nothing(filled: Database, embedder: SentenceEmbedder) -> None:
    mirror, now = mirror_of(filled), datetime.now(UTC)
    before = filled.store()
    ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    # It waits for a row that another holds, and is ended there.
    with mirror.held(now):
        a_night(mirror.state, embedder)
        with closing(psycopg.connect(filled.url)) as agent:
            agent.execute("SELECT 1 FROM store FOR UPDATE")

            def end() -> None:
                waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                while not filled.rows(waiting):
                    threading.Event().wait(0.02)
                filled.execute(
                    f"{ending} AND application_name = 'slowwave' AND wait_event_type = 'Lock'"
                )

            ender = threading.Thread(target=end)
            ender.start()
            with pytest.raises(StoreError, match="was lost"):
                mirror.settle(now)
            ender.join()
    assert filled.store() == before
    assert filled.rows("SELECT 1 FROM slowwave_mirrors") == []


def test_a_url_hides_secrets_when_shown_and_keeps_them_when_pickled() -> None:
    text = "postgresql://ann:s3cret@h1:1,h2:2/db?sslmode=require&password=x&ssl%70assword=y#a%20b"
    url = DatabaseUrl.parse(text)
    assert str(url) == "postgresql://ann@h1:1,h2:2/db?sslmode=require#a%20b"
    assert url.tenant == "a b"
    again = pickle.loads(pickle.dumps(url))  # noqa: S301 - our own
    assert (again.conninfo, str(again)) == (text.partition("#")[0], str(url))
    assert str(DatabaseUrl.parse("postgres:///db?host=/tmp")) == "postgres:///db?host=/tmp"
    assert not url.exists()


_PARTS = 4


def killed(statement: int, *command: str) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).parent / "killing_statements.py"
    return subprocess.run(
        [sys.executable, str(script), str(statement), *command], capture_output=True, text=True
    )


@pytest.mark.parametrize("part", range(_PARTS))
def test_a_kill_at_any_statement_leaves_consistent_rows_and_mirror(
    part: int,
    database: Database,
    cli: Cli,
    embedder: SentenceEmbedder,
    scripted: tuple[str, ...],
    rounds: Callable[[int, int], int],
) -> None:
    """Kill at a late statement, with --long at every sixth, in parts that run in parallel."""
    if part and rounds(1, 0):
        pytest.skip("in make test-long")
    database.tell(RAVI, *of_one_thing(), *TWINS, embed=embedder.encode)
    before = database.store()
    command = [*NIGHT, database.url_of(RAVI), *scripted]
    ended = killed(0, *command)
    steps = int(ended.stderr.split()[-1])
    after, texts = database.store(), database.texts(RAVI)
    assert before != after
    assert database.fits_its_mirror(RAVI)
    before_the_commit = [steps - 5]
    every_sixth = range(1 + part, steps + 1, 6 * _PARTS)
    for statement in before_the_commit if rounds(1, 0) else every_sixth:
        database.execute("DROP TABLE IF EXISTS slowwave_mirrors")
        database.execute("DELETE FROM store")
        database.tell(RAVI, *of_one_thing(), *TWINS, embed=embedder.encode)
        before = database.store()
        assert killed(statement, *command).returncode == -signal.SIGKILL
        has_mirrors = database.rows("SELECT to_regclass('slowwave_mirrors')") != [(None,)]
        mirrors = database.mirrors() if has_mirrors else []
        if database.store() == before:
            assert [mirror for _, mirror, _ in mirrors] in ([], [None])
        else:
            assert database.texts(RAVI) == texts
            assert database.fits_its_mirror(RAVI)
        if has_mirrors:  # as if its lease had run out
            database.execute("UPDATE slowwave_mirrors SET leased_until = now() - interval '1s'")
        cli(*command).ends(0)
        assert len(database.texts(RAVI)) == len(texts)
        assert database.fits_its_mirror(RAVI)
        for run in reversed(cli("log", database.url_of(RAVI), "--json").json["runs"]):
            assert cli("undo", database.url_of(RAVI), run["id"]).code == 0
        assert database.store() == before
