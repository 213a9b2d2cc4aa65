"""What a whole organisation shares: published by who may, never rewritten, as it was on any day."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import copied, copy_of, of_version
from cli_calls import Cli
from commands import setting
from nights import daily, execute, fill, night, of_one_thing, picture, rows, unchanged

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.organisation.store.shared_facts import (
    WriteRequest,
    admit,
    dismiss,
    entries_until,
    publish,
    retract,
)
from slowwave.extensions.organisation.store.shared_log import read_log
from slowwave.extensions.organisation.store.shared_rules import NotAllowed
from slowwave.store.errors import StoreError
from slowwave.store.file import create_file, open_writing

PORT, MOVED = "Billing listens on port 8080.", "Billing listens on port 9090."
# The columns of the log behind its number, and its key set to that of another row.
OF_LOG = (
    "at, operation, subject, version, content, author, kind, seniority, reason, memory_id, digest"
)
KEY_OF_LOG = "subject = 'architect', version = 1"
MARCH = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a file in which a human and two agents share knowledge, made once."""
    path = tmp_path_factory.mktemp("org") / "memory.db"
    create_file(path)
    request = WriteRequest("aino", "2026-01-05T09:00:00+00:00")
    with open_writing(path) as file:
        admit(file, request, "aino", "human", None)
        admit(file, request, "architect", "agent", 5)
        admit(file, request, "coder", "agent", 2)
    return path


org = copied("founded")


class Run:
    """Runs the command on one file."""

    def __init__(self, path: Path, cli: Cli) -> None:
        self._path, self._cli = path, cli

    def __call__(self, *arguments: str, by: str, code: int = 0) -> Any:
        ended = self._cli("shared", self._path, *arguments, "--author", by, "--json")
        assert ended.code == code, ended.err
        return ended.json if code == 0 else ended.err


def facts(path: Path, cli: Cli, *more: object) -> dict[str, str]:
    found = cli("shared", path, "list", *more, "--json").json["facts"]
    return {item["fact"]: item["content"] for item in found}


def active(path: Path) -> list[dict[str, Any]]:
    return rows(
        path,
        "SELECT content, origin, pinned FROM memories "
        "WHERE tenant = 'shared' AND status = 'active'",
    )


# ---- publish, retract, and what held when ----


