"""What a night proposes, of small files: who leaves, who stays, and who is left alone."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import night as fixture
import pytest
from counting import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from nights import (
    PORT,
    TWINS,
    NoEmbedder,
    daily,
    execute,
    fill,
    night,
    of_one_thing,
    picture,
    rows,
    states,
)

from slowwave.consolidation.clustering import blocks
from slowwave.consolidation.proposals import Plan
from slowwave.consolidation.runtime import threads
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file

KNOWN = fixture.load()
FACTS = {fact["id"]: fact["wordings"] for fact in KNOWN.facts}
RULE = KNOWN.rules[0]["voicings"]


def test_memories_that_say_the_same_become_the_newest_of_them(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(TWINS, "twin", tags=["net"]))
    night(memory_file, embedder)
    assert states(memory_file) == {"twin-00": "superseded", "twin-01": "active"}
    loser = rows(memory_file, "SELECT * FROM memories WHERE id = 'twin-00'")[0]
    assert loser["superseded_by"] == "twin-01"
    edge = rows(memory_file, "SELECT * FROM synthesized_from")[0]
    assert (edge["derived_id"], edge["source_id"], edge["operation"]) == (
        "twin-01",
        "twin-00",
        "merge",
    )


def test_the_survivor_of_a_merge_is_the_most_trusted_and_unites_the_rest(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(
        memory_file,
        [
            {
                "id": "trusted",
                "content": TWINS[0],
                "trust": 0.9,
                "tags": ["a"],
                "session": "s1",
                "expires_at": "2027-01-01T00:00:00+00:00",
                "observed_at": "2026-01-01T00:00:00+00:00",
            },
            {
                "id": "newer",
                "content": TWINS[1],
                "importance": 5,
                "tags": ["b"],
                "session": "s2",
                "observed_at": "2026-02-01T00:00:00+00:00",
            },
        ],
    )
    night(memory_file, embedder)
    survivor = rows(memory_file, "SELECT * FROM memories WHERE status = 'active'")[0]
    assert survivor["id"] == "trusted"
    assert survivor["content"] == TWINS[0]
    assert survivor["tags"] == '["a","b"]'
    assert survivor["importance"] == 5
    # The other one never expires, so what it says must not either.
    assert survivor["expires_at"] is None
    assert survivor["metadata"] == '{"sessions":["s1","s2"]}'
    assert survivor["trust"] == 0.9


WORDINGS = [
    "Backups of the wiki run at 02:30 every night.",
    "The backup of the wiki runs at 02:30 every night and is stored on helga.",
]


PERSON, ENDED = {"origin": "human"}, {"expires_at": "2026-03-01T00:00:00+00:00"}
# What two memories say, what is known of each, the options of the night, and which of them stay.
PAIRS: dict[str, tuple[list[str], dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "a person's": (TWINS, PERSON, PERSON, {}, "both"),
    "a person's, if included": (TWINS, PERSON, PERSON, {"include_protected": True}, "later"),
    "pinned": (TWINS, {"pinned": True}, {"pinned": True}, {}, "both"),
    "core": (TWINS, {"layer": "core"}, {"layer": "core"}, {}, "both"),
    "a person's and an agent's": (TWINS, PERSON | {"trust": 0.1}, {"trust": 0.9}, {}, "earlier"),
    "the fuller is trusted less": (WORDINGS, {"trust": 0.9}, {"trust": 0.5}, {}, "both"),
    "of two tenants": (TWINS, {"tenant": "a"}, {"tenant": "b"}, {}, "both"),
    "past their end": (TWINS, ENDED, ENDED, {}, "both"),
}


@pytest.mark.parametrize(("texts", "first", "second", "options", "stay"), PAIRS.values(), ids=PAIRS)
def test_which_of_two_memories_that_say_the_same_stay(
    texts: list[str],
    first: dict[str, Any],
    second: dict[str, Any],
    options: dict[str, Any],
    stay: str,
    memory_file: Path,
    embedder: SentenceEmbedder,
) -> None:
    for memory, known, name in zip(
        daily(texts, "pair"), (first, second), ("earlier", "later"), strict=True
    ):
        fill(memory_file, [memory | known | {"id": name}])
    night(memory_file, embedder, **options)
    assert [name for name, state in states(memory_file).items() if state == "active"] == (
        ["earlier", "later"] if stay == "both" else [stay]
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memories SET status = 'active', superseded_by = NULL, superseded_at = NULL",
        # In a circle.
        "UPDATE memories SET status = 'superseded', superseded_by = 'twin-00' WHERE id = 'twin-01'",
    ],
)
def test_a_merge_that_an_agent_changed_with_sql_is_not_made_again(
    statement: str, memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    night(memory_file, embedder)
    execute(memory_file, statement)
    assert night(memory_file, embedder).plan.proposals == ()


def test_what_another_memory_tells_in_other_words_leaves_for_it(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(WORDINGS, "badge"))
    outcome = night(memory_file, embedder)
    assert [proposal.operation for proposal in outcome.plan.proposals] == ["merge"]
    assert states(memory_file) == {"badge-00": "superseded", "badge-01": "active"}
    (stays,) = rows(memory_file, "SELECT content FROM memories WHERE id = 'badge-01'")
    assert stays["content"] == WORDINGS[1]
    assert night(memory_file, embedder).plan.proposals == ()


def test_only_the_tenant_named_is_consolidated(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    for tenant in ("one", "two"):
        fill(memory_file, daily(TWINS, tenant, tenant=tenant))
    outcome = night(memory_file, embedder, tenants=("two",))
    assert {result.proposal.tenant for result in outcome.results} == {"two"}
    assert states(memory_file)["one-00"] == "active"
    assert outcome.before.active == 2


def test_only_the_operations_named_are_carried_out(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, [*daily(TWINS, "twin"), *daily(of_one_thing(), "oncall")])
    outcome = night(memory_file, embedder, only=frozenset({"merge"}))
    assert {result.proposal.operation for result in outcome.results} == {"merge"}


@cache
def mixed() -> list[dict[str, Any]]:
    """Return memories of every kind, with vectors: duplicates, near twins, rules, updates."""
    texts = [told.text for told in KNOWN.memories[::11]]
    memories = [
        *daily(TWINS, "twin"),
        *daily(of_one_thing(), "oncall"),
        *daily(RULE, "rule"),
        *({"id": f"m-{at:03d}", "content": text} for at, text in enumerate(texts)),
    ]
    vectors = SentenceEmbedder().encode([memory["content"] for memory in memories]).tolist()
    return [
        memory | {"embedding": vector, "embedding_model": SentenceEmbedder().name}
        for memory, vector in zip(memories, vectors, strict=True)
    ]


@given(order=st.randoms(use_true_random=False), cores=st.integers(1, 5))
@settings(max_examples=examples(8), database=None)
def test_a_night_is_the_same_id_by_id_for_any_order_of_rows_and_number_of_threads(
    order: random.Random, cores: int
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "cores", lambda: cores)
        patch.setattr(blocks, "BLOCK", 16)
        path = Path(folder) / "memory.db"
        create_file(path)
        fill(path, order.sample(mixed(), len(mixed())))
        outcome = night(path, SentenceEmbedder())
        assert outcome.plan.proposals
        assert len(outcome.plan.undecided) > 0
        assert (outcome.plan, states(path)) == of_one_core()


@cache
def of_one_core() -> tuple[Plan, dict[str, str]]:
    """Return the plan of such a night in one thread, and the states of memories after it."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "cores", lambda: 1)
        path = Path(folder) / "memory.db"
        create_file(path)
        fill(path, mixed())
        return night(path, SentenceEmbedder()).plan, states(path)


