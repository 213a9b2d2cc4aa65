"""Vectors that are computed aside, before anybody waits for them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.vectors.prefetch import PrefetchedVectors

LONGEST_S = 30.0
TEXTS = [f"The cellar of house {number} is damp in spring." for number in range(6)]


class Watched:
    """The real embedder; its first pass waits until it may go on."""

    def __init__(self, embedder: SentenceEmbedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.passes: list[list[str]] = []
        self.begun = threading.Event()
        self.may_go_on = threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.passes.append(list(texts))
        self.begun.set()
        assert self.may_go_on.wait(LONGEST_S)
        return self._embedder.encode(texts)


@pytest.fixture
def watched(embedder: SentenceEmbedder) -> Watched:
    return Watched(embedder)


def held_up(watched: Watched, most: int = 16) -> PrefetchedVectors:
    """Return vectors ahead whose first pass, with the first text alone, is under way."""
    ahead = PrefetchedVectors(watched, most)
    ahead.prefetch(TEXTS[:1])
    assert watched.begun.wait(LONGEST_S)
    return ahead


def test_an_announced_text_has_the_vector_that_it_has_by_itself(
    embedder: SentenceEmbedder,
) -> None:
    ahead = PrefetchedVectors(embedder, 16)
    ahead.prefetch(TEXTS)
    taken = [ahead.take(text) for text in reversed(TEXTS)]
    for text, vector in zip(reversed(TEXTS), taken, strict=True):
        np.testing.assert_allclose(vector, embedder.encode([text])[0], atol=1e-6)


def test_texts_announced_while_others_are_computed_are_computed_together(watched: Watched) -> None:
    ahead = held_up(watched)
    for text in TEXTS[1:]:
        ahead.prefetch([text])
    watched.may_go_on.set()
    for text in TEXTS:
        ahead.take(text)
    assert watched.passes == [TEXTS[:1], TEXTS[1:]]


def test_no_pass_has_more_texts_than_one_may_wait_for(watched: Watched) -> None:
    ahead = held_up(watched, most=2)
    ahead.prefetch(TEXTS[1:])
    watched.may_go_on.set()
    ahead.take(TEXTS[-1])
    assert watched.passes == [TEXTS[:1], TEXTS[1:3], TEXTS[3:5], TEXTS[5:]]


def test_a_text_that_is_dropped_before_its_turn_is_not_computed(watched: Watched) -> None:
    ahead = held_up(watched)
    ahead.prefetch(TEXTS[1:3])
    ahead.drop(TEXTS[1])
    watched.may_go_on.set()
    ahead.take(TEXTS[2])
    assert watched.passes == [TEXTS[:1], TEXTS[2:3]]


def test_a_text_dropped_while_it_is_computed_is_not_remembered(watched: Watched) -> None:
    ahead = held_up(watched)
    ahead.drop(TEXTS[0])
    watched.may_go_on.set()
    ahead.take(TEXTS[0])
    assert watched.passes == [TEXTS[:1], TEXTS[:1]]


def test_a_text_that_nobody_announced_is_computed_when_it_is_taken(
    embedder: SentenceEmbedder,
) -> None:
    vector = PrefetchedVectors(embedder, 16).take(TEXTS[0])
    np.testing.assert_allclose(vector, embedder.encode([TEXTS[0]])[0], atol=1e-6)


def test_what_is_wrong_with_the_model_is_raised_where_a_vector_is_taken() -> None:
    ahead = PrefetchedVectors(SentenceEmbedder("there-is-no-such-model"), 16)
    ahead.prefetch(TEXTS[:2])
    for text in TEXTS[:3]:
        with pytest.raises(EmbedderError, match="there-is-no-such-model"):
            ahead.take(text)
