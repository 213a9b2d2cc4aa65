"""What a night proposes for small files: what leaves, stays, or is unchanged."""

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
from nights import TWINS, daily, execute, fill, night, of_one_thing, rows, states

from slowwave.consolidation.clustering import blocks
from slowwave.consolidation.proposals import Plan
from slowwave.consolidation.runtime import threads
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file

KNOWN = fixture.load()
FACTS = {fact["id"]: fact["wordings"] for fact in KNOWN.facts}
RULE = KNOWN.rules[0]["voicings"]


def test_twins_are_merged_into_the_newest(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, daily(TWINS, "twin", tags=["net"]))
    night(memory_file, embedder)
    assert states(memory_file) == {"twin-00": "superseded", "twin-01": "active"}
    gone = rows(memory_file, "SELECT superseded_by FROM memories WHERE id = 'twin-00'")
    assert gone == [{"superseded_by": "twin-01"}]
    edges = rows(memory_file, "SELECT derived_id, source_id, operation FROM synthesized_from")
    assert edges == [{"derived_id": "twin-01", "source_id": "twin-00", "operation": "merge"}]


def test_the_most_trusted_twin_survives(memory_file: Path, embedder: SentenceEmbedder) -> None:
    trusted, newer = daily(TWINS, "twin")
    trusted |= {"trust": 0.9, "tags": ["a"], "expires_at": "2027-01-01T00:00:00+00:00"}
    newer |= {"importance": 5, "tags": ["b"]}
    fill(memory_file, [trusted, newer])
    night(memory_file, embedder)
    (survivor,) = rows(memory_file, "SELECT * FROM memories WHERE status = 'active'")
    assert (survivor["id"], survivor["content"], survivor["trust"]) == ("twin-00", TWINS[0], 0.9)
    assert (survivor["tags"], survivor["importance"]) == ('["a","b"]', 5)
    # The newer memory never expires, so neither does the survivor.
    assert survivor["expires_at"] is None
    assert survivor["metadata"] == '{"sessions":["twin-0","twin-1"]}'


WORDINGS = [
    "Backups of the wiki run at 02:30 every night.",
    "The backup of the wiki runs at 02:30 every night and is stored on helga.",
]


PERSON, ENDED = {"origin": "human"}, {"expires_at": "2026-03-01T00:00:00+00:00"}
BOTH = ["earlier", "later"]
# Two texts, the fields of each, the options of the night, and the memories that stay active.
PAIRS: dict[str, tuple[list[str], dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = {
    "a person's": (TWINS, PERSON, PERSON, {}, BOTH),
    "a person's, if included": (TWINS, PERSON, PERSON, {"include_protected": True}, ["later"]),
    "pinned": (TWINS, {"pinned": True}, {"pinned": True}, {}, BOTH),
    "core": (TWINS, {"layer": "core"}, {"layer": "core"}, {}, BOTH),
    "a person's and an agent's": (TWINS, PERSON | {"trust": 0.1}, {"trust": 0.9}, {}, ["earlier"]),
    "the fuller is trusted less": (WORDINGS, {"trust": 0.9}, {"trust": 0.5}, {}, BOTH),
    "of two tenants": (TWINS, {"tenant": "a"}, {"tenant": "b"}, {}, BOTH),
    "expired": (TWINS, ENDED, ENDED, {}, BOTH),
}


@pytest.mark.parametrize(("texts", "first", "second", "options", "stay"), PAIRS.values(), ids=PAIRS)
def test_protected_and_foreign_twins_stay(
    texts: list[str],
    first: dict[str, Any],
    second: dict[str, Any],
    options: dict[str, Any],
    stay: list[str],
    memory_file: Path,
    embedder: SentenceEmbedder,
) -> None:
    earlier, later = daily(texts, "pair")
    fill(memory_file, [earlier | first | {"id": "earlier"}, later | second | {"id": "later"}])
    night(memory_file, embedder, **options)
    assert [name for name, state in states(memory_file).items() if state == "active"] == stay


def test_a_circle_of_successors_is_ignored(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    night(memory_file, embedder)
    circle = "status = 'superseded', superseded_by = 'twin-00'"
    execute(memory_file, f"UPDATE memories SET {circle} WHERE id = 'twin-01'")
    assert night(memory_file, embedder).plan.proposals == ()


def test_only_the_named_tenant_is_planned(memory_file: Path, embedder: SentenceEmbedder) -> None:
    for tenant in ("one", "two"):
        fill(memory_file, daily(TWINS, tenant, tenant=tenant))
    outcome = night(memory_file, embedder, tenants=("two",))
    assert {result.proposal.tenant for result in outcome.results} == {"two"}
    assert states(memory_file)["one-00"] == "active"
    assert outcome.before.active == 2


def test_only_named_operations_are_applied(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, [*daily(TWINS, "twin"), *daily(of_one_thing(), "oncall")])
    outcome = night(memory_file, embedder, only=frozenset({"merge"}))
    assert {result.proposal.operation for result in outcome.results} == {"merge"}


@cache
def mixed() -> list[dict[str, Any]]:
    """Return memories of every kind, with vectors: duplicates, near twins, rules, updates."""
    texts = [memory.text for memory in KNOWN.memories[::11]]
    memories = [
        *daily(TWINS, "twin"),
        *daily(of_one_thing(), "oncall"),
        *daily(RULE, "rule"),
        *({"id": f"m-{index:03d}", "content": text} for index, text in enumerate(texts)),
    ]
    vectors = SentenceEmbedder().encode([memory["content"] for memory in memories]).tolist()
    return [
        memory | {"embedding": vector, "embedding_model": SentenceEmbedder().name}
        for memory, vector in zip(memories, vectors, strict=True)
    ]


@given(order=st.randoms(use_true_random=False), cores=st.integers(1, 5))
@settings(max_examples=examples(8), database=None)
def test_plans_do_not_depend_on_row_order_or_threads(order: random.Random, cores: int) -> None:
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
    """Return the plan of such a night in one thread, and the states of memories afterwards."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "cores", lambda: 1)
        path = Path(folder) / "memory.db"
        create_file(path)
        fill(path, mixed())
        return night(path, SentenceEmbedder()).plan, states(path)


def test_only_changed_texts_are_embedded(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, daily(["The dishwasher is broken.", "Rosa waters the plants."], "plain"))
    night(memory_file, embedder)
    vectors = "SELECT vector FROM embeddings ORDER BY memory_id"
    first, second = rows(memory_file, vectors)
    change = "UPDATE memories SET content = 'The oven is broken.' WHERE id = 'plain-00'"
    execute(memory_file, change)
    night(memory_file, embedder)
    changed, same = rows(memory_file, vectors)
    assert (changed != first, same == second) == (True, True)
