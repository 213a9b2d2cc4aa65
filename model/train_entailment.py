"""Train the network that decides whether one sentence entails another.

    python model/train_entailment.py [--minutes N] [--scratch] [--save PATH] [--report PATH]

It learns from our own texts in fixtures/entailment: topics of five facts, each fact in four
wordings, with more detail, with less, and with look-alikes that differ, by writers who knew nothing
of the rules; and from wordings in which a word is replaced with its opposite. The last of every ten
topics is held out, and the results for those are printed. The packaged model's weights stay as they
are; low-rank matrices are trained in addition (LoRA: Hu et al. 2021,
https://arxiv.org/abs/2106.09685), starting from the current ones without `--scratch`.
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
# Steps between two saved networks.
SAVED_EVERY = 500
# The number of held-out pairs that are reported on: all would take longer than training.
REPORTED = 10_000
HELD_OUT_EVERY = 10
# The sampled share of each kind that is frequent and easy.
SHARE = {
    **{"topic": 0.04, "one person": 0.25, "near": 0.5, "near both": 0.5, "near less": 0.5},
    **{"more lost": 0.5, "less lost": 0.5, "denied": 0.5},
}
# The number of wordings of each fact in which a word is changed, and with which each is compared.
CHANGED, COMPARED = 2, 2
VERBS = ("is", "are", "was", "were", "will", "should", "must", "may")
OPPOSITES = {
    **{verb: f"{verb} not" for verb in VERBS},
    **{"can": "cannot", "does": "does not", "has": "lacks", "always": "never", "a": "no"},
    **{"with": "without", "before": "after", "more": "less", "first": "last", "all": "none of"},
    **{"everybody": "nobody", "open": "closed", "on": "off"},
}
SEED = 20261122
NOWHERE = -1e4
# Initially, each piece counts as entailed.
BIAS = -3.0
# The number of pairs that measure the range of the activations that enter a matrix.
MEASURED = 512


@dataclass(frozen=True)
class Pair:
    """A claim, and whether a premise entails it."""

    claim: str
    premise: str
    entailed: bool
    kind: str


class Dense(nn.Module):
    """A matrix of the model, and the trained product of two low-rank ones that is added to it."""

    def __init__(self, weights: dict[str, Tensor], part: str) -> None:
        """Start with a product of zero."""
        super().__init__()
        self.part = part
        self.register_buffer("weight", weights[f"{part}.weight"], persistent=False)
        self.register_buffer("bias", weights[f"{part}.bias"], persistent=False)
        wide, deep = weights[f"{part}.weight"].shape
        self.down = nn.Parameter(torch.randn(RANK, deep) * deep**-0.5)
        self.up = nn.Parameter(torch.zeros(wide, RANK))

    def forward(self, values: Tensor) -> Tensor:
        """Multiply by both and add a vector."""
        low_rank = functional.linear(functional.linear(values, self.down), self.up)
        return functional.linear(values, self.weight, self.bias) + low_rank


class Layer(nn.Module):
    """A transformer layer."""

    def __init__(self, weights: dict[str, Tensor], part: str) -> None:
        """Start with the model's weights."""
        super().__init__()
        self.query, self.key, self.value = (
            Dense(weights, f"{part}.attention.self.{name}") for name in ("query", "key", "value")
        )
        self.seen = Dense(weights, f"{part}.attention.output.dense")
        self.seen_norm = _norm(weights, f"{part}.attention.output.LayerNorm")
        self.wide = Dense(weights, f"{part}.intermediate.dense")
        self.thought = Dense(weights, f"{part}.output.dense")
        self.thought_norm = _norm(weights, f"{part}.output.LayerNorm")

    def forward(self, values: Tensor, nowhere: Tensor) -> Tensor:
        """Attend to all pieces from each, then transform each."""
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
        """Start with the packaged model."""
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
        """Return the log-likelihood that each claim is entailed, shape (pairs,)."""
        rest = self.places[: ids.shape[1]] + self.kinds[kinds]
        values = self.norm(self.words[ids] + rest)
        nowhere = torch.where(real, 0.0, NOWHERE)
        for layer in self.layers:
            values = layer(values, nowhere[:, None, None, :])
        odds = self.out(values.float()).gather(2, kinds[..., None])[..., 0]
        return -functional.softplus(odds + nowhere).sum(1)

    def trained(self) -> dict[str, NDArray[np.float16]]:
        """Return the trained weights, by their names in the graph."""
        weights = {"kinds.weight": self.kinds, "out.weight": self.out.weight.T}
        weights["out.bias"] = self.out.bias
        for dense in self.modules():
            if isinstance(dense, Dense):
                weights |= {f"{dense.part}.down": dense.down, f"{dense.part}.up": dense.up}
        return {name: value.detach().numpy().astype(np.float16) for name, value in weights.items()}

    def load(self, graph: Path) -> None:
        """Load the trained weights of a graph."""
        weights = {
            name: torch.from_numpy(value.astype(np.float32))
            for name, value in stored_in(graph).items()
        }
        self.kinds.data = weights["kinds.weight"]
        self.out.weight.data, self.out.bias.data = weights["out.weight"].T, weights["out.bias"]
        for dense in self.modules():
            if isinstance(dense, Dense):
                dense.down.data = weights[f"{dense.part}.down"]
                dense.up.data = weights[f"{dense.part}.up"]


