"""Windows: clusters by DBSCAN, cut to fit, and packed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest
from answerers import result_of
from counting import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from model_nights import (
    FACTS,
    HOTEL,
    JONAH,
    TOMORROW,
    Agent,
    a_fact,
    active_texts,
    texts_of,
    writing,
)
from model_server import Answer, Asked, answering, approval, group, groups
from nights import NOW, SlowEmbedder, daily, execute, night
from numpy.typing import NDArray
from sklearn.cluster import DBSCAN

from slowwave.consolidation.agent.rounds import AgentRound
from slowwave.consolidation.clustering.clusters import find_clusters, pack
from slowwave.consolidation.clustering.neighbours import similar_pairs
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.planning import windows
from slowwave.consolidation.thresholds import WIDE_EPS

Vectors = NDArray[np.float32]


def scattered(count: int, seed: int, spread: float) -> Vectors:
    """Return unit vectors scattered around a few middles."""
    numbers = np.random.default_rng(seed)
    middles = numbers.normal(size=(max(1, count // 8), 8))
    vectors = middles[numbers.integers(len(middles), size=count)]
    vectors = vectors + spread * numbers.normal(size=(count, 8))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@st.composite
def texts(draw: st.DrawFn) -> tuple[Vectors, list[int], int]:
    """Return vectors, their sizes, and the limit of a window."""
    count = draw(st.integers(1, 60))
    vectors = scattered(count, draw(st.integers(0, 10_000)), draw(st.sampled_from([0.1, 0.3, 0.6])))
    sizes = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    return vectors, sizes, draw(st.integers(3, 40))


def clusters_of(
    vectors: Vectors, sizes: Sequence[int], most: int, eps: float = WIDE_EPS
) -> list[list[int]]:
    """Return the parts of clusters of some vectors."""
    return find_clusters(similar_pairs(vectors, 1.0 - eps), eps, sizes, most)


@settings(max_examples=examples(20))
@given(given_texts=texts(), eps=st.sampled_from([0.1, 0.3]))
def test_each_clustered_text_is_in_a_part_that_fits_and_noise_is_not(
    given_texts: tuple[Vectors, list[int], int], eps: float
) -> None:
    vectors, sizes, most = given_texts
    parts = clusters_of(vectors, sizes, most)
    graph = similar_pairs(vectors, 1.0 - WIDE_EPS).as_graph(np.float32(WIDE_EPS))
    scan = DBSCAN(eps=WIDE_EPS + 1e-4, min_samples=2, metric="precomputed")
    labels = scan.fit_predict(graph)
    assert sorted(row for part in parts for row in part) == np.flatnonzero(labels >= 0).tolist()
    for part in parts:
        assert len(set(labels[part])) == 1
        assert len(part) == 1 or sum(sizes[row] for row in part) <= most
    # Those of one cluster follow each other, so that they are packed together where they fit.
    order = [int(labels[part[0]]) for part in parts]
    assert order == sorted(order)
    # A smaller eps never shows more.
    assert {*chain(*clusters_of(vectors, sizes, most, eps))} <= {*chain(*parts)}


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=30),
    most=st.integers(9, 30),
    seed=st.integers(0, 99),
)
def test_parts_are_packed_whole_into_windows(sizes: list[int], most: int, seed: int) -> None:
    rows = list(range(len(sizes)))
    cuts = sorted(random.Random(seed).sample(rows, len(rows) // 2))  # noqa: S311 - a test
    parts = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    parts = [part for part in parts if 0 < sum(sizes[row] for row in part) <= most]
    packed = pack(parts, sizes, most)
    assert sorted(row for window in packed for row in window) == sorted(chain(*parts))
    assert all(sum(sizes[row] for row in window) <= most for window in packed)
    for part in parts:
        assert any(set(part) <= set(window) for window in packed)


# ----------------------------------------------------------------- of a file


def shown(agent: Agent) -> list[list[str]]:
    """Return the texts of the memories of each question."""
    return [
        [memory.text for memory in asked.memories] for asked in agent.server.asked if asked.memories
    ]


def place_at(agent: Agent, angle: float, text: str, axis: int = 1) -> None:
    """Place a text at an angle in degrees from the first axis, towards another axis."""
    vector = np.zeros(384)
    vector[0], vector[axis] = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    agent.vectors[text] = vector.tolist()


def test_a_smaller_eps_shows_fewer_memories(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.remember([memory for name in FACTS for memory in a_fact(name)])
    (wide,) = agent.sleep(dry_run=True).plan.windows
    monkeypatch.setattr(windows, "WIDE_EPS", 0.15)
    narrow = agent.sleep(dry_run=True).plan.windows
    assert {memory for window in narrow for memory in window.memories} < set(wide.memories)


def test_memories_without_neighbors_are_in_no_question(agent: Agent) -> None:
    texts = ["The kettle is blue.", "Henrik sings in a choir.", "The build takes an hour."]
    agent.remember(daily(texts, "apart"))
    assert agent.sleep().asked == ()
    assert agent.server.asked == []


@pytest.fixture
def arc(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fill a file with a chain of memories, 20 degrees apart, too long for one window."""
    texts = [f"Plot {letter} of the garden lies beside the next one." for letter in "ABCDEF"]
    for number, text in enumerate(texts):
        place_at(agent, 20.0 * number + number % 2, text)
    agent.remember(daily(texts, "plot"))
    monkeypatch.setattr(windows, "WINDOW_TOKENS", 60)
    return texts


