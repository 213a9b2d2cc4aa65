"""Run one step of the benchmark: `python -m benchmarks.speed.steps NAME PATH VALUE`.

Prints its figures as JSON.
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

# The share of new memories in a later night: 500 of 100,000.
_NEW_SHARE = 0.005
# The size of the sample whose exact neighbors are computed.
_MAX_SAMPLE = 2_000


def make(folder: Path, count: str) -> Json:
    """Write memories for an import, and those of a later night, with the vectors of both."""
    from .data import make_memories

    size = int(count)
    memories = make_memories(size + max(1, round(_NEW_SHARE * size)))
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("memories", slice(size)), ("later", slice(size, None))):
        (folder / f"{name}.jsonl").write_text("\n".join(memories.lines[part]) + "\n", "utf-8")
        (folder / f"{name}.ids.json").write_text(json.dumps(memories.ids[part]), "utf-8")
        np.save(folder / f"{name}.npy", memories.vectors[part])
    return {}


def with_vectors(folder: Path, target: str) -> Json:
    """Write the memories of a folder with their vectors into one file."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder

    loaded = np.load(folder / "memories.npy").round(6)
    lines = (folder / "memories.jsonl").read_text("utf-8").splitlines()
    with Path(target).open("w", encoding="utf-8") as file:
        for line, vector in zip(lines, loaded.tolist(), strict=True):
            own = {"embedding_model": SentenceEmbedder().name, "embedding": vector}
            file.write(json.dumps(json.loads(line) | own) + "\n")
    return {}


def embed(folder: Path, count: str) -> Json:
    """Embed the first `count` memories of a folder."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder

    texts = _texts(folder / "memories.jsonl")[: int(count)]
    embedder = SentenceEmbedder()
    embedder.encode(texts[:10])  # loads the model
    start, processor_start = time.perf_counter(), time.process_time()
    embedder.encode(texts)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor_start
    return {"a second": len(texts) / seconds, "a processor second": len(texts) / processor}


def vectors(file: Path, name: str) -> Json:
    """Store the vectors of the imported memories, as a night does."""
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder
    from slowwave.store.file import open_writing
    from slowwave.store.vectors import store_vectors, to_blob

    ids = json.loads((file.parent / f"{name}.ids.json").read_text("utf-8"))
    loaded = np.load(file.parent / f"{name}.npy", mmap_mode="r")
    with open_writing(file) as opened, opened.transaction():
        hashes = {row["id"]: row["content_hash"] for row in opened.rows(_HASHES)}
        rows = (
            (memory_id, hashes[memory_id], to_blob(vector))
            for memory_id, vector in zip(ids, loaded, strict=True)
        )
        store_vectors(opened, SentenceEmbedder().name, rows, run_id=None)
    return {}


_HASHES = "SELECT id, content_hash FROM memories"


def dbscan(folder: Path, _: str) -> Json:
    """Run scikit-learn's DBSCAN on the vectors of a folder."""
    from sklearn.cluster import DBSCAN

    from slowwave.consolidation.thresholds import NEAR_SIMILARITY

    scan = DBSCAN(eps=1 - NEAR_SIMILARITY, min_samples=2, metric="cosine")
    return {"clusters": int(scan.fit_predict(np.load(folder / "memories.npy")).max()) + 1}


def recall(file: Path, _: str) -> Json:
    """Search a file with questions of fixtures/recall, which are embedded beforehand."""
    from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
    from slowwave.consolidation.recall.search import SearchQuery, search
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder
    from slowwave.store.records import timestamp

    embedder, now = SentenceEmbedder(), timestamp(datetime.now(UTC))
    texts = _texts(ROOT / "fixtures" / "recall" / "questions-assistant.jsonl", "question")[:50]
    known_texts = _KnownTexts(embedder.name, dict(zip(texts, embedder.encode(texts), strict=True)))
    index = RecallIndex(read_recallable_of(file, (), embedder.name), known_texts)
    search(index, SearchQuery(texts[0]), now)  # fills the caches
    times = []
    for text in texts:
        start = time.process_time()
        search(index, SearchQuery(text), now)
        times.append(time.process_time() - start)
    return {"median": median(times), "slowest": max(times)}


class _KnownTexts:
    """An embedder for texts with known vectors."""

    def __init__(self, name: str, vectors: dict[str, NDArray[np.float32]]) -> None:
        self.name = name
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the known vectors."""
        return np.stack([self._vectors[text] for text in texts])


def make_file(path: Path, count: str) -> Json:
    """Write vectors without memories."""
    from .data import make_vectors

    make_vectors(path, int(count))
    return {}


def cluster(path: Path, _: str) -> Json:
    """Find the neighbors of memory-mapped vectors, and cluster them."""
    from slowwave.consolidation.clustering.clusters import find_clusters
    from slowwave.consolidation.clustering.neighbours import similar_pairs
    from slowwave.consolidation.thresholds import NEAR_SIMILARITY

    matrix = np.load(path, mmap_mode="r")
    near = similar_pairs(matrix, NEAR_SIMILARITY)
    count = len(matrix)
    groups = find_clusters(near, 1.0 - NEAR_SIMILARITY, [1] * count, count)
    sample = np.sort(np.random.default_rng(3).choice(count, min(count, _MAX_SAMPLE), replace=False))
    exact = similar_pairs(matrix, NEAR_SIMILARITY, fresh=sample)
    keys, wanted = (pairs.left.astype(np.int64) * count + pairs.right for pairs in (near, exact))
    share = float(np.isin(wanted, keys).mean())
    return {"pairs": len(near), "clusters": len(groups), "found": share}


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
