"""The network that says whether one sentence tells all that another says."""

from __future__ import annotations

import json
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import torch
from places import ROOT

from slowwave.consolidation.comparison.entailment import GRAPH, ROUGH, entailed, likelihoods_of
from slowwave.consolidation.thresholds import ENTAILED, ENTAILED_ANCHORED

# Outside of every package: it takes torch, and nothing that is installed needs it.
MODEL = ROOT / "model"
UNSEEN = ROOT / "fixtures" / "entailment" / "unseen"
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
    network.load(GRAPH)
    return network.eval()


@pytest.mark.slow
def test_the_packaged_network_equals_the_trained_one(training: Any, network: Any) -> None:
    pairs = [training.Pair(claim, premise, True, "") for claim, premise in PAIRS]
    with torch.no_grad():
        likely = network(*training.batch_of(pairs, training.pieces_of(pairs))).exp()
    assert likelihoods_of(PAIRS) == pytest.approx(likely.tolist(), abs=1e-4)


@pytest.mark.parametrize("path", [GRAPH, ROUGH])
def test_the_graph_can_be_rebuilt_from_its_weights(training: Any, network: Any, path: Path) -> None:
    stored = training.stored_in(path) | network.trained()
    graph = training.entailment(training.MODEL, stored, rough=path == ROUGH)
    assert graph.SerializeToString(deterministic=True) == path.read_bytes()


def test_a_fuller_sentence_entails_a_shorter_one() -> None:
    plain = "The hallway heater turns itself off when a window is open."
    more = "When a window is open, the heater in the hallway goes off, which saves a lot of gas."
    kept, lost = likelihoods_of([(plain, more), (more, plain)])
    assert kept > 2 * lost


def test_likelihoods_do_not_depend_on_the_batch() -> None:
    alone = [likelihoods_of([pair])[0] for pair in PAIRS]
    assert likelihoods_of(PAIRS) == pytest.approx(alone, abs=1e-5)
    assert likelihoods_of([]) == []


def test_the_rough_network_changes_no_answer() -> None:
    paths = sorted(UNSEEN.glob("*.jsonl"))
    topics = [json.loads(path.read_text("utf-8").partition("\n")[0]) for path in paths]
    facts = [fact for topic in topics for fact in topic["facts"][:2]]
    wordings = [[fact[kind][0] for kind in ("full", "more", "less", "near")] for fact in facts]
    pairs = [pair for texts in wordings for pair in permutations(texts, 2)]
    exact = dict(zip(pairs, likelihoods_of(pairs), strict=True))
    for limit in (ENTAILED, ENTAILED_ANCHORED):
        expected = {pair for pair in pairs if exact[pair] >= limit}
        assert 0 < len(expected) < len(pairs)
        assert entailed(dict.fromkeys(pairs, limit)) == expected


def test_sentences_of_any_length_have_an_answer() -> None:
    (likely,) = likelihoods_of([("word " * 500, "another " * 500)])
    assert 0 <= likely <= 1
