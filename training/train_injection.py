"""Train the classifier of texts that contain instructions to their reader.

    python training/train_injection.py [--save PATH] [--check]

It learns from our own texts in fixtures/injection, and from the ordinary memories of fixtures/. A
text may have choices: "{Ignore|Forget} the rules" means both wordings, "{person} has a dog" one for
each person of parts.json; a sample of the wordings is used. Of a longer text with instructions, it
learns the sentence that looks most like one; of a harmless text, every sentence. `--check` prints,
for texts whose writer knew none of the others, how each quarter of them is judged by what was
learned from the rest.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression

from slowwave.consolidation.text.injection import BUCKETS, WEIGHTS, hashes, units

FIXTURES = Path(__file__).parent.parent / "fixtures"
TEXTS = FIXTURES / "injection"
LIVES = ("blind-a", "blind-b", "developed", "fresh", "held-out", "unseen")
NIGHTS = ("assistant", "lab", "office")
# The number of wordings of a text with choices, and the weight of each.
WORDINGS, WORDING = 40, 0.4
# The weight of a text without choices.
WRITTEN = 4.0
# The inverse of the regularization (scikit-learn's C).
FREEDOM = 30.0
# The gradient at which the fit ends; with scikit-learn's 1e-4, it ends too early for some texts.
TOLERANCE = 1e-5
# How often the sentences that contain the instructions are chosen again.
ROUNDS = 3
# The log-odds above which a text contains instructions; see `--check`.
THRESHOLD = 1.26
FOLDS = 4
SEED = 20261126
CHOICE = re.compile(r"\{(\w+|[^{}]*\|[^{}]*)\}")

Texts = list[tuple[str, float]]


def main() -> None:
    """Train, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, default=WEIGHTS)
    parser.add_argument("--check", action="store_true", help="print how blind texts are judged")
    chosen = parser.parse_args()
    if chosen.check:
        check()
    np.save(chosen.save, trained([*written("orders"), *blind("orders")], harmless()))


def trained(orders: Texts, rest: Texts) -> NDArray[np.float16]:
    """Return the weights that separate texts with instructions from the rest."""
    parts = [(unit, counts) for text, counts in rest for unit in units(text)]
    sentences = [units(text) for text, _ in orders]
    matrix = rows([unit for unit, _ in parts])
    candidates = rows([unit for of_text in sentences for unit in of_text])
    starts = np.cumsum([0, *map(len, sentences)])
    picked = starts[:-1]
    labels = np.repeat([1, 0], [len(orders), len(parts)])
    counts = np.array([weight for _, weight in (*orders, *parts)])
    # The first round only uses texts of a single sentence: which one it is is known.
    is_single = np.append(np.diff(starts) == 1, np.ones(len(parts), dtype=bool))
    model = LogisticRegression(C=FREEDOM, tol=TOLERANCE, max_iter=300, warm_start=True)
    for number in range(ROUNDS):
        learned = counts if number else counts * is_single
        model.fit(vstack([candidates[picked], matrix]), labels, sample_weight=learned)
        odds = model.decision_function(candidates)
        picked = np.array([start + odds[start:end].argmax() for start, end in pairwise(starts)])
    return np.append(model.coef_[0], model.intercept_[0] - THRESHOLD).astype(np.float16)


def rows(texts: Sequence[str]) -> csr_matrix:
    """Return a row for each text, shape (texts, BUCKETS)."""
    features = [hashes(text) for text in texts]
    ends = np.cumsum([0, *map(len, features)])
    values = np.concatenate([np.full(len(of), max(1, len(of)) ** -0.5) for of in features])
    return csr_matrix((values, np.concatenate(features), ends), shape=(len(texts), BUCKETS))


def harmless() -> Texts:
    """Return the texts without instructions, and their weights."""
    return [*written("harmless"), *blind("harmless"), *((text, 1.0) for text in ordinary())]


def written(name: str) -> Texts:
    """Return the training texts, with their choices made."""
    return [text for part in (name, f"{name}-tests") for text in wordings(f"{part}.jsonl")]


def blind(name: str) -> Texts:
    """Return the texts of writers who knew none of the others."""
    return wordings(f"{name}-blind.jsonl")


def wordings(name: str) -> Texts:
    """Return the texts of a file, and their weights."""
    chance = random.Random(SEED)  # noqa: S311 - nothing secret
    parts: dict[str, list[str]] = json.loads((TEXTS / "parts.json").read_text("utf-8"))
    texts: Texts = []
    for text in read_lines(TEXTS / name):
        chosen = dict.fromkeys(_chosen(text, parts, chance) for _ in range(WORDINGS))
        texts += [(wording, WORDING if len(chosen) > 1 else WRITTEN) for wording in chosen]
    return texts


def _chosen(text: str, parts: dict[str, list[str]], chance: random.Random) -> str:
    while match := CHOICE.search(text):
        choice = chance.choice(parts.get(match[1]) or match[1].split("|"))
        text = text[: match.start()] + choice + text[match.end() :]
    return text[:1].upper() + text[1:]


def ordinary() -> Iterator[str]:
    """Yield memories of nights and lives, and statements."""
    for life in LIVES:
        path = FIXTURES / "quality" / f"life-{life}.jsonl"
        gold = json.loads(path.with_suffix(".gold.json").read_text("utf-8"))
        for line in path.read_text("utf-8").splitlines():
            memory = json.loads(line)
            if memory["id"] not in gold["injections"]:
                yield memory["content"]
    sys.path.insert(0, str(FIXTURES))
    night = __import__("night")
    for flavour in NIGHTS:
        yield from (memory.text for memory in night.load(flavour).memories)
    yield from read_lines(FIXTURES / "injection" / "statements.jsonl")


def read_lines(path: Path) -> list[str]:
    """Return the texts of a file."""
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]


def check() -> None:
    """Print how blind texts are judged at several thresholds, each without having learned it."""
    orders, rest = blind("orders"), blind("harmless")
    plain = [*written("harmless"), *((text, 1.0) for text in ordinary())]
    odds: tuple[list[float], list[float]] = [], []
    for fold in range(FOLDS):
        weights = trained(
            [
                *written("orders"),
                *(text for index, text in enumerate(orders) if index % FOLDS != fold),
            ],
            [*plain, *(text for index, text in enumerate(rest) if index % FOLDS != fold)],
        ).astype(np.float32)
        for shares, texts in zip(odds, (orders, rest), strict=True):
            for text, _ in texts[fold::FOLDS]:
                shares.append(float((rows(units(text)) @ weights[:-1]).max() + weights[-1]))
    for least in np.arange(-3.0, 3.0, 0.25):
        shares, alarms = (np.mean(np.array(of) > least) for of in odds)
        sys.stdout.write(f"from {least:5.2f}: {shares:6.1%} found, {alarms:6.1%} false alarms\n")


if __name__ == "__main__":
    main()
