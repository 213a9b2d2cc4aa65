"""Trains the network that says whether one sentence tells all that another says.

    python model/train_entailment.py [--minutes N] [--anew] [--save PATH] [--report PATH]

On texts of our own, fixtures/entailment: topics of five facts each, every fact in four wordings,
with more, with less, and next to what looks like it and says something else, written by hands that
know nothing of the rules; and on wordings of which one word was made its opposite. The last of
every ten topics is kept out, and what the network makes of those is printed. The packaged model's
weights stay as they are; thin matrices beside them are trained (LoRA: Hu et al. 2021,
https://arxiv.org/abs/2106.09685), from where they are unless `--anew` is given.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from make_graph import DIMENSIONS, EPSILON, HEADS, LAYERS, WEIGHTS, entailment
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from slowwave.consolidation.comparison.entailment import GRAPH, MAX_PIECES, ROUGH
from slowwave.consolidation.vectors.minilm import sound_folder, tokenizer

TEXTS = Path("fixtures/entailment")
MODEL = sound_folder() / WEIGHTS
RANK = 16
DROPPED = 0.1
BATCH = 64
RATE = 1e-3
DECAY = 0.01
WARM = 100
KEPT_EACH = 500
# Pairs that are reported on: all would take longer than learning does.
REPORTED = 10_000
HELD_OUT_EACH = 10
# The share that is learned from, of kinds that are frequent and easy.
SHARE = {
    **{"topic": 0.04, "one person": 0.25, "near": 0.5, "near both": 0.5, "near less": 0.5},
    **{"more lost": 0.5, "less lost": 0.5, "denied": 0.5},
}
# How many wordings of each fact have a word changed, and with how many others each is compared.
CHANGED, COMPARED = 2, 2
OPPOSITES = {
    **{one: f"{one} not" for one in ("is", "are", "was", "were", "will", "should", "must", "may")},
    **{"can": "cannot", "does": "does not", "has": "lacks", "always": "never", "a": "no"},
    **{"with": "without", "before": "after", "more": "less", "first": "last", "all": "none of"},
    **{"everybody": "nobody", "open": "closed", "on": "off"},
}
SEED = 20261122
NOWHERE = -1e4
# At first a piece is told.
BIAS = -3.0
# Pairs by which it is found how large the values are that enter a matrix.
WEIGHED = 512


@dataclass(frozen=True)
class Pair:
    """Whether one text tells all that another says, and what kind of pair they are."""

    said: str
    teller: str
    told: bool
    kind: str


class Dense(nn.Module):
    """One of the model's matrices, and beside it the product of two thin ones."""

    def __init__(self, weights: dict[str, Tensor], part: str) -> None:
        """Begin with a product of nothing."""
        super().__init__()
        self.part = part
        self.register_buffer("weight", weights[f"{part}.weight"], persistent=False)
        self.register_buffer("bias", weights[f"{part}.bias"], persistent=False)
        wide, deep = weights[f"{part}.weight"].shape
        self.down = nn.Parameter(torch.randn(RANK, deep) * deep**-0.5)
        self.up = nn.Parameter(torch.zeros(wide, RANK))

    def forward(self, values: Tensor) -> Tensor:
        """Multiply with both and add a vector."""
        besides = functional.linear(functional.linear(values, self.down), self.up)
        return functional.linear(values, self.weight, self.bias) + besides