def test_neighbors_across_a_cut_are_shown_in_the_same_night(agent: Agent, arc: list[str]) -> None:
    agent.server.responder = writing()
    first = len(agent.sleep().plan.windows)
    earlier, across = shown(agent)[:first], shown(agent)[first:]
    assert len(earlier) > 1
    assert sorted(text for window in earlier for text in window) == sorted(arc)
    assert across
    for window in across:
        assert not any(set(window) <= set(seen) for seen in earlier)
    agent.server.forget()
    assert agent.sleep(now=TOMORROW).asked == ()
    assert agent.server.asked == []


def test_an_interrupted_second_plan_keeps_earlier_results(agent: Agent, arc: list[str]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    def write(asked: Asked) -> Answer:
        if asked.memories[0].text == arc[0]:
            return joined(asked, 2)
        # The second plan does not know it.
        execute(agent.path, "DELETE FROM memories WHERE content = ?", arc[0])
        return groups()

    agent.server.responder = answering(write, approval)
    # The third text that is embedded is the first of the second plan.
    slow = SlowEmbedder(agent.embedder, interrupt, 3)
    outcome = night(agent.path, slow, writer=agent.writer())
    assert outcome.interrupted
    assert len(outcome.results) == 1


def joined_once(asked: Asked) -> Answer:
    """Join the memories that are shown unless one of them is derived."""
    return groups() if any(memory.is_derived for memory in asked.memories) else joined(asked)


def test_agents_are_asked_across_a_cut(agent: Agent, arc: list[str], tmp_path: Path) -> None:
    alone = tmp_path / "alone.db"
    copyfile(agent.path, alone)
    agent.server.responder = answering(joined_once, approval)
    served = agent.sleep()
    listing = AgentRound(alone, CycleOptions(), agent.embedder, NOW).questions()
    first = listing.windows
    while listing.questions:
        answers = {}
        for question in listing.questions:
            asked = Asked({}, {"messages": question.messages})
            answer = approval(asked) if asked.drafts else joined_once(asked)
            answers[question.id] = json.dumps(answer)
        reply = AgentRound(alone, CycleOptions(), agent.embedder, NOW).give(answers)
        listing = reply.left
    assert reply.outcome is not None
    assert len(reply.outcome.asked) > first > 1
    assert {each.state for each in reply.outcome.asked} == {"applied"}
    assert reply.outcome.usage.cached == served.usage.calls
    assert result_of(alone) == result_of(agent.path)
    # What was made of a window is shown with what lies across the cut.
    assert any(memory.is_derived for asked in agent.server.asked for memory in asked.memories)
    assert len(active_texts(agent)) < len(arc)


def test_derived_memories_of_a_day_are_shown_in_a_fixed_order(
    agent: Agent, arc: list[str], tmp_path: Path
) -> None:
    execute(agent.path, "UPDATE memories SET observed_at = ?", NOW.isoformat())
    paths = [tmp_path / f"{number}.db" for number in range(4)]
    for path in paths:
        copyfile(agent.path, path)
    agent.server.responder = answering(joined_once, approval)
    orders = []
    for path in paths:
        agent.server.forget()
        replace(agent, path=path).sleep()
        orders.append(shown(agent))
    assert any(memory.is_derived for asked in agent.server.asked for memory in asked.memories)
    assert orders == [orders[0]] * 4


def joined(asked: Asked, count: int | None = None) -> Answer:
    """Join the memories that are shown, or the first of them."""
    memories = asked.memories[:count]
    letters = [memory.text.split()[1] for memory in memories]
    return groups(group("synthesize", memories, f"Plots {', '.join(letters)}."))


def test_new_memories_are_shown_with_their_neighbors_only(agent: Agent) -> None:
    agent.remember([*a_fact(), *a_fact(JONAH), *a_fact(HOTEL)])
    agent.server.responder = writing()
    agent.sleep()
    agent.server.forget()
    new = "The user's nephew Jonah booked a hotel in Bled."
    agent.remember(daily([new], "new", first_day=10))
    agent.sleep(now=TOMORROW)
    (texts,) = shown(agent)
    assert set(texts) >= {*texts_of(HOTEL), new}
    assert not set(texts) & set(texts_of(FACTS[0]))
