"""Tracing lineage to its sources and to what was derived."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from builders import LATER, a_memory, changing, copy_of, put
from cli_calls import Cli, Ended
from counting import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from nights import execute

from slowwave.store.file import open_reading
from slowwave.store.lineage import (
    Edge,
    Lineage,
    Relative,
    add_edges,
    read_edges,
    read_source_edges,
    trace_derived,
    trace_sources,
)

Tree = dict[str, Any]


def edge(derived: str, source: str, **fields: Any) -> dict[str, Any]:
    return {
        "derived_id": derived,
        "source_id": source,
        "operation": "synthesize",
        "run_id": "run-1",
        "source_hash": f"hash of {source}",
        "source_content": None,
        "created_at": LATER,
        **fields,
    }


def cite(path: Path, *edges: dict[str, Any]) -> None:
    with changing(path) as file:
        add_edges(file, edges)


def tree(lineage: Lineage) -> Tree:
    """Return nested ids; a cycle is followed once."""

    def nested(memory: str, path: frozenset[str]) -> Tree:
        steps = [item.id for item in lineage.steps.get(memory, ())]
        return {source: nested(source, path | {source}) for source in steps if source not in path}

    return nested(lineage.start, frozenset({lineage.start}))


def sources(path: Path, memory: str) -> Tree:
    with open_reading(path) as file:
        return tree(trace_sources(file, memory))


def derived(path: Path, memory: str) -> Tree:
    with open_reading(path) as file:
        return tree(trace_derived(file, memory))


@pytest.fixture
def family(memory_file: Path) -> Path:
    """Provide f, made from d and e, of which d was made from a and b, and e from b and c."""
    put(memory_file, *(a_memory(item, f"text {item}") for item in "abcdef"))
    pairs = ["da", "db", "eb", "ec", "fd", "fe"]
    cite(memory_file, *(edge(*pair) for pair in pairs))
    return memory_file


def test_each_step_has_its_operation_and_current_content(family: Path) -> None:
    execute(family, "UPDATE memories SET status = 'superseded' WHERE id = 'a'")
    execute(family, "UPDATE synthesized_from SET operation = 'merge', run_id = 'run-2'")
    with open_reading(family) as file:
        first = trace_sources(file, "d").steps["d"][0]
        (above,) = trace_derived(file, "d").steps["d"]
    assert first == Relative("a", "merge", "run-2", "text a", "superseded")
    assert above == Relative("f", "merge", "run-2", "text f", "active")


def test_sources_are_ordered_by_observation(family: Path) -> None:
    execute(family, "UPDATE memories SET observed_at = '2026-01-01' WHERE id = 'b'")
    assert list(sources(family, "d")) == ["b", "a"]


def test_deleted_sources_keep_their_content(family: Path) -> None:
    execute(family, "DELETE FROM memories WHERE id IN ('a', 'd')")
    with open_reading(family) as file:
        steps = trace_sources(file, "f").steps
    by_id = {source.id: source for source in steps["f"]}
    assert (by_id["d"].content, by_id["d"].status) == ("text d", "gone")
    gone, stored = sorted(steps["d"], key=lambda item: item.id)
    assert (gone.id, gone.content, gone.status) == ("a", "text a", "gone")
    assert (stored.id, stored.content, stored.status) == ("b", "text b", "active")


def test_a_deleted_memory_can_be_traced(family: Path) -> None:
    execute(family, "DELETE FROM memories WHERE id = 'd'")
    assert sources(family, "d") == {"a": {}, "b": {}}
    assert derived(family, "d") == {"f": {}}


def test_a_source_without_stored_content_is_empty(memory_file: Path) -> None:
    put(memory_file, a_memory("d"))
    cite(memory_file, edge("d", "lost"))
    with open_reading(memory_file) as file:
        (lost,) = trace_sources(file, "d").steps["d"]
    assert (lost.content, lost.status) == ("", "gone")


@settings(max_examples=examples(50))
@given(pairs=st.sets(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), max_size=9))
def test_lineage_agrees_both_ways(pairs: set[tuple[str, str]], empty_file: Path) -> None:
    path = copy_of(empty_file, empty_file.with_name("lineage.db"))
    put(path, *(a_memory(item) for item in "abcde"))
    cite(path, *(edge(*pair) for pair in pairs))

    def reached(start: str, seen: frozenset[str]) -> frozenset[str]:
        for item, source in pairs:
            if item == start and source not in seen:
                seen = reached(source, seen | {source})
        return seen

    def names(nested: Tree) -> set[str]:
        return set(nested).union(*map(names, nested.values())) if nested else set()

    with open_reading(path) as file:
        up = {item: names(tree(trace_sources(file, item))) for item in "abcde"}
        down = {item: names(tree(trace_derived(file, item))) for item in "abcde"}
    assert up == {item: set(reached(item, frozenset({item})) - {item}) for item in "abcde"}
    assert {(item, second) for item in "abcde" for second in up[item]} == {
        (second, item) for item in "abcde" for second in down[item]
    }


def test_edges_belong_to_the_tenant_of_the_derived_memory(family: Path) -> None:
    execute(family, "UPDATE memories SET tenant = 'other' WHERE id = 'f'")
    with open_reading(family) as file:
        mine, rest = read_edges(file, "default"), read_edges(file, "other")
    assert [item.derived_id + item.source_id for item in mine] == ["da", "db", "eb", "ec"]
    assert rest == [
        Edge("f", source, "synthesize", "run-1", f"hash of {source}", None) for source in "de"
    ]


def test_edges_can_include_the_texts_of_inactive_sources(family: Path) -> None:
    execute(family, "UPDATE memories SET status = 'superseded' WHERE id = 'a'")
    execute(family, "DELETE FROM memories WHERE id = 'b'")
    with open_reading(family) as file:
        texts = [
            [
                row["source_content"]
                for row in read_source_edges(file, memory, with_texts=with_texts)
            ]
            for memory, with_texts in (("d", False), ("d", True), ("f", True))
        ]
    assert texts == [[None, "text b"], ["text a", "text b"], [None, None]]


# ---- the command ----


def trace(cli: Cli, *arguments: object) -> Ended:
    return cli("show", "--lineage", *arguments).ends(0)


def flat(answer: dict[str, Any], behind: str) -> list[dict[str, Any]]:
    """Return every entry of the JSON of a lineage as a flat list."""
    further = (each for more in answer[f"further_{behind}"] for each in more[behind])
    waiting = [*answer[behind], *further]
    for item in waiting:
        waiting += item[behind]  # the list grows while it is walked
    return waiting


_SIDES = ("sources", "derived")


@pytest.fixture
def dynasty(memory_file: Path) -> Path:
    """Provide 1,000 generations in a line."""
    names = [f"m-{number:04d}" for number in range(1_001)]
    put(memory_file, *(a_memory(name) for name in names))
    cite(memory_file, *(edge(later, name) for name, later in pairwise(names)))
    return memory_file


def test_a_thousand_generations_are_shown(dynasty: Path, cli: Cli) -> None:
    answer = trace(cli, dynasty, "m-0500", "--json").json
    ids = {side: sorted(each["id"] for each in flat(answer, side)) for side in _SIDES}
    assert ids == {
        "sources": [f"m-{number:04d}" for number in range(500)],
        "derived": [f"m-{number:04d}" for number in range(501, 1_001)],
    }
    ends = [source["id"] for source in flat(answer, "sources") if source.get("continued")]
    assert [source["id"] for source in answer["further_sources"]] == ends
    assert len(ends) == 4
    text = trace(cli, dynasty, "m-1000").out
    assert all(f"m-{number:04d}" in text for number in range(1_000))
    assert "derived from, continued from m-0988" in text
    assert max(map(len, text.splitlines())) <= 140


def test_a_source_of_many_paths_is_shown_once(memory_file: Path, cli: Cli) -> None:
    # Two memories in each of 40 generations, each made from both before: 2^40 ways.
    rows = [(f"left-{number:02d}", f"right-{number:02d}") for number in range(40)]
    put(memory_file, *(a_memory(item) for row in rows for item in row))
    for row, above in pairwise(rows):
        cite(memory_file, *(edge(child, item) for child in above for item in row))
    answer = trace(cli, memory_file, "left-39", "--json").json
    entries = flat(answer, "sources")
    assert len(entries) == 2 * 2 * 39 - 2
    whole = [entry["id"] for entry in entries if not entry.get("seen")]
    assert set(whole) == {item for row in rows[:-1] for item in row}
    assert len(trace(cli, memory_file, "left-39").out.splitlines()) < 200


def test_a_repeated_source_refers_to_its_first_occurrence(family: Path, cli: Cli) -> None:
    cite(family, edge("b", "c"))
    answer = trace(cli, family, "f", "--json").json
    first, second = (
        next(source for source in parent["sources"] if source["id"] == "b")
        for parent in answer["sources"]
    )
    assert [source["id"] for source in first["sources"]] == ["c"]
    assert "seen" not in first
    assert (second["sources"], second["seen"]) == ([], True)
    assert "shown elsewhere" in trace(cli, family, "f").out