def stored_in(graph: Path) -> dict[str, NDArray[np.float16]]:
    """Return the trained weights that a graph stores, by name."""
    tensors = onnx.load(graph, load_external_data=False).graph.initializer
    return {
        tensor.name.removesuffix(" half"): numpy_helper.to_array(tensor)
        for tensor in tensors
        if tensor.data_type == onnx.TensorProto.FLOAT16
    }


def main() -> None:
    """Train, write the graphs, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--scratch", action="store_true", help="start with the packaged model")
    parser.add_argument("--rate", type=float, default=RATE, help="the learning rate")
    parser.add_argument("--save", type=Path, default=GRAPH)
    parser.add_argument("--report", type=Path, help="write the likelihoods of held-out pairs here")
    chosen = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_flush_denormal(True)
    chance = random.Random(SEED)  # noqa: S311 - nothing secret
    # Later texts come last, so that the same topics stay held out. "unseen" is for measuring only.
    parts = ("*.jsonl", "second/*.jsonl", "third/*.jsonl", "fourth/*.jsonl")
    paths = [path for part in parts for path in sorted(TEXTS.glob(part))]
    topics = [json.loads(line) for path in paths for line in path.open()]
    held_out_topics = topics[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY]
    training = [topic for at, topic in enumerate(topics) if (at + 1) % HELD_OUT_EVERY]
    pairs = [pair for topic in training for pair in _pairs(topic, chance) if _chosen(pair, chance)]
    held_out = [
        pair for topic in held_out_topics for pair in _pairs(topic, chance) if _chosen(pair, chance)
    ]
    held_out = chance.sample(held_out, REPORTED)
    _print(f"{len(topics)} topics; {len(pairs)} pairs to learn from, {len(held_out)} held out")
    pieces = pieces_of([*pairs, *held_out])
    network = Network()
    if not chosen.scratch:
        network.load(GRAPH)
    for _ in _training(network, pairs, pieces, chosen.minutes * 60, chosen.rate, chance):
        trained = network.trained()
        exact = entailment(MODEL, trained, rough=False)
        chosen.save.write_bytes(exact.SerializeToString(deterministic=True))
        damping = _damping(network, pairs[:: len(pairs) // MEASURED], pieces)
        rough = entailment(MODEL, trained | damping, rough=True)
        rough_path = chosen.save.with_name(ROUGH.name)
        rough_path.write_bytes(rough.SerializeToString(deterministic=True))
    _report(network, held_out, pieces, chosen.report)


def _pairs(topic: dict[str, Any], chance: random.Random) -> Iterator[Pair]:
    """Yield the pairs of a topic whose answer is known."""
    for fact in topic["facts"]:
        full, more, less, near = (fact[name] for name in ("full", "more", "less", "near"))
        yield from (Pair(*texts, True, "full") for texts in permutations(full, 2))
        yield from (Pair(text, text, True, "same") for text in full[:2])
        for text in full:
            yield from (Pair(text, fuller, True, "more") for fuller in more)
            yield from (Pair(fuller, text, False, "more lost") for fuller in more)
            yield from (Pair(part, text, True, "less") for part in less)
            yield from (Pair(text, part, False, "less lost") for part in less)
        yield from (Pair(part, fuller, True, "less more") for part in less for fuller in more)
        for look_alike in near:
            for text in (*full, *more):
                yield Pair(text, look_alike, False, "near")
                yield Pair(look_alike, text, False, "near")
            yield from (Pair(look_alike, part, False, "near less") for part in less)
        yield from (Pair(*texts, False, "near both") for texts in permutations(near, 2))
        for text in chance.sample(full, CHANGED):
            changed = _denied(text)
            for premise in (text, *chance.sample([*full, *more], COMPARED)) if changed else ():
                yield Pair(changed, premise, False, "denied")
                yield Pair(premise, changed, False, "denied")
    # Facts about the same person are much harder to distinguish.
    kind = topic.get("about", "topic")
    for fact, different in permutations(topic["facts"], 2):
        for text in (*fact["full"], *fact["more"]):
            for premise in (*different["full"], *different["more"]):
                yield Pair(text, premise, False, kind)


def _denied(text: str) -> str:
    """Return a text with a word replaced with its opposite; "" if it has no such word."""
    reverse = {opposite: word for word, opposite in OPPOSITES.items()}
    for opposites in (reverse, OPPOSITES):
        for word, opposite in opposites.items():
            changed = re.sub(rf"\b{word}\b", opposite, text, count=1)
            if changed != text:
                return changed
    return ""


def _chosen(pair: Pair, chance: random.Random) -> bool:
    return chance.random() < SHARE.get(pair.kind, 1.0)


def _norm(weights: dict[str, Tensor], part: str) -> nn.LayerNorm:
    norm = nn.LayerNorm(DIMENSIONS, eps=EPSILON)
    norm.load_state_dict({name: weights[f"{part}.{name}"] for name in ("weight", "bias")})
    return norm.requires_grad_(False)


def pieces_of(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """Return the ids of each text's word pieces, including the special ones at both ends."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.claim, pair.premise)))
    encodings = tokenizer(MODEL.parent, MAX_PIECES).encode_batch(texts)
    return {text: encoding.ids for text, encoding in zip(texts, encodings, strict=True)}


