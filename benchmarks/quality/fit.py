"""Fits the weights by which a sentence that shares a value with another is taken for told.

    python -m benchmarks.quality.fit

On texts of our own: the wordings of each fact of fixtures/night against its neighbours, and
fixtures/quality/pairs-with-values.jsonl, by a hand that does not know the rules. Prints the weights
for `TOLD_WEIGHTS` and `TOLD_BIAS`, and what they tell of each file when fit without it: the pairs
of fixtures/quality in five parts, the nights a flavour at a time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from fixtures.night import FLAVOURS, load
from slowwave.consolidation import thresholds
from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.embed import SentenceEmbedder
from slowwave.consolidation.language.reading import read

PAIRS = Path("fixtures/quality/pairs-with-values.jsonl")
# A pair of another hand counts as much as so many of the fixtures' own.
WEIGHT = 6.0
NEIGHBOURS = 15
PARTS = 5


@dataclass(frozen=True)
class Example:
    """Whether a sentence is told by another one, and how near their words lie."""

    part: str
    told: bool
    features: tuple[float, ...]


def main() -> None:
    """Fit, and print what came of it."""
    examples = [*_of_pairs(PAIRS), *(one for name in FLAVOURS for one in _of_night(name))]
    parts = np.array([one.part for one in examples])
    told = np.array([one.told for one in examples])
    for part in sorted(set(parts)):
        weights, bias = _fit([one for one in examples if one.part != part])
        scores = _features(examples) @ weights + bias
        chosen = (parts == part) & (scores >= thresholds.TOLD_SCORE)
        right, wrong = int((chosen & told).sum()), int((chosen & ~told).sum())
        of = int((told & (parts == part)).sum())
        _say(f"{part:12} told rightly {right} of {of}, wrongly {wrong}")
    weights, bias = _fit(examples)
    _say(f"TOLD_WEIGHTS = {tuple(np.round(weights, 2).tolist())}")
    _say(f"TOLD_BIAS = {bias:.2f}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _fit(examples: list[Example]) -> tuple[NDArray[np.float64], float]:
    weights = [WEIGHT if one.part.startswith("pairs") else 1.0 for one in examples]
    told = [one.told for one in examples]
    model = LogisticRegression(max_iter=5_000).fit(_features(examples), told, sample_weight=weights)
    return model.coef_[0], float(model.intercept_[0])


def _features(examples: list[Example]) -> NDArray[np.float64]:
    return np.array([one.features for one in examples])


def _of_pairs(path: Path) -> Iterator[Example]:
    coverage = Coverage()
    for line in path.read_text("utf-8").splitlines():
        pair = json.loads(line)
        part = f"pairs {crc32(pair['a'].encode()) % PARTS}"
        for said, teller, key in (("b", "a", "a_says_b"), ("a", "b", "b_says_a")):
            yield from _example(coverage, part, pair[said], pair[teller], told=pair[key])


def _of_night(flavour: str) -> Iterator[Example]:
    """Compare each wording with those of its fact and with its nearest neighbours."""
    coverage, told = Coverage(), [one for one in load(flavour).told if one.role != "rule"]
    vectors = SentenceEmbedder().encode([one.text for one in told])
    nearest = np.argsort(-(vectors @ vectors.T), axis=1)[:, 1 : NEIGHBOURS + 1]
    near = {(at, int(other)) for at, others in enumerate(nearest) for other in others}
    groups: dict[str, list[int]] = {}
    for at, one in enumerate(told):
        groups.setdefault(one.group, []).append(at)
    near |= {pair for group in groups.values() for pair in permutations(group, 2)}
    for at, other in sorted(near):
        same = told[at].group == told[other].group and told[at].role == "fact"
        yield from _example(coverage, flavour, told[at].text, told[other].text, told=same)


def _example(
    coverage: Coverage, part: str, said: str, teller: str, *, told: bool
) -> Iterator[Example]:
    """Give a pair that nothing but the nearness of its words decides."""
    match = coverage.undecided(read(said), read(teller))
    if match is not None and match.least >= thresholds.ANCHORED_WORD:
        yield Example(part, told, match.features)


if __name__ == "__main__":
    main()
