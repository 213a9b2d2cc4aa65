"""The network that says whether one sentence tells all that another says."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from places import ROOT

from slowwave.consolidation.comparison.entailment import GRAPH, Entailment

# Outside of every package: it takes torch, and nothing that is installed needs it.
MODEL = ROOT / "model"
PAIRS = [
    ("The gate closes at ten.", "At ten the gate is shut."),
    ("The gate closes at ten.", "The gate opens at ten."),
    ("Rosa taught Petra to swim.", "Petra taught Rosa to swim, in the lake behind the old mill."),
]


@pytest.fixture(scope="module")
def training() -> Any:
    """Provide the module that trains it, which no type checker should follow into torch."""
    sys.path.insert(0, str(MODEL))
    try:
        return __import__("train_entailment")
    finally:
        sys.path.remove(str(MODEL))


@pytest.fixture(scope="module")
def network(training: Any) -> Any:
    """Provide the packaged network as it was trained."""
    network = training.Network()
    network.take(GRAPH)
    return network.eval()


@pytest.mark.slow
def test_the_packaged_network_computes_as_the_one_that_was_trained(
    training: Any, network: Any
) -> None:
    pairs = [training.Pair(claim, premise, True, "") for claim, premise in PAIRS]
    with torch.no_grad():
        likely = network(*training.batch_of(pairs, training.pieces_of(pairs))).exp()
    assert Entailment().likelihoods(PAIRS) == pytest.approx(likely.tolist(), abs=1e-4)


def test_the_graph_can_be_made_anew_from_what_was_trained(training: Any, network: Any) -> None:
    graph = training.entailment(training.MODEL, network.trained())
    assert graph.SerializeToString(deterministic=True) == GRAPH.read_bytes()


def test_a_sentence_is_told_rather_by_one_that_says_more_than_by_one_that_says_less() -> None:
    plain = "The hallway heater turns itself off when a window is open."
    more = "When a window is open, the heater in the hallway goes off, which saves a lot of gas."
    kept, lost = Entailment().likelihoods([(plain, more), (more, plain)])
    assert kept > 2 * lost


def test_pairs_asked_at_once_or_one_by_one_are_told_alike() -> None:
    alone = [Entailment().likelihoods([pair])[0] for pair in PAIRS]
    assert Entailment().likelihoods(PAIRS) == pytest.approx(alone, abs=1e-5)
    assert Entailment().likelihoods([]) == []


def test_a_question_that_was_asked_before_has_the_same_answer() -> None:
    entailment = Entailment()
    first = entailment.likelihoods(PAIRS)
    assert entailment.likelihoods([*PAIRS[::-1], *PAIRS]) == [*first[::-1], *first]


def test_a_sentence_of_any_length_has_an_answer() -> None:
    (likely,) = Entailment().likelihoods([("word " * 500, "another " * 500)])
    assert 0 <= likely <= 1
