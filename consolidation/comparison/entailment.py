"""Does one sentence say all that another says? A small network that reads both at once.

It is the packaged model with both sentences in front of it, one behind the other, and with a little
added to each of its matrices, trained on texts of our own (LoRA: Hu et al. 2021). Each piece of the
one says how likely it is that the other does not say it, and each piece of the other how likely it
is that it limits or denies what the one says. A sentence is entailed if none of that is so (a
noisy-or). `python model/train_entailment.py` trains it and makes `entailment.onnx`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

GRAPH = Path(__file__).with_name("entailment.onnx")
# Of each of the two, as it was trained; hardly a sentence is longer.
MOST_PIECES = 64
# Answers that are kept at hand.
_AT_HAND = 262_144

Pair = tuple[str, str]


class Entailment:
    """The network, loaded when it is first needed; it answers each question once."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._known: OrderedDict[Pair, float] = OrderedDict()

    def likelihoods(self, pairs: Iterable[Pair]) -> list[float]:
        """Find out how likely the second of two says all that the first does, from 0 to 1.

        Raises `EmbedderError` if the packaged model is damaged.
        """
        asked = list(pairs)
        new = [pair for pair in dict.fromkeys(asked) if pair not in self._known]
        if new:
            self._known.update(zip(new, likelihoods_of(new), strict=True))
        answers = [self._known[pair] for pair in asked]
        while len(self._known) > _AT_HAND:
            self._known.popitem(last=False)
        return answers


@cache
def _network() -> tuple[Any, Any]:
    """Load the tokenizer and the network once."""
    from slowwave.consolidation.vectors.minilm import session, sound_folder, tokenizer

    folder = sound_folder()
    return tokenizer(folder, MOST_PIECES), session(folder, GRAPH)


def likelihoods_of(pairs: list[Pair]) -> list[float]:
    """Ask the network about pairs, in batches of like length."""
    import numpy as np

    from slowwave.consolidation.vectors.minilm import batches

    tokenizer, session = _network()
    texts = list(dict.fromkeys(chain.from_iterable(pairs)))
    encoded = tokenizer.encode_batch(texts)
    pieces = {text: one.ids for text, one in zip(texts, encoded, strict=True)}
    # Without the mark that opens a text, the second goes on where the first ends.
    both = [(pieces[said], pieces[premise][1:]) for said, premise in pairs]
    found = np.empty(len(pairs), dtype=np.float32)
    for batch in batches([len(said) + len(premise) for said, premise in both]):
        shape = len(batch), max(len(both[at][0]) + len(both[at][1]) for at in batch)
        ids, kinds = np.zeros((2, *shape), dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int32)
        for row, (said, premise) in enumerate(both[at] for at in batch):
            end = len(said) + len(premise)
            ids[row, :end] = said + premise
            kinds[row, len(said) : end] = 1
            mask[row, :end] = 1
        fed = {"ids": ids, "kinds": kinds, "mask": mask}
        (found[batch],) = session.run(["likelihoods"], fed)
    return [float(one) for one in found]