def test_a_fact_is_a_memory_of_the_shared_tenant_with_a_version(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    assert run("publish", "billing/port", PORT, by="coder")["entry"]["version"] == 1
    again = run("publish", "billing/port", PORT, by="coder")
    assert (again["changed"], again["entry"]["version"]) == (False, 1)
    assert run("publish", "billing/port", MOVED, by="coder")["entry"]["version"] == 2
    assert active(org) == [{"content": MOVED, "origin": "agent", "pinned": 1}]
    (earlier,) = rows(org, "SELECT * FROM memories WHERE content = ?", PORT)
    assert earlier["status"] == "superseded"
    assert cli("check", org).code == 0


def test_a_retracted_fact_holds_no_longer_and_its_log_stays(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    run("publish", "billing/port", PORT, by="coder")
    run("retract", "billing/port", "--reason", "shut down", by="coder")
    assert (facts(org, cli), active(org)) == ({}, [])
    entries = cli("shared", org, "log", "billing/port", "--json").json["entries"]
    assert [(entry["operation"], entry["version"]) for entry in entries] == [
        ("publish", 1),
        ("retract", 2),
    ]
    assert entries[1]["reason"] == "shut down"
    assert "no current fact" in run("retract", "billing/port", by="coder", code=1)
    assert run("publish", "billing/port", MOVED, by="coder")["entry"]["version"] == 3
    assert cli("check", org).code == 0


def test_what_held_on_a_day_is_shown(org: Path, cli: Cli) -> None:
    # Each fact is written as of its day, in a log of its own days.
    with open_writing(org) as file:
        start = datetime.fromisoformat(read_log(file)[-1].at)
        for days, text in ((1, PORT), (3, MOVED)):
            publish(
                file, WriteRequest("aino", (start + timedelta(days=days)).isoformat()), "port", text
            )
        retract(file, WriteRequest("aino", (start + timedelta(days=5)).isoformat()), "port")
    held = [facts(org, cli, "--as-of", (start + timedelta(days=day)).date()) for day in range(0, 7)]
    assert held[0] == held[5] == held[6] == {}
    assert held[1] == held[2] == {"port": PORT}
    assert held[3] == held[4] == {"port": MOVED}


def test_who_could_write_on_a_day_is_shown(org: Path, cli: Cli) -> None:
    with open_writing(org) as file:
        start = datetime.fromisoformat(read_log(file)[-1].at)
        dismiss(file, WriteRequest("aino", (start + timedelta(days=2)).isoformat()), "coder")

    def named(day: int) -> list[str]:
        moment = (start + timedelta(days=day)).date()
        found = cli("shared", org, "authors", "--as-of", moment, "--json").json["authors"]
        return [item["name"] for item in found]

    assert (named(-1), set(named(0)) - set(named(2))) == ([], {"coder"})
    assert "aino" in named(2)
    none = cli("shared", org, "authors", "--as-of", "2001-01-01").out
    assert none.endswith(": there are no authors as of 2001-01-01.\n")
    admitted = cli("shared", org, "log", "aino").out
    assert "admit aino, version 1: a human" in admitted


def test_a_clock_that_was_set_back_rewrites_no_history(org: Path) -> None:
    with open_writing(org) as file:
        before = read_log(file)[-1].at
        entry, _ = publish(file, WriteRequest("aino", "2001-01-01T00:00:00+00:00"), "port", PORT)
        assert entry.at == before
        assert entries_until(read_log(file), "2001-02-01") == []


# ---- who may write ----


@pytest.mark.parametrize(
    ("first", "second", "may"),
    [
        ("coder", "coder", True),
        ("coder", "architect", True),
        ("architect", "coder", False),
        ("aino", "architect", False),
        ("architect", "aino", True),
        ("coder", "peer", False),
        ("coder", "stranger", False),
    ],
)
@pytest.mark.parametrize("action", ["publish", "retract"])
def test_a_fact_is_changed_by_its_author_or_who_is_above_them(
    org: Path, cli: Cli, first: str, second: str, may: bool, action: str
) -> None:
    run = Run(org, cli)
    run("admit", "peer", "--seniority", "2", by="aino")
    run("publish", "port", PORT, by=first)
    arguments = ("port", MOVED) if action == "publish" else ("port",)
    output = run(action, *arguments, by=second, code=0 if may else 1)
    if may:
        assert facts(org, cli) == ({"port": MOVED} if action == "publish" else {})
    else:
        assert "may not" in output
        assert facts(org, cli) == {"port": PORT}


def test_what_a_human_retracted_is_not_published_again_by_an_agent(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    run("publish", "port", PORT, by="coder")
    run("retract", "port", by="aino")
    assert "may not publish" in run("publish", "port", PORT, by="coder", code=1)


def test_only_a_human_admits_and_the_last_one_stays(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    assert "only a human" in run("admit", "friend", "--seniority", "9", by="architect", code=1)
    assert "last human" in run("dismiss", "aino", by="aino", code=1)
    assert "last human" in run("admit", "aino", "--seniority", "3", by="aino", code=1)
    run("dismiss", "coder", by="aino")
    assert "it was dismissed" in run("publish", "port", PORT, by="coder", code=1)
    authors = cli("shared", org, "authors", "--json").json["authors"]
    assert [author["name"] for author in authors] == ["aino", "architect"]


def test_the_first_author_creates_the_log(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    log = "SELECT type, name FROM sqlite_schema WHERE name LIKE 'shared_%'"
    assert rows(memory_file, log) == []
    Run(memory_file, cli)("admit", "aino", "--human", by="aino")
    parts = rows(memory_file, log)
    assert len(parts) == 14
    for number, part in enumerate(parts):
        copy = copy_of(memory_file, tmp_path / f"{number}.db")
        execute(copy, f"DROP {part['type']} {part['name']}")
        problems = cli("check", copy, "--json").json["problems"]
        assert f"{part['type']} {part['name']} is missing" in [
            problem["detail"] for problem in problems
        ]


def test_the_first_is_a_human_who_admits_themselves(memory_file: Path, cli: Cli) -> None:
    run = Run(memory_file, cli)
    for arguments in (["bot", "--seniority", "9"], ["other", "--human"]):
        assert "first" in run("admit", *arguments, by="bot", code=1)
    assert "never admitted" in run("publish", "port", PORT, by="bot", code=1)
    assert cli("shared", memory_file, "log", "--json").json["entries"] == []


def test_a_tenant_that_others_filled_is_not_taken_over(memory_file: Path, cli: Cli) -> None:
    execute(memory_file, "INSERT INTO memories (content, tenant) VALUES ('x', 'shared')")
    output = Run(memory_file, cli)("admit", "aino", "--human", by="aino", code=1)
    assert "were not published" in output


# ---- nothing else gets in or out ----


def test_unpublished_facts_are_refused(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    text, lines = tmp_path / "chat.txt", tmp_path / "lines.jsonl"
    text.write_text("User: I live in Oslo.\nAssistant: Fine.\nUser: Yes.\n")
    lines.write_text('{"content": "a"}\n{"content": "b", "tenant": "shared"}\n')
    for arguments in (
        ["ingest", memory_file, text, "--tenant", "shared"],
        ["add", memory_file, "x", "--tenant", "shared"],
        ["import", memory_file, lines],
    ):
        cli(*arguments).ends(1, "only published shared facts")
    assert rows(memory_file, "SELECT id FROM memories") == []
    assert cli("import", memory_file, lines, "--skip-invalid").code == 0
    Run(memory_file, cli)("admit", "aino", "--human", by="aino")


STATEMENTS = [
    "DELETE FROM shared_log",
    "UPDATE shared_log SET content = 'x' WHERE operation = 'publish'",
    "INSERT OR REPLACE INTO shared_log SELECT * FROM shared_log WHERE sequence = 1",
    "INSERT INTO memories (content, tenant) VALUES ('x', 'shared')",
    "UPDATE memories SET content = 'x' WHERE tenant = 'shared'",
    "UPDATE memories SET tenant = 'shared' WHERE tenant = 'default'",
    "UPDATE memories SET tenant = 'default' WHERE tenant = 'shared'",
    "DELETE FROM memories WHERE tenant = 'shared'",
    # Those that replace a row delete it without firing a trigger for that.
    f"INSERT OR REPLACE INTO shared_log SELECT 6, {OF_LOG} FROM shared_log WHERE sequence = 1",
    f"REPLACE INTO shared_log SELECT 6, {OF_LOG} FROM shared_log WHERE sequence = 5",
    f"UPDATE OR REPLACE shared_log SET {KEY_OF_LOG} WHERE sequence = 1",
    "INSERT OR REPLACE INTO memories (id, content) SELECT id, 'x' FROM memories "
    "WHERE tenant = 'shared'",
    "REPLACE INTO memories (id, tenant, content, status) SELECT id, tenant, content, "
    "'archived' FROM memories WHERE tenant = 'shared'",
    "INSERT OR REPLACE INTO memories (rowid, content) SELECT rowid, 'x' FROM memories "
    "WHERE tenant = 'shared'",
    "INSERT INTO memories (id, content) SELECT id, 'x' FROM memories WHERE tenant = 'shared' "
    "ON CONFLICT (id) DO UPDATE SET access_count = 99",
    "UPDATE OR REPLACE memories SET id = "
    "(SELECT id FROM memories WHERE tenant = 'shared' AND status = 'active') "
    "WHERE tenant = 'default'",
    "UPDATE OR REPLACE memories SET rowid = "
    "(SELECT rowid FROM memories WHERE tenant = 'shared' AND status = 'active') "
    "WHERE tenant = 'default'",
]


def test_no_statement_gets_past_the_log(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    run("publish", "port", PORT, by="coder")
    run("publish", "port", MOVED, by="coder")
    fill(org, ["A memory of the agent's own."])
    before = picture(org, ("memories", "shared_log"))
    for sql in STATEMENTS:
        with pytest.raises(sqlite3.IntegrityError, match="shared knowledge"):
            execute(org, sql)
        assert picture(org, ("memories", "shared_log")) == before, sql


def test_a_fact_that_ended_does_not_come_back_as_a_row_inserted_anew(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    run("publish", "port", PORT, by="coder")
    (ended,) = rows(org, "SELECT id, content FROM memories WHERE tenant = 'shared'")
    run("publish", "port", MOVED, by="coder")
    execute(org, "DELETE FROM memories WHERE id = ?", ended["id"])
    again = "INSERT INTO memories (id, content, tenant, status) VALUES (?, ?, 'shared', ?)"
    with pytest.raises(sqlite3.IntegrityError, match="shared knowledge: what ended"):
        execute(org, again, ended["id"], PORT, "active")
    execute(org, again, ended["id"], PORT, "archived")
    assert [item["content"] for item in active(org)] == [MOVED]
    assert cli("check", org).code == 0


def test_a_log_of_an_older_file_is_kept_from_statements_that_replace_rows(tmp_path: Path) -> None:
    path = of_version(9, tmp_path)
    with open_writing(path) as file:
        request = WriteRequest("aino", "2026-01-05T09:00:00+00:00")
        admit(file, request, "aino", "human", None)
        publish(file, request, "port", PORT)
    with unchanged(picture, path, ("memories", "shared_log")):
        for sql in (
            f"REPLACE INTO shared_log SELECT 3, {OF_LOG} FROM shared_log WHERE sequence = 2",
            "REPLACE INTO memories (id, content) SELECT id, 'x' FROM memories "
            "WHERE tenant = 'shared'",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="shared knowledge"):
                execute(path, sql)


def test_what_ages_memories_passes_over_a_fact_that_holds(org: Path, cli: Cli) -> None:
    Run(org, cli)("publish", "port", PORT, by="coder")
    fill(org, ["A memory of the agent's own."])
    execute(org, "UPDATE memories SET status = 'archived'")
    assert rows(org, "SELECT content FROM memories WHERE status = 'active'") == [{"content": PORT}]


def test_a_night_leaves_the_tenant_alone(org: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    for number, text in enumerate(of_one_thing()):
        Run(org, cli)("publish", f"oncall/{number}", text, by="aino")
    fill(org, daily(of_one_thing(), "own"))
    shared = "SELECT * FROM memories WHERE tenant = 'shared' ORDER BY id"
    with unchanged(rows, org, shared):
        outcome = night(org, embedder, include_protected=True)
        assert {result.proposal.tenant for result in outcome.results} == {"default"}
    cli("maintain", org, "--tenant", "shared").ends(1, "runs do not change")
    assert cli("recall", org, "database pager", "--tenant", "shared", "--json").json["hits"]


def test_ageing_counts_nothing_of_the_shared_tenant(org: Path, cli: Cli) -> None:
    Run(org, cli)("publish", "port", PORT, by="coder")
    Run(org, cli)("publish", "port", MOVED, by="coder")
    fill(org, [f"Room {number} has {number * 3} chairs." for number in range(4)])
    asked = (
        "maintain",
        org,
        "--phase",
        "decay,limit,expire",
        setting("max_active", 2),
        setting("retain", "keep=400d"),
    )
    planned = cli(*asked, "--dry-run", "--json").json
    done = cli(*asked, "--json").json
    assert (planned["before"], planned["after"]) == (done["before"], done["after"])
    assert (done["before"]["active"], done["after"]["active"]) == (4, 2)
    assert [item["memories"] for item in done["decay"]] == [4]
    assert done["expire"]["kept"] == {}


def test_ended_facts_are_not_in_the_archive(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    run("publish", "port", PORT, by="coder")
    run("publish", "port", MOVED, by="coder")
    (earlier,) = rows(org, "SELECT id FROM memories WHERE content = ?", PORT)
    cli("undo", org, earlier["id"]).ends(1, "earlier version")
    run("retract", "port", by="coder")
    found = cli("recall", "--archived", org, "billing port", "--json").json
    assert found["hits"] == []
    for content in (PORT, MOVED):
        (ended,) = rows(org, "SELECT id FROM memories WHERE content = ?", content)
        cli("undo", org, ended["id"]).ends(1, f"with 'slowwave shared {org}'")


def test_a_log_that_was_tampered_with_is_believed_in_nothing(org: Path, cli: Cli) -> None:
    Run(org, cli)("publish", "port", PORT, by="aino")
    (trigger,) = rows(org, "SELECT sql FROM sqlite_schema WHERE name = 'shared_log_stays'")
    execute(org, "DROP TRIGGER shared_log_stays")
    execute(
        org,
        "UPDATE shared_log SET author = 'coder', kind = 'agent', seniority = 1 "
        "WHERE operation = 'publish'",
    )
    named = [found["name"] for found in cli("check", org, "--json").json["problems"]]
    assert named == ["changed schema", "damaged log"]
    execute(org, trigger["sql"])
    for arguments in (["list"], ["publish", "port", MOVED, "--author", "coder"]):
        ended = cli("shared", org, *arguments).ends(10, "entry 4")
    assert "damaged log" in cli("check", org).out
    # As it is advised there: what holds is saved, and the damage is not.
    assert f"'slowwave export {org}', without --all" in ended.err
    lines = org.with_name("lines.jsonl")
    lines.write_text(cli("export", org).out)
    saved = org.with_name("saved.db")
    assert cli("import", saved, lines).code == cli("check", saved).code == 0
    assert [item["content"] for item in active(saved)] == [PORT]


def test_export_all_carries_the_log(org: Path, tmp_path: Path, cli: Cli) -> None:
    Run(org, cli)("publish", "port", PORT, by="coder")
    lines = cli("export", org, "--all").out
    (tmp_path / "lines.jsonl").write_text(lines, "utf-8")
    assert cli("import", tmp_path / "other.db", tmp_path / "lines.jsonl").code == 0
    assert picture(tmp_path / "other.db", ("shared_log",)) == picture(org, ("shared_log",))
    assert facts(tmp_path / "other.db", cli) == {"port": PORT}
    assert cli("check", tmp_path / "other.db").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "port", PORT],
        ["publish", "port", "--author", "aino"],
        ["retract", "--author", "aino"],
        ["retract", "port", "text", "--author", "aino"],
        ["admit", "x", "--author", "aino"],
        ["admit", "x", "--human", "--seniority", "3", "--author", "aino"],
        ["publish", "port", PORT, "--author", "aino", "--as-of", "2026-01-01"],
        ["list", "--as-of", "yesterday"],
        ["list", "port"],
        ["list", "--reason", "so"],
        ["publish", "port", PORT, "--human", "--author", "aino"],
    ],
)
def test_wrong_usage_ends_with_2(org: Path, cli: Cli, arguments: list[str]) -> None:
    assert cli("shared", org, *arguments).code == 2
    assert len(rows(org, "SELECT * FROM shared_log")) == 3


@pytest.mark.parametrize("name", ["", " port", "a\nb", "x" * 201, "ports/", "/x"])
def test_a_name_that_nobody_could_type_again_is_refused(org: Path, name: str) -> None:
    with open_writing(org) as file, pytest.raises(StoreError, match="name of a fact"):
        publish(file, WriteRequest("aino", MARCH.isoformat()), name, PORT)


def test_a_current_fact_must_be_retracted_before_it_is_forgotten(org: Path, cli: Cli) -> None:
    for text in (PORT, MOVED):
        assert cli("shared", org, "publish", "port", text, "--author", "aino").code == 0
    forget = ("forget", org, "--matching", "9090", "--json")
    with unchanged(picture, org):
        for more in ("--dry-run", "--yes"):
            ended = cli(*forget, more).ends(1, "The shared fact 'port' is current")
            assert f"slowwave shared {org} retract port --author NAME" in ended.err
    assert cli("shared", org, "retract", "port", "--author", "aino").code == 0
    assert cli(*forget, "--dry-run").json["active_again"] == []
    assert cli(*forget, "--yes").json["active_again"] == []
    assert cli("list", org, "--tenant", "shared", "--json").json["memories"] == []


def test_of_two_at_once_the_second_sees_what_the_first_wrote(org: Path) -> None:
    with open_writing(org) as item, open_writing(org) as second:
        publish(item, WriteRequest("architect", MARCH.isoformat()), "port", PORT)
        with pytest.raises(NotAllowed):
            publish(second, WriteRequest("coder", MARCH.isoformat()), "port", MOVED)


def test_a_shared_fact_is_nothing_new_that_a_night_waits_for(org: Path, cli: Cli) -> None:
    cli("shared", org, "publish", "billing-port", PORT, "--author", "aino")
    assert cli("maintain", org, setting("min_new", "1"), "--json").json["gate"]["found"] == 0


def test_shared_facts_are_recalled_after_an_agents_own(org: Path, cli: Cli) -> None:
    run = Run(org, cli)
    run("publish", "billing/port", PORT, "--tag", "deploy", by="aino")
    published = ("publish", "billing/port", PORT)
    assert not run(*published, by="aino")["changed"]
    assert run(*published, "--tag", "prod", by="aino")["changed"]
    with AgentMemory(org, "support") as memory:
        memory.add(PORT)
        own, shared = memory.recall("Where does billing listen?")
        assert (own.memory.tenant, shared.memory.tenant) == ("support", "shared")
        assert (own.is_shared, shared.is_shared) == (False, True)
        assert own.relevance == pytest.approx(shared.relevance)
        (alone,) = memory.recall("Where does billing listen?", shared=False)
        assert alone.memory == own.memory
        assert memory.recall("billing", tags=["billing"])[0].memory.tags == ("billing", "prod")
        assert f"[working] {PORT}" in memory.block("Where does billing listen?").text
    with AgentMemory(org, "sales") as memory:
        line = memory.block("Where does billing listen?").lines[0]
        assert (line.label, line.text) == ("shared", f"[shared fact, billing, prod] {PORT}")
    found = ("recall", org, "billing port", "--tenant", "support")
    assert "shared stable" in cli(*found, "--shared").out
    assert "shared" not in cli(*found).out


def test_a_tenant_of_that_name_without_published_facts_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    create_file(path)
    for tenant in ("shared", "support"):
        execute(path, "INSERT INTO memories (content, tenant) VALUES (?, ?)", PORT, tenant)
    with AgentMemory(path, "support") as memory:
        assert [hit.memory.tenant for hit in memory.recall("billing port")] == ["support"]
