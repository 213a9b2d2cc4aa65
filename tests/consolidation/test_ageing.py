"""Expiry, decay, archiving and purging, and the gates before a run."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from builders import NOW, a_memory, a_run, copy_of, put, whole
from cli_calls import Cli, in_a_process
from commands import configure, setting
from conversations import asking, repeating
from model_nights import Agent, a_fact
from model_server import ModelServer
from nights import (
    TWINS,
    daily,
    execute,
    fill,
    night,
    of_one_thing,
    picture,
    rows,
    states,
    unchanged,
)
from places import KILLING

from benchmarks.year import Year
from slowwave.cli.arguments.durations import retention_of
from slowwave.consolidation.ageing.selection import choose_excess, choose_expired, score
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.ageing import MemoryAge, read_ages, retire_memories
from slowwave.store.file import open_reading, open_writing
from slowwave.store.records import timestamp

NOW_S = int(NOW.timestamp())
HOUR = 3_600
DAY = 24 * HOUR


def memory_age(memory_id: str = "m", hours: float = 0, **fields: Any) -> MemoryAge:
    """Return a memory that was stored and last used some hours ago."""
    then = NOW_S - round(hours * HOUR)
    columns: dict[str, Any] = {
        **{"tenant": "default", "kind": "fact", "layer": "working", "importance": 3},
        **{"is_protected": False, "has_dependents": False, "is_under_review": False},
        **{"expires": None, "last_stated": then, "last_used": then, "access_count": 0},
    }
    return MemoryAge(memory_id, **(columns | fields))


def ago(**time: float) -> str:
    return timestamp(NOW - timedelta(**time))


def stored(memory_id: str, hours: float = 0, **fields: Any) -> Any:
    """Return a memory that was stored some hours ago."""
    then = ago(hours=hours)
    times = {"created_at": then, "updated_at": then, "observed_at": then}
    return a_memory(memory_id, **{"content": f"what {memory_id} says"} | times | fields)


def aged(path: Path, embedder: SentenceEmbedder, **options: Any) -> Outcome:
    return night(path, embedder, consolidate=False, **options)


def archived(path: Path) -> set[str]:
    return {name for name, status in states(path).items() if status == "archived"}


# ---- scores ----


@pytest.mark.parametrize(
    ("layer", "hours", "accesses", "expected"),
    [
        ("ephemeral", 6, 0, 0.5),
        ("ephemeral", 12, 0, 0.25),
        ("working", 7 * 24, 0, 0.5),
        ("stable", 180 * 24, 0, 0.5),
        ("core", 10_000, 0, 1.0),
        ("working", 0, 3, 1.06),
        ("working", 0, 15, 1.3),
        ("working", 0, 1_000, 1.3),
        ("working", -5, 0, 1.0),
    ],
)
def test_a_score_decays_with_the_half_life_and_rises_with_use(
    layer: str, hours: float, accesses: int, expected: float
) -> None:
    age = memory_age(hours=hours, layer=layer, access_count=accesses)
    assert score(age, NOW_S) == pytest.approx(expected)


@pytest.mark.parametrize(
    "written", ["2026-03-09 03:00:00", "2026-03-09T05:00:00+02:00", "2026-03-09T03:00:00.250Z"]
)
def test_times_are_read_in_each_format_of_agents(memory_file: Path, written: str) -> None:
    put(memory_file, stored("old", hours=100))
    execute(memory_file, "UPDATE memories SET accessed_at = ?", written)
    with open_reading(memory_file) as file:
        (age,) = read_ages(file, ["default"])
    assert (age.last_used, age.last_stated) == (NOW_S - DAY, NOW_S - 100 * HOUR)


def test_a_merge_counts_as_a_restatement_of_the_survivor(memory_file: Path) -> None:
    put(memory_file, stored("stays", hours=900), stored("gone", hours=900, status="superseded"))
    execute(
        memory_file,
        "INSERT INTO synthesized_from VALUES ('stays', 'gone', 'merge', 'r', 'h', NULL, ?)",
        ago(hours=2),
    )
    with open_reading(memory_file) as file:
        (age,) = read_ages(file, ["default"])
    assert age.last_stated == NOW_S - 2 * HOUR
    assert age.has_dependents


# ---- rules ----

RULES = [
    "tenant=ops,kind=context,keep=1d",
    "layer=working,keep=2d",
    "kind=context,keep=3d",
    "kind=context,layer=stable,keep=4d",
    "tenant=ops,keep=5d",
    "keep=6d",
    '"tenant=a, b",keep=7d',
]


@pytest.mark.parametrize(
    ("tenant", "kind", "layer", "without", "rule"),
    [
        # The tenant's rule, the file's rule, the tenant's default, the file's default.
        ("ops", "context", "working", (), "tenant=ops,kind=context,keep=1d"),
        ("ops", "context", "working", (0,), "layer=working,keep=2d"),
        ("ops", "fact", "stable", (), "tenant=ops,keep=5d"),
        ("ops", "fact", "stable", (4,), "keep=6d"),
        ("ops", "fact", "stable", (4, 5), None),
        # A rule for both, then the layer's, then the kind's.
        ("agent", "context", "stable", (), "kind=context,layer=stable,keep=4d"),
        ("agent", "context", "working", (), "layer=working,keep=2d"),
        ("agent", "context", "core", (), "kind=context,keep=3d"),
        # Of another tenant.
        ("agent", "fact", "stable", (), "keep=6d"),
        ("agent", "fact", "ephemeral", (), "layer=ephemeral,keep=1d"),
        ("a, b", "fact", "stable", (), "tenant=a, b,keep=7d"),
    ],
)
def test_the_most_specific_rule_applies(
    tenant: str, kind: str, layer: str, without: tuple[int, ...], rule: str | None
) -> None:
    rules = [text for number, text in enumerate(RULES) if number not in without]
    chosen = retention_of(rules).rule_for(tenant, kind, layer)
    assert (None if chosen is None else chosen.text) == rule


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("kind=fact,\rkeep=3d", "a line break."),
        ("x" * 131_073, "x' is not a retention rule: it is too long."),
    ],
)
def test_why_a_rule_cannot_be_read_is_named(rule: str, why: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        retention_of([rule])
    assert refused.value.message.endswith(why)
    assert len(refused.value.message) < 200


@pytest.mark.parametrize(
    ("hours", "rules", "gone"),
    [(23.99, [], False), (24, [], True), (99, ["layer=ephemeral,keep=forever"], False)],
)
def test_ephemeral_memories_expire_after_a_day(hours: float, rules: list[str], gone: bool) -> None:
    memories = [memory_age(hours=hours, layer="ephemeral")]
    assert bool(choose_expired(memories, retention_of(rules), NOW_S, False).leaving) is gone


def test_rules_spare_protected_memories_but_their_own_expiry_counts() -> None:
    old = memory_age("kept", hours=99, is_protected=True)
    ended = memory_age("ended", is_protected=True, expires=NOW_S)
    choice = choose_expired([old, ended], retention_of(["keep=1d"]), NOW_S, False)
    assert [item.id for item in choice.leaving] == ["ended"]
    assert choice.kept_by_reason == {"protected": 1}
    choice = choose_expired([old, ended], retention_of(["keep=1d"]), NOW_S, True)
    assert [item.id for item in choice.leaving] == ["kept", "ended"]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("kind=fact", "keep=... is missing"),
        ("kind=rule,keep=1d", "kind must be one of fact"),
        ("layer=deep,keep=1d", "layer must be one of ephemeral"),
        ("sort=fact,keep=1d", "use tenant="),
        ("kind=fact,kind=context,keep=1d", "it has kind twice"),
        ("keep=1 month", "not a duration such as 12h"),
        ("keep=-1d", "not a duration"),
        ("keep=0d", "expire every memory at once"),
        ("tenant=ops,keep=0h", "expire every memory of ops at once"),
        ("kind=fact", "keep=... is missing"),
        ("kind=fact,keep=1d kind=fact,keep=2d", "match the same memories"),
    ],
)
def test_invalid_rules_are_refused(memory_file: Path, cli: Cli, rules: str, reason: str) -> None:
    before = memory_file.read_bytes()
    lines = re.split(r" (?=kind)", rules)
    memory_file.with_name("slowwave.toml").write_text(f"retain = {json.dumps(lines)}\n")
    cli("maintain", memory_file, "--phase", "expire").ends(2, reason, "slowwave.toml")
    assert memory_file.read_bytes() == before


def test_a_rule_for_an_unknown_tenant_is_reported(memory_file: Path, cli: Cli) -> None:
    put(memory_file, stored("kept", hours=1))
    expire = ("maintain", memory_file, "--phase", "expire", "--json")
    rules = [
        setting("retain", f"tenant={rule}") for rule in ("defualt,keep=1d", "default,keep=forever")
    ]
    ended = cli(*expire, *rules).ends(
        0, f"{memory_file} has no tenant 'defualt', but there is a rule"
    )
    assert ended.json["expire"]["expired"] == []
    assert len(ended.err.splitlines()) == 1
    assert cli(*expire, *rules[1:]).err == ""


def test_what_undo_advises_keeps_a_memory_from_expiring_again(memory_file: Path, cli: Cli) -> None:
    put(memory_file, stored("once", hours=48))
    expire = ("maintain", memory_file, "--phase", "expire", setting("retain", "keep=1d"), "--json")
    assert len(cli(*expire).json["expire"]["expired"]) == 1
    advice = cli("undo", memory_file, "--yes").ends(0).err
    assert f"slowwave correct {memory_file} MEMORY --pin" in advice
    cli("correct", memory_file, "once", "--pin").ends(0)
    assert cli(*expire).json["expire"]["expired"] == []


def test_a_kind_can_expire_at_once(memory_file: Path, cli: Cli) -> None:
    put(memory_file, stored("gone", hours=1))
    rule = setting("retain", "kind=fact,keep=0h")
    ended = cli("maintain", memory_file, "--phase", "expire", rule, "--json")
    assert [item["id"] for item in ended.json["expire"]["expired"]] == ["gone"]


# ---- the limit ----


def test_the_least_used_memories_without_dependents_are_archived_first() -> None:
    memories = [
        memory_age("core", hours=9_000, layer="core", is_protected=True),
        memory_age("carries", hours=9_000, has_dependents=True),
        memory_age("waits", hours=9_000, is_under_review=True),
        memory_age("old", hours=400),
        memory_age("older but used", hours=500, access_count=15),
        memory_age("new", hours=1),
    ]
    choice = choose_excess(memories, 5, NOW_S)
    assert [item.id for item in choice.leaving] == ["old"]
    assert choice.above == {}
    choice = choose_excess(memories, 1, NOW_S)
    assert [item.id for item in choice.leaving] == ["old", "older but used", "new"]
    assert choice.above == {"default": 2}
    assert choice.kept_by_reason == {"protected": 1, "lineage": 1, "review": 1}


def test_equal_scores_archive_the_less_important_memory() -> None:
    memories = [memory_age("a", importance=4), memory_age("b", importance=2), memory_age("c")]
    assert [item.id for item in choose_excess(memories, 2, NOW_S).leaving] == ["b"]


def test_the_limit_applies_to_each_tenant(memory_file: Path, embedder: SentenceEmbedder) -> None:
    put(
        memory_file,
        *(stored(f"a{number}", hours=number) for number in range(4)),
        *(stored(f"b{number}", hours=number, tenant="other") for number in range(2)),
    )
    assert aged(memory_file, embedder, limit=2).after.active == 4
    assert archived(memory_file) == {"a2", "a3"}


def test_the_limit_never_archives_a_successor(
    memory_file: Path, agent: Agent, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, a_fact())
    put(memory_file, stored("young", hours=0, content="The door of the shed is green."))
    agent.sleep()
    aged(memory_file, embedder, now=NOW + timedelta(days=900), limit=1)
    (derived,) = rows(memory_file, "SELECT status FROM memories WHERE layer = 'stable'")
    assert (derived["status"], archived(memory_file)) == ("active", {"young"})


# ---- a whole night ----


@pytest.fixture
def lived(memory_file: Path) -> Path:
    """Provide a file with something for every phase."""
    fill(memory_file, daily(of_one_thing(), "oncall"))
    put(
        memory_file,
        stored("ended", hours=5, expires_at=ago(hours=1)),
        stored("scratch", hours=25, layer="ephemeral"),
        stored("context", hours=24 * 31, kind="context"),
        stored("rule of a person", hours=24 * 31, kind="context", origin="human"),
        *(stored(f"old {number}", hours=24 * (40 + number)) for number in range(4)),
        stored("purged", hours=2_000, status="superseded"),
        stored("kept", hours=1),
    )
    execute(
        memory_file,
        "UPDATE memories SET superseded_by = 'kept', superseded_at = ? WHERE id = 'purged'",
        ago(days=31),
    )
    execute(
        memory_file,
        "INSERT INTO synthesized_from VALUES ('kept', 'purged', 'merge', 'r', 'h', NULL, ?)",
        ago(days=31),
    )
    return memory_file


ALL: dict[str, Any] = {
    **{"expire": True, "decay": True, "limit": 4, "purge": True},
    "retention": retention_of(["kind=context,keep=30d"]),
}


def test_a_dry_run_predicts_all_phases(lived: Path, embedder: SentenceEmbedder) -> None:
    before = lived.read_bytes()
    planned = night(lived, embedder, dry_run=True, **ALL)
    assert lived.read_bytes() == before
    done = night(lived, embedder, **ALL)
    archived = []
    for outcome in (planned, done):
        assert outcome.expired is not None
        assert outcome.archived is not None
        assert {item.id for item in outcome.expired.leaving} == {"ended", "scratch", "context"}
        assert outcome.expired.choice.kept_by_reason == {"protected": 1}
        assert outcome.purged.ids == ("purged",)
        assert outcome.has_work
        archived.append([item.id for item in outcome.archived.leaving])
    assert archived[0] == archived[1] != []
    assert (planned.before, planned.after) == (done.before, done.after)
    assert planned.scores == done.scores
    assert done.after.active == 4
    assert whole(lived)
    with unchanged(lived.read_bytes):
        assert not night(lived, embedder, **ALL).has_work


def test_phases_are_separate_runs_that_are_undone_in_any_order(
    lived: Path, embedder: SentenceEmbedder, cli: Cli, tmp_path: Path
) -> None:
    tables = ("memories", "synthesized_from")
    before = picture(lived, tables)
    outcome = night(lived, embedder, **ALL | {"purge": False})
    assert outcome.expired is not None
    assert outcome.archived is not None
    phases = [outcome.expired.run_id, outcome.run_id, outcome.archived.run_id]
    assert [run["id"] for run in cli("log", lived, "--json").json["runs"]] == phases
    for number, order in enumerate(([0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1], None)):
        copy = copy_of(lived, tmp_path / f"{number}.db")
        undos: list[list[Any]] = [[]] * 3 if order is None else [[phases[place]] for place in order]
        for undo in undos:
            ended = cli("undo", copy, *undo, "--yes")
            assert ended.code == 0, ended.err
        assert picture(copy, tables) == before


def test_undo_names_the_run_that_expired_a_derived_memory(
    memory_file: Path, agent: Agent, embedder: SentenceEmbedder, cli: Cli
) -> None:
    fill(memory_file, a_fact())
    first = agent.sleep().run_id
    later = NOW + timedelta(days=40)
    retention = retention_of(["keep=30d"])
    outcome = night(memory_file, embedder, now=later, expire=True, retention=retention)
    assert outcome.expired is not None
    expiring = outcome.expired.run_id
    with unchanged(picture, memory_file):
        cli("undo", memory_file, first).ends(1, f"Run {expiring} did that")
    assert cli("undo", memory_file, expiring, "--yes").code == 0
    assert cli("undo", memory_file, first, "--yes").code == 0


def test_a_missing_embedding_model_keeps_the_expiry(lived: Path, cli: Cli, tmp_path: Path) -> None:
    arguments = ("maintain", lived, "--phase", "all", "--embedder", tmp_path / "nowhere")
    ended = cli(*arguments, "--json").ends(3, "nowhere")
    assert [item["id"] for item in ended.json["expire"]["expired"]] == ["ended", "scratch"]
    # Once nothing is left to expire, it is an error.
    with unchanged(picture, lived):
        assert cli(*arguments).code == 1


@pytest.mark.parametrize("phase", ["expire", "consolidate"])
def test_a_run_whose_end_cannot_be_recorded_is_partial(lived: Path, cli: Cli, phase: str) -> None:
    execute(
        lived,
        "CREATE TRIGGER full BEFORE UPDATE OF outcome ON runs "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    fill(lived, daily(TWINS, "twin"))
    ended = cli("maintain", lived, "--phase", phase).ends(3)
    assert "the end of the run was not recorded" in ended.out + ended.err
    assert "memories, 170 -> " in ended.out


def test_an_expired_derived_memory_is_not_extended(agent: Agent) -> None:
    first, *later = a_fact()
    agent.remember(later)
    agent.sleep()
    execute(agent.path, "UPDATE memories SET expires_at = ? WHERE layer = 'stable'", ago(hours=1))
    agent.remember([first])
    with unchanged(picture, agent.path, ["memories"]):
        assert agent.sleep(now=NOW + timedelta(days=1)).asked == ()


def test_a_memory_that_changed_after_the_plan_is_not_retired(memory_file: Path) -> None:
    put(memory_file, stored("used"), stored("unused"))
    a_run(memory_file)
    with open_reading(memory_file) as file:
        planned = list(read_ages(file, ["default"]))
    change = "UPDATE memories SET access_count = 1, accessed_at = ? WHERE id = 'used'"
    execute(memory_file, change, timestamp(NOW))
    with open_writing(memory_file) as file:
        assert retire_memories(file, "run-1", "limit", planned, timestamp(NOW)) == ["unused"]


# ---- killed ----


def test_the_run_after_a_kill_finishes_and_can_be_undone(
    lived: Path, cli: Cli, tmp_path: Path, rounds: Callable[[int, int], int]
) -> None:
    execute(lived, "UPDATE memories SET expires_at = '2020-01-01' WHERE id = 'ended'")
    command = ["--phase", "all", "--quiet"]
    moments = rounds(2, 16)
    for number in range(moments):
        copy = copy_of(lived, tmp_path / f"killed-{number}.db")
        configure(copy, max_active=4, retain="kind=context,keep=30d")
        before = picture(copy, ("memories",))
        moment = 5 + number * 9 if moments == 2 else 1 + number * 3
        done = in_a_process(sys.executable, KILLING, moment, "maintain", copy, *command)
        assert done.code in (0, 9), done.err
        assert whole(copy)
        without_purge = [*command[:-1], "--no-purge"]
        assert cli("maintain", copy, *without_purge).code == 0
        if not rows(copy, "SELECT 1 FROM witnesses"):
            for run in rows(copy, "SELECT id FROM runs ORDER BY rowid DESC"):
                cli("undo", copy, run["id"], "--yes")  # refused if the run applied nothing
            assert picture(copy, ("memories",)) == before


# ---- the archive ----


def test_archived_memories_are_found_and_restored_permanently(
    memory_file: Path, embedder: SentenceEmbedder, cli: Cli
) -> None:
    fill(
        memory_file,
        [
            {"id": "m-shed", "content": "The key of the shed hangs in the kitchen.",
             "created_at": ago(days=40), "observed_at": ago(days=40)},
            {"id": "m-tram", "content": "The tram to the harbour leaves at noon.",
             "created_at": ago(days=2), "observed_at": ago(days=2)},
            {"id": "m-mill", "content": "Ada repairs the mill.", "tenant": "other"},
        ],
    )  # fmt: skip
    aged(memory_file, embedder, limit=1)
    assert archived(memory_file) == {"m-shed"}
    search = ("recall", "--archived", memory_file)
    answer = cli(*search, "where is the key of the shed?", "--json").json
    assert [(hit["id"], hit["status"]) for hit in answer["hits"]] == [("m-shed", "archived")]
    cli(*search, "shed").says("m-shed")
    cli(*search, "shed", "--tenant", "other").says("nothing was found in the archive.\n")
    assert cli("undo", memory_file, "m-shed").code == 0
    aged(memory_file, embedder, limit=1)
    assert states(memory_file) == {"m-shed": "active", "m-tram": "archived", "m-mill": "active"}


# ---- gates ----


def gate_of(cli: Cli, *arguments: object) -> dict[str, Any]:
    """Run `maintain`; return the gate that prevented it, {} if none did."""
    return cli("maintain", *arguments, "--json").json["gate"] or {}


def test_the_kill_switch_prevents_every_run_and_names_its_source(
    lived: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = lived.with_name("slowwave.toml")
    config.write_text("enabled = false\n")
    why = f"switched off by 'enabled = false' in {config}"
    with unchanged(lived.read_bytes):
        for more in ((), ("--dry-run",)):
            cli("maintain", lived, "--phase", "all", *more).ends(0).says(why)
        assert gate_of(cli, lived, "--phase", "all")["name"] == "enabled"
    assert gate_of(cli, lived, setting("enabled", True), "--dry-run") == {}
    config.unlink()
    monkeypatch.setenv("SLOWWAVE_ENABLED", "false")
    cli("maintain", lived, "--phase", "all").says("SLOWWAVE_ENABLED")


def test_a_night_of_an_agent_counts_for_its_tenant_only(
    memory_file: Path, cli: Cli, embedder: SentenceEmbedder
) -> None:
    twice = ["The office cat is called Pip.", "The office cat is called Pip."]
    fill(memory_file, [{"content": item, "tenant": name} for name in ("a", "b") for item in twice])
    with AgentMemory(memory_file, "a", embedder=embedder) as memory:
        memory.consolidate()
    gated = (memory_file, "--consolidate", setting("min_interval", "12h"))
    assert gate_of(cli, *gated, "--tenant", "a")["name"] == "min_interval"
    assert gate_of(cli, *gated) == {}
    assert gate_of(cli, *gated, "--tenant", "a")


def test_a_run_within_min_interval_is_a_no_op(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, ["The office cat is called Pip.", "The office cat is called Pip."])
    arguments = (memory_file, "--consolidate", setting("min_interval", "12h"))
    cli("maintain", memory_file, "--only", "update").says("nothing to do", "were computed")
    assert gate_of(cli, *arguments) == {}
    (began,) = rows(memory_file, "SELECT max(started_at) AS began FROM runs")[0].values()
    gate = gate_of(cli, *arguments)
    assert (gate["name"], gate["needed"], gate["found"]) == ("min_interval", 12.0, 0.0)
    assert began[:16].replace("T", " ") in gate["why"]
    then = datetime.fromisoformat(began) - timedelta(hours=13)
    execute(memory_file, "UPDATE runs SET started_at = ?", timestamp(then))
    assert gate_of(cli, *arguments) == {}
    execute(memory_file, "UPDATE runs SET started_at = ?, outcome = 'failed'", began)
    assert gate_of(cli, *arguments) == {}
    assert cli("maintain", memory_file, "--consolidate", setting("min_interval", "soon")).code == 2
    execute(memory_file, "UPDATE runs SET started_at = 'yesterday', outcome = 'done'")
    cli("maintain", *arguments).ends(10, "is damaged: started_at of", "not a time")


def test_a_run_with_fewer_than_min_new_memories_is_a_no_op(
    memory_file: Path, cli: Cli, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, ["The office cat is called Pip.", "The tram leaves at noon."])
    arguments = (memory_file, "--consolidate", setting("min_new", "3"))
    gate = gate_of(cli, *arguments)
    assert (gate["name"], gate["needed"], gate["found"]) == ("min_new", 3, 2)
    vector = embedder.encode(["Ada repairs the mill."])[0].tolist()
    with_vector = {"embedding": vector, "embedding_model": embedder.name}
    fill(memory_file, [{"content": "Ada repairs the mill.", **with_vector}])
    assert gate_of(cli, *arguments) == {}
    assert gate_of(cli, *arguments)["found"] == 0


def test_ingested_memories_are_new_until_a_night_reads_them(
    memory_file: Path, tmp_path: Path, cli: Cli, server: ModelServer
) -> None:
    server.responder = repeating

    def new(limit: int) -> int | None:
        """Run a night; return the number of new memories if they are too few."""
        minimum = setting("min_new", str(limit))
        return gate_of(cli, memory_file, "--consolidate", minimum).get("found")

    chat = tmp_path / "chat.txt"
    chat.write_text("User: I own a red Brompton.\nAssistant: ok\nUser: My locker is 417.\n")
    assert cli("ingest", memory_file, chat, *asking(server)).code == 0
    assert [new(3), new(2), new(1)] == [2, None, 0]
    # The same if the night writes something.
    fill(memory_file, ["Ada repairs the mill.", "Ada repairs the mill"])
    chat.write_text("User: I teach Spanish in Graz.\nAssistant: ok\n")
    assert cli("ingest", memory_file, chat, *asking(server)).code == 0
    assert [new(3), new(1)] == [None, 0]


# ---- the command ----


def test_a_configured_limit_applies_only_to_its_phase(lived: Path, cli: Cli) -> None:
    lived.with_name("slowwave.toml").write_text("max_active = 2\nlimit = 3\n")
    assert cli("maintain", lived, "--dry-run", "--json").json["limit"] is None
    assert cli("maintain", lived, "--phase", "expire", "--dry-run", "--json").json["limit"] is None
    assert cli("maintain", lived, "--phase", "all", "--dry-run", "--json").json["limit"]["archived"]
    assert cli("maintain", lived, setting("max_active", 0)).code == 2


def test_dry_and_real_runs_have_the_same_keys(lived: Path, cli: Cli) -> None:
    arguments = ("maintain", lived, "--phase", "all", setting("max_active", "4"), "--json")
    dry, real = cli(*arguments, "--dry-run").json, cli(*arguments).json
    assert list(dry) == list(real)
    for phase in ("expire", "limit"):
        assert list(dry[phase]) == list(real[phase])
        assert (dry[phase]["run"], real[phase]["run"] is None) == (None, False)
    cli("log", lived).says("none (expire)", "none (limit)")
    limit = real["limit"]
    cli("log", lived, limit["run"]).says(f"{len(limit['archived'])} memories archived.")


def test_no_archived_memory_is_in_conflict(memory_file: Path, embedder: SentenceEmbedder) -> None:
    for number, port in enumerate((8016, 9999)):
        put(memory_file, stored(f"{number}", content=f"The depot service listens on port {port}."))
    assert len(night(memory_file, embedder, dry_run=True).conflicts) == 1
    assert not night(memory_file, embedder, dry_run=True, limit=1).conflicts
    assert not night(memory_file, embedder, limit=1).conflicts


def test_a_dry_run_lists_memories_with_reasons(lived: Path, cli: Cli) -> None:
    arguments = ("maintain", lived, "--phase", "all", setting("max_active", "4"), "--dry-run")
    with unchanged(lived.read_bytes):
        listed = cli(*arguments, "--exit-code").ends(4)
    listed.says("what scratch says", "by layer=ephemeral,keep=1d", "To be archived: ")


def test_a_purge_reports_why_memories_stay(lived: Path, cli: Cli) -> None:
    execute(lived, "UPDATE memories SET pinned = 1 WHERE id = 'purged'")
    arguments = ("maintain", lived, "--phase", "purge", "--dry-run")
    cli(*arguments).says("but still needed: 1 since pinned.")
    assert {"id": "purged", "why": "since pinned"} in cli(*arguments, "--json").json["staying"]


# ---- a year, or the beginning of one ----


def test_weeks_of_nights_keep_limits_and_lose_nothing(
    tmp_path: Path, embedder: SentenceEmbedder, rounds: Callable[[int, int], int]
) -> None:
    year = Year(tmp_path / "year.db", embedder, a_day=6, limit=rounds(45, 150))
    for number in range(2, rounds(38, 122), 2):
        year.live(number)
    counts = year.count()
    assert all(counts[what] for what in ("archived", "expired", "purged"))
