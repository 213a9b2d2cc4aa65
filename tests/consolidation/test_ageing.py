"""Memories expire, fade, and are archived, each for a reason, and all of it comes back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import NOW, a_decision, a_memory, a_run, copy_of, decide, put
from cli_calls import Cli
from commands import configure, setting
from model_nights import Agent, a_fact
from nights import execute, fill, night, of_one_thing, picture, rows, states, told
from places import KILLING

from benchmarks.year import Year
from slowwave.cli.arguments.durations import retention_of
from slowwave.consolidation.ageing.choosing import choose_excess, choose_expired
from slowwave.consolidation.ageing.decay import score
from slowwave.consolidation.ageing.retention import Retention
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.ageing import MemoryAge, read_ages
from slowwave.store.check import check_file
from slowwave.store.file import open_reading
from slowwave.store.records import timestamp

NOW_S = int(NOW.timestamp())
HOUR = 3_600
DAY = 24 * HOUR


def memory_age(memory_id: str = "m", hours: float = 0, **fields: Any) -> MemoryAge:
    """Return a memory that was stored, and used last, so many hours ago."""
    then = NOW_S - round(hours * HOUR)
    columns: dict[str, Any] = {
        **{"tenant": "default", "kind": "fact", "layer": "working", "importance": 3},
        **{"protected": False, "has_dependents": False, "under_review": False},
        **{"expires": None, "last_stated": then, "last_used": then, "access_count": 0},
    }
    return MemoryAge(memory_id, **(columns | fields))


def ago(**time: float) -> str:
    return timestamp(NOW - timedelta(**time))


def stored(memory_id: str, hours: float = 0, **fields: Any) -> Any:
    """Return a memory that was stored so many hours ago."""
    then = ago(hours=hours)
    times = {"created_at": then, "updated_at": then, "observed_at": then}
    return a_memory(memory_id, **{"content": f"what {memory_id} says"} | times | fields)


def aged(path: Path, embedder: SentenceEmbedder, **options: Any) -> Outcome:
    return night(path, embedder, consolidate=False, **options)


# ---- how much is left ----


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
def test_what_is_left_halves_with_the_layer_s_half_life_and_rises_with_use(
    layer: str, hours: float, accesses: int, expected: float
) -> None:
    assert score(
        memory_age(hours=hours, layer=layer, access_count=accesses), NOW_S
    ) == pytest.approx(expected)


@pytest.mark.parametrize(
    "written", ["2026-03-09 03:00:00", "2026-03-09T05:00:00+02:00", "2026-03-09T03:00:00.250Z"]
)
def test_a_time_is_understood_however_an_agent_wrote_it(memory_file: Path, written: str) -> None:
    put(memory_file, stored("old", hours=100))
    execute(memory_file, "UPDATE memories SET accessed_at = ?", written)
    with open_reading(memory_file) as file:
        (found,) = read_ages(file, ["default"])
    assert (found.last_used, found.last_stated) == (NOW_S - DAY, NOW_S - 100 * HOUR)


def test_what_took_in_another_was_said_again_then(memory_file: Path) -> None:
    put(memory_file, stored("stays", hours=900), stored("gone", hours=900, status="superseded"))
    execute(
        memory_file,
        "INSERT INTO synthesized_from VALUES ('stays', 'gone', 'merge', 'r', 'h', NULL, ?)",
        ago(hours=2),
    )
    with open_reading(memory_file) as file:
        (found,) = read_ages(file, ["default"])
    assert found.last_stated == NOW_S - 2 * HOUR
    assert found.has_dependents


# ---- which rule counts ----

RULES = [
    "tenant=ops,kind=context,keep=1d",
    "layer=working,keep=2d",
    "kind=context,keep=3d",
    "kind=context,layer=stable,keep=4d",
    "tenant=ops,keep=5d",
    "keep=6d",
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
    ],
)
def test_rules_count_in_this_order(
    tenant: str, kind: str, layer: str, without: tuple[int, ...], rule: str | None
) -> None:
    rules = [text for number, text in enumerate(RULES) if number not in without]
    found = retention_of(rules).rule_for(tenant, kind, layer)
    assert (None if found is None else found.text) == rule


def test_a_rule_may_keep_what_is_ephemeral() -> None:
    retention = retention_of(["layer=ephemeral,keep=forever"])
    assert choose_expired([memory_age(hours=99, layer="ephemeral")], retention, NOW_S, False) == (
        choose_expired([], retention, NOW_S, False)
    )


@pytest.mark.parametrize(("hours", "gone"), [(23.99, False), (24, True)])
def test_what_is_ephemeral_goes_after_a_day_to_the_second(hours: float, gone: bool) -> None:
    choice = choose_expired([memory_age(hours=hours, layer="ephemeral")], Retention(), NOW_S, False)
    assert bool(choice.leaving) is gone


def test_a_rule_takes_nothing_protected_unless_told_so_and_an_end_of_its_own_counts() -> None:
    old = memory_age("kept", hours=99, protected=True)
    ended = memory_age("ended", protected=True, expires=NOW_S)
    choice = choose_expired([old, ended], retention_of(["keep=1d"]), NOW_S, False)
    assert [one.id for one in choice.leaving] == ["ended"]
    assert choice.kept == {"protected": 1}
    choice = choose_expired([old, ended], retention_of(["keep=1d"]), NOW_S, True)
    assert [one.id for one in choice.leaving] == ["kept", "ended"]


@pytest.mark.parametrize(
    ("rule", "said"),
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
        ("", "keep=... is missing"),
    ],
)
def test_a_rule_that_is_none_is_refused_with_a_reason(
    memory_file: Path, cli: Cli, rule: str, said: str
) -> None:
    before = memory_file.read_bytes()
    memory_file.with_name("slowwave.toml").write_text(f"retain = [{json.dumps(rule)}]\n")
    ended = cli("maintain", memory_file, "--phase", "expire")
    assert (ended.code, said in ended.err, "slowwave.toml" in ended.err) == (2, True, True)
    assert memory_file.read_bytes() == before


def test_a_rule_for_a_tenant_that_a_file_lacks_is_told(memory_file: Path, cli: Cli) -> None:
    put(memory_file, stored("one", hours=1))
    rules = (
        setting("retain", "tenant=defualt,keep=1d"),
        setting("retain", "tenant=default,keep=forever"),
    )
    ended = cli("maintain", memory_file, "--phase", "expire", *rules, "--json")
    assert (ended.code, ended.json["expire"]["expired"]) == (0, [])
    assert f"{memory_file} has no tenant 'defualt', but there is a rule for it: " in ended.err
    assert len(ended.err.splitlines()) == 1
    assert cli("maintain", memory_file, "--phase", "expire", *rules[2:]).err == ""


def test_a_kind_may_be_kept_for_no_time_at_all(memory_file: Path, cli: Cli) -> None:
    put(memory_file, stored("one", hours=1))
    ended = cli(
        "maintain",
        memory_file,
        "--phase",
        "expire",
        setting("retain", "kind=fact,keep=0h"),
        "--json",
    )
    assert [one["id"] for one in ended.json["expire"]["expired"]] == ["one"]


def test_two_rules_about_the_same_are_refused_and_a_tenant_may_have_a_comma(
    memory_file: Path, cli: Cli
) -> None:
    rules = [setting("retain", "kind=fact,keep=1d"), setting("retain", "kind=fact,keep=2d")]
    assert (
        "match the same memories" in cli("maintain", memory_file, "--phase", "expire", *rules).err
    )
    rule = retention_of(['"tenant=a, b",keep=1d']).rule_for("a, b", "fact", "working")
    assert rule is not None


# ---- the limit ----


def test_the_least_used_go_first_and_never_what_others_lean_on() -> None:
    memories = [
        memory_age("core", hours=9_000, layer="core", protected=True),
        memory_age("carries", hours=9_000, has_dependents=True),
        memory_age("waits", hours=9_000, under_review=True),
        memory_age("old", hours=400),
        memory_age("older but used", hours=500, access_count=15),
        memory_age("new", hours=1),
    ]
    choice = choose_excess(memories, 5, NOW_S)
    assert [one.id for one in choice.leaving] == ["old"]
    assert choice.above == {}
    choice = choose_excess(memories, 1, NOW_S)
    assert [one.id for one in choice.leaving] == ["old", "older but used", "new"]
    assert choice.above == {"default": 2}
    assert choice.kept == {"protected": 1, "lineage": 1, "review": 1}


def test_of_equal_scores_the_less_important_goes() -> None:
    memories = [memory_age("a", importance=4), memory_age("b", importance=2), memory_age("c")]
    assert [one.id for one in choose_excess(memories, 2, NOW_S).leaving] == ["b"]


def test_a_limit_is_of_each_tenant(memory_file: Path, embedder: SentenceEmbedder) -> None:
    put(
        memory_file,
        *(stored(f"a{number}", hours=number) for number in range(4)),
        *(stored(f"b{number}", hours=number, tenant="other") for number in range(2)),
    )
    outcome = aged(memory_file, embedder, limit=2)
    assert {one for one, status in states(memory_file).items() if status == "archived"} == {
        *("a2", "a3")
    }
    assert outcome.after.active == 4


def test_the_limit_archives_no_last_carrier_of_what_others_said(
    memory_file: Path, agent: Agent, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, a_fact())
    put(memory_file, stored("young", hours=0, content="The door of the shed is green."))
    agent.sleep()
    (derived,) = rows(memory_file, "SELECT id FROM memories WHERE layer = 'stable'")
    later = NOW + timedelta(days=900)
    outcome = night(memory_file, embedder, now=later, consolidate=False, limit=1)
    assert states(memory_file)[derived["id"]] == "active"
    assert outcome.archived is not None
    assert "young" in {one.id for one in outcome.archived.leaving}


# ---- a whole night ----


@pytest.fixture
def lived(memory_file: Path) -> Path:
    """Provide a file with something for every phase."""
    fill(memory_file, told(of_one_thing(), "oncall"))
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


def test_the_dry_run_says_all_that_the_real_run_does_and_a_second_one_does_nothing(
    lived: Path, embedder: SentenceEmbedder
) -> None:
    before = lived.read_bytes()
    planned = night(lived, embedder, dry_run=True, **ALL)
    assert lived.read_bytes() == before
    done = night(lived, embedder, **ALL)
    for outcome in (planned, done):
        assert outcome.expired is not None
        assert outcome.archived is not None
        assert {one.id for one in outcome.expired.leaving} == {"ended", "scratch", "context"}
        assert outcome.expired.choice.kept == {"protected": 1}
        assert outcome.purged.ids == ("purged",)
        assert outcome.is_work
    assert planned.archived is not None
    assert done.archived is not None
    assert [one.id for one in planned.archived.leaving] == [one.id for one in done.archived.leaving]
    assert planned.archived.leaving
    assert (planned.before, planned.after) == (done.before, done.after)
    assert planned.scores == done.scores
    assert done.after.active == 4
    with open_reading(lived) as file:
        assert not check_file(file).problems
    settled = lived.read_bytes()
    again = night(lived, embedder, **ALL)
    assert not again.is_work
    assert lived.read_bytes() == settled


def test_each_phase_is_a_run_of_its_own_and_all_are_undone_in_any_order(
    lived: Path, embedder: SentenceEmbedder, cli: Cli, tmp_path: Path
) -> None:
    tables = ("memories", "synthesized_from")
    before = picture(lived, tables)
    night(lived, embedder, **ALL | {"purge": False})
    runs = [row["id"] for row in rows(lived, "SELECT id FROM runs ORDER BY rowid")]
    assert len(runs) == 3
    for number, order in enumerate(([0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1])):
        copy = copy_of(lived, tmp_path / f"{number}.db")
        for at in order:
            ended = cli("undo", copy, runs[at], "--yes")
            assert ended.code == 0, ended.err
        assert picture(copy, tables) == before


def test_the_phases_are_listed_as_they_came_and_undone_since_the_first_of_them(
    lived: Path, embedder: SentenceEmbedder, cli: Cli
) -> None:
    tables = ("memories", "synthesized_from")
    before = picture(lived, tables)
    outcome = night(lived, embedder, **ALL | {"purge": False})
    assert outcome.expired is not None
    assert outcome.archived is not None
    phases = [outcome.expired.run_id, outcome.run_id, outcome.archived.run_id]
    assert [one["id"] for one in cli("log", lived, "--json").json["runs"]] == phases
    assert cli("undo", lived, "--since", phases[0], "--yes").code == 0
    assert picture(lived, tables) == before


def test_undo_of_a_night_names_the_run_that_let_its_memory_expire(
    memory_file: Path, agent: Agent, embedder: SentenceEmbedder, cli: Cli
) -> None:
    fill(memory_file, a_fact())
    first = agent.sleep().run_id
    later = NOW + timedelta(days=40)
    outcome = night(
        memory_file, embedder, now=later, expire=True, retention=retention_of(["keep=30d"])
    )
    assert outcome.expired is not None
    expiring = outcome.expired.run_id
    before = picture(memory_file)
    ended = cli("undo", memory_file, first)
    assert ended.code == 1
    assert f"Run {expiring} did that (expire)" in ended.err
    assert picture(memory_file) == before
    assert cli("undo", memory_file, expiring, "--yes").code == 0
    assert cli("undo", memory_file, first, "--yes").code == 0


def test_without_a_model_to_embed_what_has_expired_stands_and_is_said(
    lived: Path, cli: Cli, tmp_path: Path
) -> None:
    arguments = ("maintain", lived, "--phase", "all", "--embedder", tmp_path / "nowhere")
    ended = cli(*arguments, "--json")
    assert ended.code == 3
    assert "nowhere" in ended.err
    assert [one["id"] for one in ended.json["expire"]["expired"]] == ["ended", "scratch"]
    # With nothing to expire any more nothing is changed, and it is an error.
    before = picture(lived)
    assert cli(*arguments).code == 1
    assert picture(lived) == before


def test_what_an_agent_changed_since_the_plan_stays(memory_file: Path) -> None:
    from slowwave.store.ageing import retire_memories
    from slowwave.store.file import open_writing

    put(memory_file, stored("one"), stored("two"))
    a_run(memory_file)
    with open_reading(memory_file) as file:
        planned = list(read_ages(file, ["default"]))
    execute(
        memory_file,
        "UPDATE memories SET access_count = 1, accessed_at = ? WHERE id = 'one'",
        timestamp(NOW),
    )
    with open_writing(memory_file) as file:
        assert retire_memories(file, "run-1", "limit", planned, timestamp(NOW)) == ["two"]


def test_what_waits_for_a_person_is_not_archived(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    put(memory_file, stored("waits", hours=99), stored("new"))
    a_run(memory_file)
    decide(memory_file, a_decision(state="pending", sources=("waits",)))
    aged(memory_file, embedder, limit=1)
    assert states(memory_file) == {"waits": "active", "new": "archived"}


# ---- killed ----


def test_killed_at_any_moment_the_next_run_finishes_and_all_of_it_can_be_undone(
    lived: Path, cli: Cli, tmp_path: Path, rounds: Callable[[int, int], int]
) -> None:
    execute(lived, "UPDATE memories SET expires_at = '2020-01-01' WHERE id = 'ended'")
    command = ["--phase", "all", "--quiet"]
    moments = rounds(2, 16)
    for number in range(moments):
        copy = copy_of(lived, tmp_path / f"killed-{number}.db")
        configure(copy, max_active=4, retain="kind=context,keep=30d")
        before = picture(copy, ("memories",))
        at = 5 + number * 9 if moments == 2 else 1 + number * 3
        done = subprocess.run(
            [sys.executable, KILLING, str(at), "maintain",
             str(copy), *command],
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode in (0, 9), done.stderr
        with open_reading(copy) as file:
            assert not check_file(file).problems
        without_purge = [*command[:-1], "--no-purge"]
        assert cli("maintain", copy, *without_purge).code == 0
        first = rows(copy, "SELECT id FROM runs ORDER BY rowid LIMIT 1")[0]["id"]
        if not rows(copy, "SELECT 1 FROM witnesses"):
            assert cli("undo", copy, "--since", first, "--yes").code == 0
            assert picture(copy, ("memories",)) == before


# ---- the archive ----


def test_what_was_archived_is_found_and_restored_and_stays_then(
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
    assert states(memory_file)["m-shed"] == "archived"
    found = cli("recall", "--archived", memory_file, "where is the key of the shed?", "--json").json
    assert [(one["id"], one["status"]) for one in found["hits"]] == [("m-shed", "archived")]
    assert "m-shed" in cli("recall", "--archived", memory_file, "shed").out
    assert cli("recall", "--archived", memory_file, "shed", "--tenant", "other").out.endswith(
        "nothing was found in the archive.\n"
    )
    assert cli("undo", memory_file, "m-shed").code == 0
    aged(memory_file, embedder, limit=1)
    assert states(memory_file) == {"m-shed": "active", "m-tram": "archived", "m-mill": "active"}


def test_an_active_or_unknown_memory_cannot_be_made_active_again(
    memory_file: Path, cli: Cli
) -> None:
    put(memory_file, stored("stays"))
    for memory, said in (("stays", "already active"), ("nobody-here", "or memory 'nobody-here'")):
        ended = cli("undo", memory_file, memory)
        assert (ended.code, said in ended.err) == (1, True)
    assert cli("recall", "--archived", memory_file, " ").code == 2


# ---- gates ----


def said_by_gate(cli: Cli, *arguments: object) -> dict[str, Any] | None:
    gate: dict[str, Any] | None = cli("maintain", *arguments, "--json").json["gate"]
    return gate


def test_the_kill_switch_keeps_everything_from_being_done_and_says_where_it_is(
    lived: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = lived.with_name("slowwave.toml")
    config.write_text("enabled = false\n")
    before = lived.read_bytes()
    for more in ((), ("--dry-run",)):
        ended = cli("maintain", lived, "--phase", "all", *more)
        assert (ended.code, f"switched off by enabled in {config}" in ended.out) == (0, True)
    gate = said_by_gate(cli, lived, "--phase", "all")
    assert gate is not None
    assert gate["name"] == "enabled"
    assert lived.read_bytes() == before
    assert said_by_gate(cli, lived, setting("enabled", True), "--dry-run") is None
    config.unlink()
    monkeypatch.setenv("SLOWWAVE_ENABLED", "false")
    assert "SLOWWAVE_ENABLED" in cli("maintain", lived, "--phase", "all").out
    monkeypatch.delenv("SLOWWAVE_ENABLED")


def test_a_night_that_an_agent_ran_counts_as_the_last_run(
    memory_file: Path, cli: Cli, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, ["The office cat is called Pip.", "The office cat is called Pip."])
    with AgentMemory(memory_file, embedder=embedder) as memory:
        memory.consolidate()
    gate = said_by_gate(cli, memory_file, "--consolidate", setting("min_interval", "12h"))
    assert gate is not None
    assert gate["name"] == "min_interval"


def test_a_night_of_one_tenant_does_not_keep_that_of_all_from_beginning(
    memory_file: Path, cli: Cli, embedder: SentenceEmbedder
) -> None:
    twice = ["The office cat is called Pip.", "The office cat is called Pip."]
    fill(memory_file, [{"content": one, "tenant": of} for of in ("a", "b") for one in twice])
    with AgentMemory(memory_file, "a", embedder=embedder) as memory:
        memory.consolidate()
    gated = (memory_file, "--consolidate", setting("min_interval", "12h"))
    assert said_by_gate(cli, *gated, "--tenant", "a") is not None
    assert said_by_gate(cli, *gated) is None
    assert said_by_gate(cli, *gated, "--tenant", "a") is not None


def test_too_soon_after_the_last_run_nothing_is_done_and_the_numbers_are_said(
    memory_file: Path, cli: Cli
) -> None:
    fill(memory_file, ["The office cat is called Pip.", "The office cat is called Pip."])
    arguments = (memory_file, "--consolidate", setting("min_interval", "12h"))
    assert said_by_gate(cli, *arguments) is None
    began = rows(memory_file, "SELECT started_at FROM runs")[0]["started_at"]
    gate = said_by_gate(cli, *arguments)
    assert gate is not None
    assert (gate["name"], gate["needed"], gate["found"]) == ("min_interval", 12.0, 0.0)
    assert began[:16].replace("T", " ") in gate["why"]
    assert " minute" in gate["why"]
    then = datetime.fromisoformat(began) - timedelta(hours=13)
    execute(memory_file, "UPDATE runs SET started_at = ?", timestamp(then))
    assert said_by_gate(cli, *arguments) is None
    execute(memory_file, "UPDATE runs SET started_at = ?, outcome = 'failed'", began)
    assert said_by_gate(cli, *arguments) is None
    assert cli("maintain", memory_file, "--consolidate", setting("min_interval", "soon")).code == 2


def test_with_too_few_new_memories_nothing_is_done_and_the_numbers_are_said(
    memory_file: Path, cli: Cli
) -> None:
    fill(memory_file, ["The office cat is called Pip.", "The tram leaves at noon."])
    arguments = (memory_file, "--consolidate", setting("min_new", "3"))
    gate = said_by_gate(cli, *arguments)
    assert gate is not None
    assert (gate["name"], gate["needed"], gate["found"]) == ("min_new", 3, 2)
    fill(memory_file, ["Ada repairs the mill."])
    assert said_by_gate(cli, *arguments) is None
    gate = said_by_gate(cli, *arguments)
    assert gate is not None
    assert gate["found"] == 0


def test_what_an_ingest_stored_is_new_until_a_night_has_read_it(
    memory_file: Path, tmp_path: Path, cli: Cli
) -> None:
    chat = tmp_path / "chat.txt"
    chat.write_text("User: I own a red Brompton.\nAssistant: ok\nUser: My locker is 417.\n")
    assert cli("ingest", memory_file, chat).code == 0
    gate = said_by_gate(cli, memory_file, "--consolidate", setting("min_new", "3"))
    assert gate is not None
    assert gate["found"] == 2
    assert said_by_gate(cli, memory_file, "--consolidate", setting("min_new", "2")) is None
    gate = said_by_gate(cli, memory_file, "--consolidate", setting("min_new", "1"))
    assert gate is not None
    assert gate["found"] == 0
    # The same where a night wrote something.
    fill(memory_file, ["Ada repairs the mill.", "Ada repairs the mill"])
    chat.write_text("User: I teach Spanish in Graz.\nAssistant: ok\n")
    assert cli("ingest", memory_file, chat).code == 0
    assert said_by_gate(cli, memory_file, "--consolidate", setting("min_new", "3")) is None
    gate = said_by_gate(cli, memory_file, "--consolidate", setting("min_new", "1"))
    assert gate is not None
    assert gate["found"] == 0


# ---- the command ----


def test_a_limit_in_a_config_file_applies_only_to_its_phase(lived: Path, cli: Cli) -> None:
    lived.with_name("slowwave.toml").write_text("max_active = 2\nlimit = 3\n")
    assert cli("maintain", lived, "--dry-run", "--json").json["limit"] is None
    assert cli("maintain", lived, "--phase", "expire", "--dry-run", "--json").json["limit"] is None
    assert cli("maintain", lived, "--phase", "all", "--dry-run", "--json").json["limit"]["archived"]
    assert cli("maintain", lived, setting("max_active", 0)).code == 2


def test_the_keys_are_the_same_in_a_dry_and_a_real_run(
    lived: Path, cli: Cli, tmp_path: Path
) -> None:
    arguments = ("maintain", lived, "--phase", "all", setting("max_active", "4"), "--json")
    page = tmp_path / "night.html"
    dry, real = cli(*arguments, "--dry-run").json, cli(*arguments, setting("report", page)).json
    _check_report_of_all(page.read_text("utf-8"), real)
    assert list(dry) == list(real)
    for phase in ("expire", "limit"):
        assert list(dry[phase]) == list(real[phase])
        assert (dry[phase]["run"], real[phase]["run"] is None) == (None, False)
    texts = cli("log", lived).out
    assert "none: expire" in texts
    assert "none: limit" in texts
    run_id = real["limit"]["run"]
    assert f"{len(real['limit']['archived'])} memories archived." in cli("log", lived, run_id).out


def _check_report_of_all(page: str, night: dict[str, Any]) -> None:
    """Check that a page is about the whole night, and names what each phase took."""
    before, after = night["before"]["active"], night["after"]["active"]
    assert f'<p class="big">{before} → {after}</p>' in page
    for one in ("Expired: ", "what scratch says", "Archived: ", "what old 3 says", "what purged"):
        assert one in page
    assert "Take all of it back" not in page
    # Each run on the curve, the first with what there was and the last with what is left.
    drawn = re.findall(r"<title>[-0-9]+: (\d+) -&gt; (\d+) memories</title>", page)
    assert (drawn[0][0], drawn[-1][1]) == (str(before), str(after))


def test_what_was_archived_is_told_as_no_conflict(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    for number, port in enumerate((8016, 9999)):
        put(memory_file, stored(f"{number}", content=f"The depot service listens on port {port}."))
    assert len(night(memory_file, embedder, dry_run=True).conflicts) == 1
    assert not night(memory_file, embedder, dry_run=True, limit=1).conflicts
    assert not night(memory_file, embedder, limit=1).conflicts


def test_a_dry_run_lists_the_memories_and_why_and_changes_no_byte(lived: Path, cli: Cli) -> None:
    before = lived.read_bytes()
    said = cli(
        "maintain", lived, "--phase", "all", setting("max_active", "4"), "--dry-run", "--exit-code"
    )
    assert said.code == 4
    assert "what scratch says" in said.out
    assert "by layer=ephemeral,keep=1d" in said.out
    assert "To be archived: " in said.out
    assert lived.read_bytes() == before


def test_with_verbose_a_purge_says_of_each_memory_why_it_stays(lived: Path, cli: Cli) -> None:
    execute(lived, "UPDATE memories SET pinned = 1 WHERE id = 'purged'")
    said = cli("maintain", lived, "--phase", "purge", "--verbose").out
    assert "needed since pinned: " in said
    assert "what purged says (purged)" in said


def test_a_purge_and_its_dry_run_name_what_goes_and_say_that_it_is_for_good(
    lived: Path, cli: Cli
) -> None:
    for options, went in ((["--dry-run"], "would go"), ([], "went")):
        said = cli("maintain", lived, "--phase", "purge", *options).out
        assert f"A purge cannot be undone. These {went}:\n" in said
        # By its id.
        assert "what purged says (purged)\n" in said


# ---- a year, or the beginning of one ----


def test_some_weeks_of_nights_keep_their_limits_lose_nothing_and_let_go_what_must_go(
    tmp_path: Path, embedder: SentenceEmbedder, rounds: Callable[[int, int], int]
) -> None:
    year = Year(tmp_path / "year.db", embedder, a_day=6, limit=rounds(45, 150))
    for number in range(2, rounds(38, 122), 2):
        year.live(number)
    counts = year.count()
    assert counts["archived"]
    assert counts["expired"]
    assert counts["purged"]