def test_a_refused_pair_carries_both_values(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, [PORT.format(8080), PORT.format(9090)])
    refused = night(memory_file, embedder).plan.refused
    assert [(item.guard, item.why) for item in refused] == [("value", "8080 vs. 9090")]


def test_a_dry_run_with_vectors_needs_no_embedding_model(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(of_one_thing(), "oncall"))
    vectors = embedder.encode(of_one_thing()).tolist()
    path = memory_file.with_name("with-vectors.db")
    create_file(path)
    memories = zip(daily(of_one_thing(), "oncall"), vectors, strict=True)
    space = {"embedding_model": embedder.name}
    fill(path, [memory | space | {"embedding": vector} for memory, vector in memories])
    planned = night(path, NoEmbedder(embedder.name), dry_run=True)
    assert planned.plan.digest == night(memory_file, embedder, dry_run=True).plan.digest


def test_only_changed_texts_are_embedded_again(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(["The dishwasher is broken.", "Rosa waters the plants."], "plain"))
    night(memory_file, embedder)
    before = picture(memory_file, ["embeddings"])["embeddings"]
    execute(
        memory_file, "UPDATE memories SET content = 'The oven is broken.' WHERE id = 'plain-00'"
    )
    night(memory_file, embedder)
    after = {row["memory_id"]: row for row in picture(memory_file, ["embeddings"])["embeddings"]}
    assert all(
        (after[row["memory_id"]]["vector"] == row["vector"]) == (row["memory_id"] == "plain-01")
        for row in before
    )
    assert len(before) == 2
