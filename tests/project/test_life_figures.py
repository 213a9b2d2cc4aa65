"""The figures of lives with known answers, on small cases."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cli_calls import in_a_process
from places import ROOT

from benchmarks.quality.known_answers import (
    Edge,
    Gold,
    GoldFact,
    GoldRule,
    Life,
    LifeFigures,
    Pair,
    Stored,
    gold_of,
    life_figures,
    two_values,
)
from benchmarks.quality.life import gold_of_night
from fixtures.night import load


def stored(id: str, content: str, day: int = 1) -> Stored:
    return Stored(id, "default", content, f"2026-03-{day:02d} 09:00:00")


def derived_row(id: str, content: str) -> Stored:
    return replace(stored(id, content, 9), derived=True)


def gone(memory: Stored, into: str) -> Stored:
    return replace(memory, active=False, superseded_by=into)


def edges(derived: str, sources: str, operation: str = "synthesize") -> list[Edge]:
    return [Edge(derived, source, operation) for source in sources.split()]


# A fact three times, a rule twice, an update, and one more memory, each of ten characters.
BEFORE = [
    stored("f1", "port 8080."),
    stored("f2", "8080 port.", 2),
    stored("f3", "use: 8080.", 3),
    stored("r1", "ask first."),
    stored("r2", "first ask.", 2),
    stored("u1", "node is 20"),
    stored("u2", "node is 22", 5),
    stored("x", "tea, no co"),
]
GOLD = Gold(
    facts=(GoldFact(("f1", "f2", "f3"), (("8080",), ("Port", "socket"))),),
    rules=(GoldRule(("r1", "r2")),),
    updates=(("u1", "u2"),),
    pairs={"apart": (("f1", "x"),), "contradictions": (("f3", "x"),)},
)


def figures(
    after: Sequence[Stored],
    lineage: Sequence[Edge] = (),
    conflicts: Sequence[Pair] = (),
    gold: Gold = GOLD,
) -> LifeFigures:
    """Compute the figures of a night after which these rows are as given, the others as before."""
    rows = {each.id: each for each in [*BEFORE, *after]}
    return life_figures(Life(BEFORE, list(rows.values()), lineage, conflicts, gold))


def perfect() -> tuple[list[Stored], list[Edge]]:
    """Return a night as it should be: 12 characters for the fact, 10 for the rule, 15, and 10."""
    f1, f2, f3, r1, r2, u1, u2, _ = BEFORE
    rows = [gone(each, "F") for each in (f1, f2, f3)]
    rows += [gone(r1, "r2"), gone(u1, "U"), gone(u2, "U")]
    rows += [derived_row("F", "port is 8080"), r2, derived_row("U", "node is 22, 20.")]
    lineage = edges("F", "f1 f2 f3") + edges("r2", "r1", "merge") + edges("U", "u1 u2", "update")
    return rows, lineage


def test_a_perfect_run_removes_everything_redundant() -> None:
    night = figures(*perfect())
    assert (night.memories.before, night.memories.after, night.memories.ideal) == (8, 4, 4)
    assert (night.characters.before, night.characters.after) == (80, 47)
    assert night.memories.removed == night.characters.removed == 1.0
    assert (night.lost, night.mixed, night.folded_wrongly, night.newest_lost) == ((), (), (), ())
    assert night.folded_rightly == ("f1", "f2", "f3", "r1", "u1", "u2")
    assert not any(night.joined.values())
    shares = (night.facts_once, night.rules_once, night.updated)
    assert [(len(each.right), each.total) for each in shares] == [(1, 1)] * 3
    assert not night.text_grows


def test_a_no_op_removes_nothing() -> None:
    result = figures([])
    assert result.memories.removed == result.characters.removed == 0.0
    assert (result.folded_rightly, result.folded_wrongly, result.lost) == ((), (), ())
    shares = (result.facts_once, result.rules_once, result.updated)
    assert [(len(each.right), each.total) for each in shares] == [(0, 1)] * 3
    assert result.details == 2
    assert figures([], gold=Gold()).memories.removed is None


@pytest.mark.parametrize(
    ("into", "lineage"),
    [
        # Both in one derived memory, by way of a second one.
        ({"f1": "A", "A": "B", "x": "B"}, edges("A", "f1") + edges("B", "A x")),
        # Sources of one derived memory that leaves both active.
        ({}, edges("A", "f1 x", "extract")),
        # One superseded by the other.
        ({"x": "f1"}, []),
        # Both superseded by the same one.
        ({"x": "f2", "f1": "f2"}, []),
    ],
)
def test_a_pair_that_must_stay_apart_is_counted_as_joined(
    into: dict[str, str], lineage: list[Edge]
) -> None:
    rows = [*BEFORE, derived_row("A", "a"), derived_row("B", "b")]
    result = figures([gone(row, into[row.id]) if row.id in into else row for row in rows], lineage)
    assert result.joined == {"apart": (("f1", "x"),), "traps": (), "contradictions": ()}
    assert len(result.mixed) == 1
    assert {"f1", "x"} <= set(result.mixed[0].ids)


def test_a_fact_merged_with_another_is_folded_wrongly() -> None:
    f1, f2, *_, x = BEFORE
    rows = [gone(memory, "A") for memory in (f1, f2, x)]
    result = figures([*rows, derived_row("A", "8080 port, tea, no co")])
    assert (result.folded_rightly, result.folded_wrongly) == ((), ("f1", "f2", "x"))
    assert [(each.into, each.ids) for each in result.wrong_folds] == [("A", ("f1", "f2", "x"))]


def test_evidence_that_stays_active_is_not_folded() -> None:
    f1, f2, *_ = BEFORE
    rows = [gone(f1, "A"), gone(f2, "A"), derived_row("A", "8080 port")]
    result = figures(rows, edges("A", "f1 f2 x"))
    assert result.folded_rightly == ("f1", "f2")
    assert [each.ids for each in result.mixed] == [("f1", "f2", "x")]


def test_a_memory_without_a_successor_is_folded_wrongly() -> None:
    assert figures([replace(BEFORE[0], active=False)]).folded_wrongly == ("f1",)


def test_a_detail_without_any_of_its_wordings_is_lost() -> None:
    f1, f2, f3, *_ = BEFORE
    rows = [gone(each, "F") for each in (f1, f2, f3)]
    assert figures([*rows, derived_row("F", "8080")]).lost == (("f1", ("Port", "socket")),)
    assert figures([*rows, derived_row("F", "socket 8080")]).lost == ()


def test_a_detail_in_another_tenant_is_lost() -> None:
    f1, f2, f3, *_ = BEFORE
    rows = [gone(each, "F") for each in (f1, f2, f3)]
    elsewhere = replace(derived_row("F", "port 8080"), tenant="other")
    assert len(figures([*rows, elsewhere]).lost) == 2
    never = Gold(facts=(GoldFact(("f1", "f2"), (("9090",),)),))
    assert figures([], gold=never).lost == ()


def test_a_newer_value_merged_into_an_older_one_is_lost() -> None:
    u1, u2 = BEFORE[5:7]
    result = figures([gone(u2, "u1")], edges("u1", "u2", "merge"))
    assert result.newest_lost == ("u2",)
    assert result.updated.wrong == (("u1", "u2"),)
    assert figures([gone(u1, "u2")]).newest_lost == ()


def test_only_an_update_counts_as_an_update() -> None:
    u1, _ = BEFORE[5:7]
    for operation, done in (("update", True), ("merge", False)):
        result = figures([gone(u1, "u2")], edges("u2", "u1", operation))
        assert bool(result.updated.right) is done


def test_a_fact_in_two_active_memories_is_not_stated_once() -> None:
    f1, f2, *_ = BEFORE
    result = figures([gone(f1, "A"), gone(f2, "A"), derived_row("A", "port 8080.")])
    assert result.facts_once.wrong == (("f1", "f2", "f3"),)


def test_conflicts_are_compared_by_what_their_memories_state() -> None:
    gold = replace(GOLD, two_values=(("r1", "x"),))
    listed: list[Pair] = [("f1", "x"), ("u1", "u2"), ("r2", "x"), ("f1", "r1"), ("u1", "x")]
    conflicts = figures([], conflicts=listed, gold=gold).conflicts
    # ("f3", "x") is a contradiction, and "f1" says what "f3" says.
    assert conflicts.right == (("f1", "x"), ("u1", "u2"), ("r2", "x"))
    assert conflicts.wrong == (("f1", "r1"), ("u1", "x"))


@pytest.mark.parametrize(
    ("first", "second", "contradict"),
    [
        ("The proxy listens on port 3000.", "The proxy listens on port `3128`.", True),
        ("Deploy on Mondays.", "Do not deploy on Mondays.", True),
        ("Invoices go out weekly.", "The weekly invoices never go out.", True),
        ("周五部署。", "周一部署。", True),
        ("Staging listens on port 80.", "Production listens on port 81.", False),
        ("Ida pays Bo.", "Bo pays Ida.", False),
    ],
)
def test_two_texts_can_give_one_thing_two_values(first: str, second: str, contradict: bool) -> None:
    assert two_values(first, second) is contradict


def test_the_gold_is_read_with_pairs_as_lists_or_as_objects() -> None:
    data = {
        "facts": [{"ids": ["a"], "details": [["x", "y"]]}],
        "rules": [{"ids": ["b", "c"], "restates": ["b"], "cases": ["c"]}],
        "updates": [{"ids": ["d", "e"], "explicit": True}],
        "apart": [["a", "d"], ["a", "e"]],
        "traps": [{"ids": ["b", "d"]}],
    }
    gold = gold_of(data, {"a": "Port 80.", "d": "Port 81.", "e": "Tea."})
    assert gold.facts == (GoldFact(("a",), (("x", "y"),)),)
    assert gold.rules[0].ids == ("b", "c")
    assert (gold.updates, gold.pairs_of("traps")) == ((("d", "e"),), (("b", "d"),))
    assert gold.two_values == (("a", "d"),)


def test_the_gold_contains_every_memory_of_a_night() -> None:
    fixture = load("lab")
    gold = gold_of_night(fixture)
    groups = [each["ids"] for name in ("facts", "rules", "updates") for each in gold[name]]
    ids = [each for group in groups for each in group] + gold["single"]
    assert sorted(ids) == sorted(each.id for each in fixture.memories)
    assert {each for pair in gold["apart"] for each in pair} <= set(ids)


def test_the_command_prints_the_main_figures_last(tmp_path: Path) -> None:
    texts = {"a": "The door code is 4711.", "b": "The door code is 4711.", "c": "Tea is at four."}
    rows = [
        {"id": id, "content": text, "observed_at": f"2026-03-0{day}T09:00:00+00:00"}
        for day, (id, text) in enumerate(texts.items(), 1)
    ]
    gold = {"facts": [{"ids": ["a", "b"], "details": [["4711"]]}], "rules": [], "updates": []}
    (tmp_path / "tiny.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "tiny.gold.json").write_text(json.dumps(gold), "utf-8")
    command = [sys.executable, "-m", "benchmarks.quality.life"]
    command += [str(tmp_path / name) for name in ("tiny.jsonl", "tiny.gold.json")]
    done = in_a_process(*command, cwd=ROOT, timeout=300).ends(0)
    lines = [line.rsplit("  ", 1) for line in done.out.splitlines()]
    shown = {label.strip(): figure.strip() for label, figure in lines}
    assert list(shown)[-12] == "redundant memories removed"
    assert (shown["redundant memories removed"], shown["details lost"]) == ("1.00", "0 of 1")
    assert (shown["facts stated once"], shown["second night does"]) == ("1 of 1", "nothing")
