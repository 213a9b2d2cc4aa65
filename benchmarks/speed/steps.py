"""One step of the benchmark, in a process of its own: `python -m benchmarks.speed.steps`.

Its figures go to stdout as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.bench import ROOT, Json

# The share of new memories that a later night meets: 500 on 100,000.
NEW_SHARE = 0.005
# Rows whose true neighbors are all looked up, to see how many of them were found.
_ASKED = 2_000


def make(folder: Path, count: str) -> Json:
    """Write memories to import, and the later ones, with the vectors of both."""
    from .data import make_memories

    size = int(count)
    made = make_memories(size + max(1, round(NEW_SHARE * size)))
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("memories", slice(size)), ("later", slice(size, None))):
        (folder / f"{name}.jsonl").write_text("\n".join(made.lines[part]) + "\n", "utf-8")
        (folder / f"{name}.ids.json").write_text(json.dumps(made.ids[part]), "utf-8")
        np.save(folder / f"{name}.npy", made.vectors[part])
    return {}


def with_vectors(folder: Path, target: str) -> Json:
    """Write the memories of a folder as one file in which each has its vector."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder

    made = np.load(folder / "memories.npy").round(6)
    lines = (folder / "memories.jsonl").read_text("utf-8").splitlines()
    with Path(target).open("w", encoding="utf-8") as file:
        for line, vector in zip(lines, made.tolist(), strict=True):
            own = {"embedding_model": SentenceEmbedder().name, "embedding": vector}
            file.write(json.dumps(json.loads(line) | own) + "\n")
    return {}


def embed(folder: Path, count: str) -> Json:
    """Embed some memories of a folder."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder

    texts = _texts(folder / "memories.jsonl")[: int(count)]
    embedder = SentenceEmbedder()
    embedder.encode(texts[:10])  # loads the model
    began = time.perf_counter(), time.process_time()
    embedder.encode(texts)
    seconds, processor = time.perf_counter() - began[0], time.process_time() - began[1]
    return {"a second": len(texts) / seconds, "a processor second": len(texts) / processor}


def vectors(file: Path, name: str) -> Json:
    """Keep the vectors of what was imported, as a night keeps what it embedded."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder
    from slowwave.store.file import open_writing
    from slowwave.store.vectors import keep_vectors, to_blob

    ids = json.loads((file.parent / f"{name}.ids.json").read_text("utf-8"))
    made = np.load(file.parent / f"{name}.npy", mmap_mode="r")
    with open_writing(file) as opened, opened.transaction():
        hashes = {row["id"]: row["content_hash"] for row in opened.rows(_HASHES)}
        rows = (
            (memory_id, hashes[memory_id], to_blob(vector))
            for memory_id, vector in zip(ids, made, strict=True)
        )
        keep_vectors(opened, SentenceEmbedder().name, rows, run_id=None)
    return {}


_HASHES = "SELECT id, content_hash FROM memories"


def dbscan(folder: Path, _: str) -> Json:
    """Run scikit-learn's DBSCAN over the vectors of a folder, as everybody calls it."""
    from sklearn.cluster import DBSCAN

    from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY

    scan = DBSCAN(eps=1 - DUPLICATE_SIMILARITY, min_samples=2, metric="cosine")
    return {"clusters": int(scan.fit_predict(np.load(folder / "memories.npy")).max()) + 1}


def recall(file: Path, _: str) -> Json:
    """Search a file for the questions of fixtures/recall, each embedded before."""
    from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
    from slowwave.consolidation.recall.search import SearchQuery, search
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder
    from slowwave.store.records import timestamp

    embedder, now = SentenceEmbedder(), timestamp(datetime.now(UTC))
    texts = _texts(ROOT / "fixtures" / "recall" / "questions-assistant.jsonl", "question")[:50]
    known = _Known(embedder.name, dict(zip(texts, embedder.encode(texts), strict=True)))
    index = RecallIndex(read_recallable_of(file, (), embedder.name), known)
    search(index, SearchQuery(texts[0]), now)  # what is only computed once is there
    taken = []
    for text in texts:
        began = time.process_time()
        search(index, SearchQuery(text), now)
        taken.append(time.process_time() - began)
    return {"median": median(taken), "slowest": max(taken)}


class _Known:
    """An embedder that knows its texts already."""

    def __init__(self, name: str, vectors: dict[str, NDArray[np.float32]]) -> None:
        self.name = name
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the known vectors."""
        return np.stack([self._vectors[text] for text in texts])


def make_file(path: Path, count: str) -> Json:
    """Write vectors alone."""
    from .data import make_vectors

    make_vectors(path, int(count))
    return {}


def cluster(path: Path, _: str) -> Json:
    """Find the neighbors among vectors that stay in their file, and cluster them."""
    from slowwave.consolidation.clustering.clusters import find_clusters
    from slowwave.consolidation.clustering.neighbours import similar_pairs
    from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY

    made = np.load(path, mmap_mode="r")
    near = similar_pairs(made, DUPLICATE_SIMILARITY)
    count = len(made)
    groups = find_clusters(near, 1.0 - DUPLICATE_SIMILARITY, [1] * count, count)
    asked = np.sort(np.random.default_rng(3).choice(count, min(count, _ASKED), replace=False))
    true = similar_pairs(made, DUPLICATE_SIMILARITY, fresh=asked)
    keys, wanted = (pairs.left.astype(np.int64) * count + pairs.right for pairs in (near, true))
    found = float(np.isin(wanted, keys).mean())
    return {"pairs": len(near), "clusters": len(groups), "found": found}


def _texts(path: Path, key: str = "content") -> list[str]:
    return [json.loads(line)[key] for line in path.read_text("utf-8").splitlines()]


STEPS: dict[str, Callable[[Path, str], Json]] = {
    "make": make,
    "with vectors": with_vectors,
    "embed": embed,
    "vectors": vectors,
    "DBSCAN": dbscan,
    "recall": recall,
    "make vectors": make_file,
    "cluster": cluster,
}


if __name__ == "__main__":
    name, path, value = sys.argv[1:]
    sys.stdout.write(json.dumps(STEPS[name](Path(path), value)))