class Layer(nn.Module):
    """A transformer layer."""

    def __init__(self, weights: dict[str, Tensor], part: str) -> None:
        """Take the model's."""
        super().__init__()
        self.query, self.key, self.value = (
            Dense(weights, f"{part}.attention.self.{one}") for one in ("query", "key", "value")
        )
        self.seen = Dense(weights, f"{part}.attention.output.dense")
        self.seen_norm = _norm(weights, f"{part}.attention.output.LayerNorm")
        self.wide = Dense(weights, f"{part}.intermediate.dense")
        self.thought = Dense(weights, f"{part}.output.dense")
        self.thought_norm = _norm(weights, f"{part}.output.LayerNorm")

    def forward(self, values: Tensor, nowhere: Tensor) -> Tensor:
        """Look at all pieces from each, then think about each."""
        texts, pieces, _ = values.shape
        heads = (texts, pieces, HEADS, DIMENSIONS // HEADS)
        query, key, value = (
            part(values).view(heads).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        dropped = DROPPED if self.training else 0.0
        seen = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=nowhere.to(query.dtype), dropout_p=dropped
        )
        seen = self.seen(seen.transpose(1, 2).reshape(texts, pieces, DIMENSIONS))
        values = self.seen_norm(functional.dropout(seen, dropped) + values)
        thought = self.thought(functional.gelu(self.wide(values)))
        return self.thought_norm(functional.dropout(thought, dropped) + values)


class Network(nn.Module):
    """The network of slowwave.consolidation.comparison.entailment."""

    def __init__(self) -> None:
        """Begin with the packaged model."""
        super().__init__()
        weights = load_file(MODEL)
        part = "embeddings"
        self.words = weights[f"{part}.word_embeddings.weight"]
        self.places = weights[f"{part}.position_embeddings.weight"]
        self.kinds = nn.Parameter(weights[f"{part}.token_type_embeddings.weight"].clone())
        self.norm = _norm(weights, f"{part}.LayerNorm")
        parts = [f"encoder.layer.{number}" for number in range(LAYERS)]
        self.layers = nn.ModuleList(Layer(weights, part) for part in parts)
        self.out = nn.Linear(DIMENSIONS, 2)
        nn.init.constant_(self.out.bias, BIAS)

    def forward(self, ids: Tensor, kinds: Tensor, real: Tensor) -> Tensor:
        """Return the logarithm of the likelihood that each pair is told, shape (pairs,)."""
        rest = self.places[: ids.shape[1]] + self.kinds[kinds]
        values = self.norm(self.words[ids] + rest)
        nowhere = torch.where(real, 0.0, NOWHERE)
        for layer in self.layers:
            values = layer(values, nowhere[:, None, None, :])
        odds = self.out(values.float()).gather(2, kinds[..., None])[..., 0]
        return -functional.softplus(odds + nowhere).sum(1)

    def trained(self) -> dict[str, NDArray[np.float16]]:
        """Return what was trained, by the names that the graph knows it by."""
        found = {"kinds.weight": self.kinds, "out.weight": self.out.weight.T}
        found["out.bias"] = self.out.bias
        for one in self.modules():
            if isinstance(one, Dense):
                found |= {f"{one.part}.down": one.down, f"{one.part}.up": one.up}
        return {name: value.detach().numpy().astype(np.float16) for name, value in found.items()}

    def take(self, graph: Path) -> None:
        """Take what was trained from a graph."""
        found = {
            name: torch.from_numpy(value.astype(np.float32))
            for name, value in stored_in(graph).items()
        }
        self.kinds.data = found["kinds.weight"]
        self.out.weight.data, self.out.bias.data = found["out.weight"].T, found["out.bias"]
        for one in self.modules():
            if isinstance(one, Dense):
                one.down.data, one.up.data = found[f"{one.part}.down"], found[f"{one.part}.up"]


def stored_in(graph: Path) -> dict[str, NDArray[np.float16]]:
    """Return what a graph holds itself, by the names that the graph knows it by."""
    stored = onnx.load(graph, load_external_data=False).graph.initializer
    return {
        one.name.removesuffix(" half"): numpy_helper.to_array(one)
        for one in stored
        if one.data_type == onnx.TensorProto.FLOAT16
    }


def main() -> None:
    """Train, say what came of it, and write the graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--anew", action="store_true", help="begin with the packaged model")
    parser.add_argument("--rate", type=float, default=RATE, help="how much is learned of a batch")
    parser.add_argument("--save", type=Path, default=GRAPH)
    parser.add_argument("--report", type=Path, help="where the likelihoods of the held-out go")
    chosen = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_flush_denormal(True)
    chance = random.Random(SEED)  # noqa: S311 - nothing secret
    # What was written later comes later: what is held out stays so. "unseen" is to measure on.
    parts = ("*.jsonl", "second/*.jsonl", "third/*.jsonl", "fourth/*.jsonl")
    paths = [path for part in parts for path in sorted(TEXTS.glob(part))]
    topics = [json.loads(line) for path in paths for line in path.open()]
    held_out = topics[HELD_OUT_EACH - 1 :: HELD_OUT_EACH]
    training = [topic for at, topic in enumerate(topics) if (at + 1) % HELD_OUT_EACH]
    pairs = [pair for topic in training for pair in _pairs(topic, chance) if _chosen(pair, chance)]
    kept_out = [
        pair for topic in held_out for pair in _pairs(topic, chance) if _chosen(pair, chance)
    ]
    kept_out = chance.sample(kept_out, REPORTED)
    _say(f"{len(topics)} topics; {len(pairs)} pairs to learn from, {len(kept_out)} kept out")
    pieces = pieces_of([*pairs, *kept_out])
    network = Network()
    if not chosen.anew:
        network.take(GRAPH)
    for _ in _training(network, pairs, pieces, chosen.minutes * 60, chosen.rate, chance):
        trained = network.trained()
        exact = entailment(MODEL, trained, rough=False)
        chosen.save.write_bytes(exact.SerializeToString(deterministic=True))
        damping = _damping(network, pairs[:: len(pairs) // WEIGHED], pieces)
        rough = entailment(MODEL, trained | damping, rough=True)
        rough_path = chosen.save.with_name(ROUGH.name)
        rough_path.write_bytes(rough.SerializeToString(deterministic=True))
    _report(network, kept_out, pieces, chosen.report)


def _pairs(topic: dict[str, Any], chance: random.Random) -> Iterator[Pair]:
    """Yield the pairs of a topic of which it is known whether the first is told by the second."""
    for fact in topic["facts"]:
        full, more, less, near = (fact[name] for name in ("full", "more", "less", "near"))
        yield from (Pair(one, other, True, "full") for one, other in permutations(full, 2))
        yield from (Pair(one, one, True, "same") for one in full[:2])
        for one in full:
            yield from (Pair(one, fuller, True, "more") for fuller in more)
            yield from (Pair(fuller, one, False, "more lost") for fuller in more)
            yield from (Pair(part, one, True, "less") for part in less)
            yield from (Pair(one, part, False, "less lost") for part in less)
        yield from (Pair(part, fuller, True, "less more") for part in less for fuller in more)
        for other in near:
            for one in (*full, *more):
                yield Pair(one, other, False, "near")
                yield Pair(other, one, False, "near")
            yield from (Pair(other, part, False, "near less") for part in less)
        yield from (Pair(one, other, False, "near both") for one, other in permutations(near, 2))
        for one in chance.sample(full, CHANGED):
            changed = _denied(one)
            for other in (one, *chance.sample([*full, *more], COMPARED)) if changed else ():
                yield Pair(changed, other, False, "denied")
                yield Pair(other, changed, False, "denied")
    # What one topic says of one person is much harder to tell apart.
    apart = topic.get("about", "topic")
    for fact, strange in permutations(topic["facts"], 2):
        for one in (*fact["full"], *fact["more"]):
            for other in (*strange["full"], *strange["more"]):
                yield Pair(one, other, False, apart)


def _denied(text: str) -> str:
    """Make a word of a text its opposite; nothing if none is known."""
    back = {other: one for one, other in OPPOSITES.items()}
    for turn in (back, OPPOSITES):
        for one, other in turn.items():
            changed = re.sub(rf"\b{one}\b", other, text, count=1)
            if changed != text:
                return changed
    return ""


def _chosen(pair: Pair, chance: random.Random) -> bool:
    return chance.random() < SHARE.get(pair.kind, 1.0)


def _norm(weights: dict[str, Tensor], part: str) -> nn.LayerNorm:
    norm = nn.LayerNorm(DIMENSIONS, eps=EPSILON)
    norm.load_state_dict({one: weights[f"{part}.{one}"] for one in ("weight", "bias")})
    return norm.requires_grad_(False)


def pieces_of(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """Return the word pieces of each text, by their numbers, the marks at both ends among them."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.said, pair.teller)))
    encoded = tokenizer(MODEL.parent, MAX_PIECES).encode_batch(texts)
    return {text: one.ids for text, one in zip(texts, encoded, strict=True)}


def batch_of(pairs: Sequence[Pair], pieces: dict[str, list[int]]) -> tuple[Tensor, ...]:
    """Return what `Network` takes of some pairs, padded: numbers, kinds and what is no padding."""
    both = [(pieces[pair.said], pieces[pair.teller][1:]) for pair in pairs]
    shape = len(pairs), max(len(said) + len(teller) for said, teller in both)
    ids, kinds = np.zeros((2, *shape), dtype=np.int64)
    real = np.zeros(shape, dtype=bool)
    for row, (said, teller) in enumerate(both):
        end = len(said) + len(teller)
        ids[row, :end] = said + teller
        kinds[row, len(said) : end] = 1
        real[row, :end] = True
    return torch.from_numpy(ids), torch.from_numpy(kinds), torch.from_numpy(real)


def _training(
    network: Network,
    pairs: Sequence[Pair],
    pieces: dict[str, list[int]],
    seconds: float,
    rate: float,
    chance: random.Random,
) -> Iterator[int]:
    """Train for some time; how much is learned goes down as it passes.

    Returns the number of steps now and then, so that what was learned can be kept; at once if there
    is no time.
    """
    learned = [one for one in network.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=rate, weight_decay=DECAY)
    began, losses = time.monotonic(), 0.0
    network.train()
    for step, batch in enumerate(_batches(pairs, pieces, chance), start=1):
        elapsed = time.monotonic() - began
        if elapsed >= seconds:
            yield step
            return
        passed = elapsed / seconds
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, step / WARM) * max(0.01, 1 - passed)
        told = torch.tensor([float(pair.told) for pair in batch])
        # Half of the time of float32.
        with torch.autocast("cpu", torch.bfloat16):
            likely = network(*batch_of(batch, pieces))
        likely = likely.float().clamp(max=-1e-6)
        loss = -(told * likely + (1 - told) * torch.log1p(-likely.exp())).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        losses += loss.item()
        if step % 50 == 0:
            _say(f"step {step}, {passed:.1%} of the time, loss {losses / 50:.3f}")
            losses = 0.0
        if step % KEPT_EACH == 0:
            yield step


