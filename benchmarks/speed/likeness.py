"""How like real memories the made ones are: similarities, neighbors, clusters and singletons.

    python -m benchmarks.speed.likeness [--data FOLDER] [--sizes 1000,20000]

The shared folder's memories (LoCoMo, LongMemEval) are measured beside them where they are there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.quality.bench import ROOT
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

from .base import load_base
from .data import make_vectors

LEVELS = (0.55, 0.60, 0.65, 0.70, 0.75, 0.80)
REAL = ("locomo-memories.jsonl", "longmemeval-memories.jsonl")
_SAMPLE = 1_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table for each set of vectors."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.likeness")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--sizes", default="500,1000,1582,3000,20000")
    chosen = parser.parse_args(arguments)
    console = Console(width=110)
    for name, vectors in _sets(chosen.data, [int(word) for word in chosen.sizes.split(",")]):
        console.print(_table(name, vectors))


def _sets(data: Path, sizes: Sequence[int]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    real = [np.asarray(_real(data / name)) for name in REAL if (data / name).is_file()]
    yield from zip(REAL, real, strict=False)
    if real:
        mixed = np.random.default_rng(1).permutation(np.concatenate(real))
        for size in (size for size in sizes if size <= len(mixed)):
            yield "real, both", mixed[:size]
    yield "fixtures/night", load_base().vectors
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.npy"
            make_vectors(path, size)
            yield "made", np.load(path)


def _real(path: Path) -> NDArray[np.float32]:
    texts = [json.loads(line)["content"] for line in path.read_text("utf-8").splitlines() if line]
    return SentenceEmbedder().encode(texts)


def _table(name: str, vectors: NDArray[np.float32]) -> Table:
    from scipy.sparse.csgraph import connected_components

    from slowwave.consolidation.clustering.neighbours import similar_pairs

    random = np.random.default_rng(2)
    left, right = random.integers(0, len(vectors), (2, _SAMPLE))
    cosine = np.concatenate(
        [
            np.einsum("ij,ij->i", vectors[left[at : at + 10_000]], vectors[right[at : at + 10_000]])
            for at in range(0, _SAMPLE, 10_000)
        ]
    )[left != right]
    table = Table(
        "similarity",
        "neighbours each",
        "share of pairs",
        "largest component",
        "alone",
        title=f"{name}, {len(vectors):,}: mean {cosine.mean():.3f}, spread {cosine.std():.3f}, "
        f"99th percentile {np.quantile(cosine, 0.99):.2f}",
    )
    pairs = similar_pairs(vectors, LEVELS[0])
    for level in LEVELS:
        near = pairs.at_least(level)
        # With two to a cluster, DBSCAN's clusters are the connected components.
        _, labels = connected_components(near.as_graph(np.float32(1.0)), directed=False)
        sizes = np.bincount(labels)
        table.add_row(
            f"{level:.2f}",
            f"{2 * len(near) / len(vectors):.2f}",
            f"{2 * len(near) / len(vectors) ** 2:.1e}",
            f"{sizes.max():,}",
            f"{(sizes == 1).sum() / len(vectors):.2f}",
        )
    return table


if __name__ == "__main__":
    main()