def batch_of(pairs: Sequence[Pair], pieces: dict[str, list[int]]) -> tuple[Tensor, ...]:
    """Return the inputs of `Network`, padded: ids, kinds, and which of them are not padding."""
    both = [(pieces[pair.claim], pieces[pair.premise][1:]) for pair in pairs]
    shape = len(pairs), max(len(claim) + len(premise) for claim, premise in both)
    ids, kinds = np.zeros((2, *shape), dtype=np.int64)
    real = np.zeros(shape, dtype=bool)
    for row, (claim, premise) in enumerate(both):
        end = len(claim) + len(premise)
        ids[row, :end] = claim + premise
        kinds[row, len(claim) : end] = 1
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
    """Train for some seconds, with a falling learning rate.

    Yields the number of steps whenever the network should be saved; at once without any time.
    """
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
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
        labels = torch.tensor([float(pair.entailed) for pair in batch])
        # Takes half the time of float32.
        with torch.autocast("cpu", torch.bfloat16):
            likely = network(*batch_of(batch, pieces))
        likely = likely.float().clamp(max=-1e-6)
        loss = -(labels * likely + (1 - labels) * torch.log1p(-likely.exp())).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        losses += loss.item()
        if step % 50 == 0:
            _print(f"step {step}, {passed:.1%} of the time, loss {losses / 50:.3f}")
            losses = 0.0
        if step % SAVED_EVERY == 0:
            yield step


def _damping(
    network: Network, pairs: Sequence[Pair], pieces: dict[str, list[int]]
) -> dict[str, NDArray[np.float16]]:
    """Return the factors of the activations that enter a feed-forward network, by its matrix.

    Each divides an activation and multiplies its weights by the root of the activation's maximum.
    """
    largest: dict[str, Tensor] = {}

    def observe(dense: nn.Module, inputs: tuple[Tensor]) -> None:
        values = inputs[0].abs().amax((0, 1))
        largest[dense.part] = torch.maximum(largest.get(dense.part, values), values)

    entered = [dense for layer in network.layers for dense in (layer.wide, layer.thought)]
    hooks = [dense.register_forward_pre_hook(observe) for dense in entered]
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
    """Yield batches of pairs of similar length in random order, endlessly."""
    while True:
        shuffled = chance.sample(pairs, len(pairs))
        for start in range(0, len(shuffled), 50 * BATCH):
            by_length = sorted(
                shuffled[start : start + 50 * BATCH],
                key=lambda pair: len(pieces[pair.claim]) + len(pieces[pair.premise]),
            )
            batches = [by_length[at : at + BATCH] for at in range(0, len(by_length), BATCH)]
            yield from chance.sample(batches, len(batches))


def _report(
    network: Network, pairs: Sequence[Pair], pieces: dict[str, list[int]], path: Path | None
) -> None:
    """Print for each kind of held-out pair the share above some likelihoods."""
    network.eval()
    likelihoods = np.empty(len(pairs))
    with torch.no_grad():
        for start in range(0, len(pairs), BATCH):
            likely = network(*batch_of(pairs[start : start + BATCH], pieces))
            likelihoods[start : start + BATCH] = likely.exp().numpy()
    steps = (0.5, 0.7, 0.8, 0.9, 0.95)
    _print("likelihood from  " + "".join(f"{least:8}" for least in steps))
    for kind in sorted({pair.kind for pair in pairs}):
        of_kind = likelihoods[[pair.kind == kind for pair in pairs]]
        shares = "".join(f"{float((of_kind >= least).mean()):8.3f}" for least in steps)
        _print(f"{kind:12} {len(of_kind):6}{shares}")
    if path is not None:
        lines = (
            json.dumps([pair.claim, pair.premise, pair.entailed, pair.kind, round(float(value), 5)])
            for pair, value in zip(pairs, likelihoods, strict=True)
        )
        path.write_text("\n".join(lines) + "\n")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
