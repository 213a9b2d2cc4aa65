"""Facts that an organization shares: authors, an append-only log, and what held on any day."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import copy_of, made_once
from cli_calls import Cli
from commands import setting
from nights import daily, execute, fill, night, of_one_thing, picture, rows, unchanged

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.organisation.store.shared_facts import (
    NotAllowed,
    WriteRequest,
    admit,
    dismiss,
    publish,
    retract,
)
from slowwave.extensions.organisation.store.shared_log import read_log
from slowwave.store.errors import StoreError
from slowwave.store.file import open_writing

PORT, MOVED = "Billing listens on port 8080.", "Billing listens on port 9090."
MARCH = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


FOUNDED = "2026-01-05T09:00:00+00:00"


@made_once
def org(path: Path) -> None:
    """Provide a file in which a human and two agents share facts."""
    request = WriteRequest("aino", FOUNDED)
    with open_writing(path) as file:
        admit(file, request, "aino", None)
        admit(file, request, "architect", 5)
        admit(file, request, "coder", 2)


class Run:
    """The command on a file, which returns its JSON or its error."""

    def __init__(self, path: Path, cli: Cli) -> None:
        self._path, self._cli = path, cli

    def __call__(self, *arguments: str, by: str, code: int = 0) -> Any:
        ended = self._cli(
            "shared", arguments[0], self._path, *arguments[1:], "--author", by, "--json"
        ).ends(code)
        return ended.err if code else ended.json

    def publish(self, *texts: str, fact: str = "port", by: str = "coder") -> list[Any]:
        """Publish versions of a fact."""
        return [self("publish", fact, text, by=by) for text in texts]


@pytest.fixture
def run(org: Path, cli: Cli) -> Run:
    return Run(org, cli)


def facts(path: Path, cli: Cli, *more: object) -> dict[str, str]:
    listed = cli("shared", "list", path, *more, "--json").json["facts"]
    return {item["fact"]: item["content"] for item in listed}


def active(path: Path) -> list[dict[str, Any]]:
    return rows(
        path,
        "SELECT content, origin, pinned FROM memories "
        "WHERE tenant = 'shared' AND status = 'active'",
    )


# ---- publish, retract, and what held when ----


def test_a_fact_is_a_memory_with_a_version(org: Path, run: Run, cli: Cli) -> None:
    first, again, second = run.publish(PORT, PORT, MOVED)
    assert [published["entry"]["version"] for published in (first, again, second)] == [1, 1, 2]
    assert again["changed"] is False
    assert active(org) == [{"content": MOVED, "origin": "agent", "pinned": 1}]
    (earlier,) = rows(org, "SELECT * FROM memories WHERE content = ?", PORT)
    assert earlier["status"] == "superseded"
    assert cli("check", org).code == 0


def test_a_retracted_fact_no_longer_holds_and_its_log_stays(org: Path, run: Run, cli: Cli) -> None:
    run.publish(PORT)
    run("retract", "port", "--reason", "shut down", by="coder")
    assert (facts(org, cli), active(org)) == ({}, [])
    published, retracted = cli("shared", "log", org, "port", "--json").json["entries"]
    assert (published["operation"], published["version"]) == ("publish", 1)
    assert (retracted["operation"], retracted["version"]) == ("retract", 2)
    assert retracted["reason"] == "shut down"
    assert "no current fact" in run("retract", "port", by="coder", code=1)
    assert run.publish(MOVED)[0]["entry"]["version"] == 3
    assert cli("check", org).code == 0


def test_facts_and_authors_as_of_a_day_are_shown(org: Path, cli: Cli) -> None:
    with open_writing(org) as file:
        start = datetime.fromisoformat(read_log(file)[-1].at)
        later = [(start + timedelta(days=day)).isoformat() for day in range(7)]
        publish(file, WriteRequest("aino", later[1]), "port", PORT)
        dismiss(file, WriteRequest("aino", later[2]), "coder")
        publish(file, WriteRequest("aino", later[3]), "port", MOVED)
        retract(file, WriteRequest("aino", later[5]), "port")
    as_of = [("--as-of", (start + timedelta(days=day)).date()) for day in range(-1, 7)]
    old, new = {"port": PORT}, {"port": MOVED}
    assert [facts(org, cli, *day) for day in as_of] == [{}, {}, old, old, new, new, {}, {}]
    listed = [cli("shared", "authors", org, *day, "--json").json["authors"] for day in as_of]
    names = [{author["name"] for author in authors} for authors in listed]
    assert (names[0], names[1] - names[-1]) == (set(), {"coder"})
    assert "aino" in names[-1]
    none = cli("shared", "authors", org, "--as-of", "2001-01-01").out
    assert none.endswith(": there are no authors as of 2001-01-01.\n")
    assert "admit aino (version 1) as a human" in cli("shared", "log", org, "aino").out


def test_a_clock_that_was_set_back_does_not_rewrite_history(org: Path) -> None:
    with open_writing(org) as file:
        before = read_log(file)[-1].at
        entry, _ = publish(file, WriteRequest("aino", "2001-01-01T00:00:00+00:00"), "port", PORT)
        assert entry.at == before


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
@pytest.mark.parametrize("change", [("publish", "port", MOVED), ("retract", "port")])
def test_only_its_author_or_a_senior_changes_a_fact(
    org: Path, run: Run, cli: Cli, first: str, second: str, may: bool, change: tuple[str, ...]
) -> None:
    run("admit", "peer", "--seniority", "2", by="aino")
    run.publish(PORT, by=first)
    output = run(*change, by=second, code=0 if may else 1)
    assert may or "may not" in output
    changed = {"port": MOVED} if change[0] == "publish" else {}
    assert facts(org, cli) == (changed if may else {"port": PORT})


def test_an_agent_cannot_publish_what_a_human_retracted(run: Run) -> None:
    run.publish(PORT)
    run("retract", "port", by="aino")
    assert "may not publish" in run("publish", "port", PORT, by="coder", code=1)


def test_only_a_human_admits_and_the_last_human_stays(org: Path, run: Run, cli: Cli) -> None:
    assert "only a human" in run("admit", "friend", "--seniority", "9", by="architect", code=1)
    assert "last human" in run("dismiss", "aino", by="aino", code=1)
    assert "last human" in run("admit", "aino", "--seniority", "3", by="aino", code=1)
    run("dismiss", "coder", by="aino")
    assert "it was dismissed" in run("publish", "port", PORT, by="coder", code=1)
    authors = cli("shared", "authors", org, "--json").json["authors"]
    assert [author["name"] for author in authors] == ["aino", "architect"]


def test_check_names_each_missing_part_of_a_log(memory_file: Path, cli: Cli) -> None:
    log = "SELECT type, name FROM sqlite_schema WHERE name LIKE 'shared_%'"
    assert rows(memory_file, log) == []
    Run(memory_file, cli)("admit", "aino", "--human", by="aino")
    parts = rows(memory_file, log)
    assert len(parts) == 10
    for number, part in enumerate(parts):
        copy = copy_of(memory_file, memory_file.with_name(f"{number}.db"))
        execute(copy, f"DROP {part['type']} {part['name']}")
        problems = cli("check", copy, "--json").json["problems"]
        missing = f"{part['type']} {part['name']} is missing"
        assert missing in [problem["detail"] for problem in problems]


def test_the_first_author_is_a_human_who_admits_themselves(memory_file: Path, cli: Cli) -> None:
    run = Run(memory_file, cli)
    for arguments in (["bot", "--seniority", "9"], ["other", "--human"]):
        assert "first" in run("admit", *arguments, by="bot", code=1)
    assert "never admitted" in run("publish", "port", PORT, by="bot", code=1)
    assert cli("shared", "log", memory_file, "--json").json["entries"] == []


def test_a_tenant_with_unpublished_memories_is_not_taken_over(memory_file: Path, cli: Cli) -> None:
    execute(memory_file, "INSERT INTO memories (content, tenant) VALUES ('x', 'shared')")
    output = Run(memory_file, cli)("admit", "aino", "--human", by="aino", code=1)
    assert "were not published" in output


# ---- nothing else gets in or out ----


def test_other_commands_write_no_shared_facts(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
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
]


def test_no_sql_statement_changes_shared_facts(org: Path, run: Run) -> None:
    run.publish(PORT, MOVED)
    fill(org, ["A memory of the agent's own."])
    with unchanged(picture, org, ("memories", "shared_log")):
        for sql in STATEMENTS:
            with (
                unchanged(picture, org, ("memories", "shared_log")),
                pytest.raises(sqlite3.IntegrityError, match="shared knowledge"),
            ):
                execute(org, sql)


def test_archiving_all_memories_spares_current_facts(org: Path, run: Run) -> None:
    run.publish(PORT)
    fill(org, ["A memory of the agent's own."])
    execute(org, "UPDATE memories SET status = 'archived'")
    assert rows(org, "SELECT content FROM memories WHERE status = 'active'") == [{"content": PORT}]


def test_runs_spare_shared_facts(org: Path, run: Run, cli: Cli, embedder: SentenceEmbedder) -> None:
    for number, text in enumerate(of_one_thing()[:3]):
        run.publish(text, fact=f"oncall/{number}", by="aino")
    fill(org, daily(of_one_thing(), "own"))
    shared = "SELECT * FROM memories WHERE tenant = 'shared' ORDER BY id"
    with unchanged(rows, org, shared):
        outcome = night(org, embedder, include_protected=True)
        assert {result.proposal.tenant for result in outcome.results} == {"default"}
    cli("maintain", org, "--tenant", "shared").ends(1, "runs do not change")
    assert cli("recall", org, "database pager", "--tenant", "shared", "--json").json["hits"]


def test_ageing_does_not_count_shared_facts(org: Path, run: Run, cli: Cli) -> None:
    run.publish(PORT, MOVED)
    fill(org, [f"Room {number} has {number * 3} chairs." for number in range(4)])
    settings = (setting("max_active", 2), setting("retain", "keep=400d"))
    command = ("maintain", org, "--phase", "decay,limit,expire", *settings, "--json")
    planned, done = cli(*command, "--dry-run").json, cli(*command).json
    assert (planned["before"], planned["after"]) == (done["before"], done["after"])
    assert (done["before"]["active"], done["after"]["active"]) == (4, 2)
    assert [tenant["memories"] for tenant in done["decay"]] == [4]
    assert done["expire"]["kept"] == {}


def test_ended_facts_are_not_in_the_archive(org: Path, run: Run, cli: Cli) -> None:
    run.publish(PORT, MOVED)

    def undo(text: str, error: str) -> None:
        (fact,) = rows(org, "SELECT id FROM memories WHERE content = ?", text)
        cli("undo", org, fact["id"]).ends(1, error)

    undo(PORT, "earlier version")
    run("retract", "port", by="coder")
    assert cli("recall", "--archived", org, "billing port", "--json").json["hits"] == []
    for text in (PORT, MOVED):
        undo(text, f"with 'slowwave shared publish {org}'")


def test_a_fact_that_differs_from_the_log_is_reported(org: Path, run: Run, cli: Cli) -> None:
    run.publish(PORT)
    (trigger,) = rows(org, "SELECT sql FROM sqlite_schema WHERE name = 'shared_memory_changed'")
    execute(org, "DROP TRIGGER shared_memory_changed")
    execute(org, "UPDATE memories SET content = ? WHERE tenant = 'shared'", MOVED)
    execute(org, trigger["sql"])
    assert "differs from the log" in cli("check", org).out


def test_export_all_contains_the_log(org: Path, run: Run, tmp_path: Path, cli: Cli) -> None:
    run.publish(PORT)
    lines, copy = tmp_path / "lines.jsonl", tmp_path / "copy.db"
    lines.write_text(cli("export", org, "--all").out, "utf-8")
    assert cli("import", copy, lines).code == 0
    assert picture(copy, ("shared_log",)) == picture(org, ("shared_log",))
    assert facts(copy, cli) == {"port": PORT}
    assert cli("check", copy).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "port", PORT],
        ["admit", "x", "--author", "aino"],
        ["admit", "x", "--human", "--seniority", "3", "--author", "aino"],
        ["list", "--as-of", "yesterday"],
    ],
)
def test_wrong_usage_ends_with_2(org: Path, cli: Cli, arguments: list[str]) -> None:
    assert cli("shared", arguments[0], org, *arguments[1:]).code == 2
    assert len(rows(org, "SELECT * FROM shared_log")) == 3


@pytest.mark.parametrize("name", ["", " port", "a\nb", "x" * 201, "ports/", "/x"])
def test_an_untypable_name_of_a_fact_is_refused(org: Path, name: str) -> None:
    with open_writing(org) as file, pytest.raises(StoreError, match="name of a fact"):
        publish(file, WriteRequest("aino", MARCH.isoformat()), name, PORT)


def test_a_concurrent_writer_sees_the_first_fact(org: Path) -> None:
    with open_writing(org) as first, open_writing(org) as second:
        publish(first, WriteRequest("architect", MARCH.isoformat()), "port", PORT)
        with pytest.raises(NotAllowed):
            publish(second, WriteRequest("coder", MARCH.isoformat()), "port", MOVED)


def test_a_shared_fact_does_not_count_as_new(org: Path, run: Run, cli: Cli) -> None:
    run.publish(PORT, by="aino")
    assert cli("maintain", org, setting("min_new", "1"), "--json").json["gate"]["found"] == 0


def test_shared_facts_are_recalled_after_an_agents_own(org: Path, run: Run, cli: Cli) -> None:
    published = ("publish", "billing/port", PORT)
    run(*published, "--tag", "deploy", by="aino")
    assert not run(*published, by="aino")["changed"]
    assert run(*published, "--tag", "prod", by="aino")["changed"]
    question = "Where does billing listen?"
    with AgentMemory(org, "support") as memory:
        memory.add(PORT)
        own, shared = memory.recall(question)
        assert (own.memory.tenant, shared.memory.tenant) == ("support", "shared")
        assert (own.is_shared, shared.is_shared) == (False, True)
        assert own.relevance == pytest.approx(shared.relevance)
        (alone,) = memory.recall(question, shared=False)
        assert alone.memory == own.memory
        assert memory.recall("billing", tags=["billing"])[0].memory.tags == ("billing", "prod")
        assert f"[working] {PORT}" in memory.block(question).text
    with AgentMemory(org, "sales") as memory:
        line = memory.block(question).lines[0]
        assert (line.label, line.text) == ("shared", f"[shared fact, billing, prod] {PORT}")
    recall = ("recall", org, "billing port", "--tenant", "support")
    assert "shared stable" in cli(*recall, "--shared").out
    assert "shared" not in cli(*recall).out


def test_a_tenant_named_shared_is_private_without_published_facts(memory_file: Path) -> None:
    for tenant in ("shared", "support"):
        execute(memory_file, "INSERT INTO memories (content, tenant) VALUES (?, ?)", PORT, tenant)
    with AgentMemory(memory_file, "support") as memory:
        assert [hit.memory.tenant for hit in memory.recall("billing port")] == ["support"]
