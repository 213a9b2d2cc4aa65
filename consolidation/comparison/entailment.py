"""Whether one sentence says all that another says: a small network that reads both at once.

It is the packaged embedding model with low-rank additions to its matrices (LoRA: Hu et al. 2021),
which reads a claim and a premise together. For each piece of the claim it returns how likely it is
that the premise does not say it; for each piece of the premise, how likely it is that it limits or
negates the claim. A claim is entailed if none of that is so (a noisy-or).
`python model/train_entailment.py` trains it, and makes a copy with weights of seven bits: `ROUGH`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GRAPH = Path(__file__).with_name("entailment.onnx")
ROUGH = Path(__file__).with_name("entailment_rough.onnx")
# The rough copy decides if its odds are this many times those of the limit, or the reverse. Of
# 6,900 questions of nights, lives and training pairs, it errs where they are at most 2.2 times.
_FACTOR = 3.0
# The number of pairs from which on the rough copy saves more time than loading it takes.
_MIN_ROUGH = 50
# Of each sentence, as in training; hardly any is longer.
MAX_PIECES = 64

Pair = tuple[str, str]


def entailed(limits: Mapping[Pair, float]) -> set[Pair]:
    """Return the pairs whose second text says all that the first does.

    limits: the likelihood from which on that is so, by pair. Raises `EmbedderError` if the packaged
    model is damaged.
    """
    pairs, likely = list(limits), dict[Pair, float]()
    if len(pairs) >= _MIN_ROUGH:
        likely.update(zip(pairs, rough_likelihoods_of(pairs), strict=True))
    close = [pair for pair in pairs if pair not in likely or _is_close(likely[pair], limits[pair])]
    likely.update(zip(close, likelihoods_of(close), strict=True))
    return {pair for pair in pairs if likely[pair] >= limits[pair]}


def _is_close(likelihood: float, limit: float) -> bool:
    here, there = likelihood * (1 - limit), limit * (1 - likelihood)
    return here < _FACTOR * there and there < _FACTOR * here


@cache
def _network(graph: Path) -> tuple[Any, Any]:
    from slowwave.consolidation.vectors.minilm import session, sound_folder, tokenizer

    folder = sound_folder()
    return tokenizer(folder, MAX_PIECES), session(folder, graph)


def likelihoods_of(pairs: list[Pair]) -> list[float]:
    """Return how likely each second text says all that the first does, from 0 to 1."""
    return _ask(GRAPH, pairs)


def rough_likelihoods_of(pairs: list[Pair]) -> list[float]:
    """Return the same from the rough copy."""
    return _ask(ROUGH, pairs)


def _ask(graph: Path, pairs: Sequence[Pair]) -> list[float]:
    """Ask a network about pairs, in batches of similar length."""
    if not pairs:
        return []
    import numpy as np

    from slowwave.consolidation.vectors.minilm import run_batches

    tokenizer, session = _network(graph)
    texts = list(dict.fromkeys(chain.from_iterable(pairs)))
    encoded = tokenizer.encode_batch(texts)
    pieces = {text: encoding.ids for text, encoding in zip(texts, encoded, strict=True)}
    # Without the mark that begins a text, the premise continues the claim.
    both = [(pieces[claim], pieces[premise][1:]) for claim, premise in pairs]
    lengths = [len(claim) + len(premise) for claim, premise in both]

    def run(batch: list[int]) -> NDArray[np.float32]:
        shape = len(batch), max(lengths[at] for at in batch)
        ids, kinds = np.zeros((2, *shape), dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int32)
        for row, (claim, premise) in enumerate(both[at] for at in batch):
            end = len(claim) + len(premise)
            ids[row, :end] = claim + premise
            kinds[row, len(claim) : end] = 1
            mask[row, :end] = 1
        fed = {"ids": ids, "kinds": kinds, "mask": mask}
        (computed,) = session.run(["likelihoods"], fed)
        return np.asarray(computed, dtype=np.float32)

    found = np.empty(len(pairs), dtype=np.float32)
    for batch, computed in run_batches(lengths, run):
        found[batch] = computed
    return found.tolist()