def _damping(
    network: Network, pairs: Sequence[Pair], pieces: dict[str, list[int]]
) -> dict[str, NDArray[np.float16]]:
    """Return what to multiply the values with that enter a feed-forward network, by the matrix.

    It leaves them and the weights that they meet the root of how large the values become.
    """
    largest: dict[str, Tensor] = {}

    def look(dense: nn.Module, inputs: tuple[Tensor]) -> None:
        values = inputs[0].abs().amax((0, 1))
        largest[dense.part] = torch.maximum(largest.get(dense.part, values), values)

    entered = [dense for layer in network.layers for dense in (layer.wide, layer.thought)]
    hooks = [dense.register_forward_pre_hook(look) for dense in entered]
    network.eval()
    with torch.no_grad():
        for start in range(0, len(pairs), BATCH):
            network(*batch_of(pairs[start : start + BATCH], pieces))
    network.train()
    for hook in hooks:
        hook.remove()
    return {
        f"{part}.damping": values.clamp(min=1e-3).rsqrt().numpy().astype(np.float16)
        for part, values in largest.items()
    }


def _batches(
    pairs: Sequence[Pair], pieces: dict[str, list[int]], chance: random.Random
) -> Iterator[list[Pair]]:
    """Yield the pairs in an order of chance, those of like length together, again and again."""
    while True:
        shuffled = chance.sample(pairs, len(pairs))
        for start in range(0, len(shuffled), 50 * BATCH):
            some = sorted(
                shuffled[start : start + 50 * BATCH],
                key=lambda pair: len(pieces[pair.said]) + len(pieces[pair.teller]),
            )
            batches = [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
            yield from chance.sample(batches, len(batches))


def _report(
    network: Network, pairs: Sequence[Pair], pieces: dict[str, list[int]], path: Path | None
) -> None:
    """Say of each kind of held-out pair how many are told at some likelihoods."""
    network.eval()
    found = np.empty(len(pairs))
    with torch.no_grad():
        for start in range(0, len(pairs), BATCH):
            likely = network(*batch_of(pairs[start : start + BATCH], pieces))
            found[start : start + BATCH] = likely.exp().numpy()
    steps = (0.5, 0.7, 0.8, 0.9, 0.95)
    _say("likelihood from  " + "".join(f"{least:8}" for least in steps))
    for kind in sorted({pair.kind for pair in pairs}):
        of = found[[pair.kind == kind for pair in pairs]]
        told = "".join(f"{float((of >= least).mean()):8.3f}" for least in steps)
        _say(f"{kind:12} {len(of):6}{told}")
    if path is not None:
        lines = (
            json.dumps([pair.said, pair.teller, pair.told, pair.kind, round(float(one), 5)])
            for pair, one in zip(pairs, found, strict=True)
        )
        path.write_text("\n".join(lines) + "\n")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
