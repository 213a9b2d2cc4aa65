"""One call of one peer's clustering: run by peers.py in that peer's own environment.

    python calls_of_peers.py PEER FOLDER SIMILARITY

Stands alone: there is nothing of slowwave in those environments, and of others nothing in
slowwave's. Imports, reading and what a peer wants its memories wrapped in come before the clock.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")

Call = Callable[[], int]


def slowwave(vectors: Any, texts: list[str], similarity: float) -> Call:
    """Neighbours and DBSCAN, as a night has them."""
    neighbours = importlib.import_module("slowwave.consolidation.clustering.neighbours")
    clusters = importlib.import_module("slowwave.consolidation.clustering.clusters")
    importlib.import_module("scipy.sparse")
    importlib.import_module("sklearn.cluster")

    def call() -> int:
        near = neighbours.similar_pairs(vectors, similarity)
        sizes = [1] * len(vectors)
        return len(clusters.find_clusters(near, 1.0 - similarity, sizes, len(vectors)))

    return call


def dbscan(vectors: Any, texts: list[str], similarity: float) -> Call:
    """Run scikit-learn's DBSCAN as everybody calls it."""
    cluster = importlib.import_module("sklearn.cluster")
    scan = cluster.DBSCAN(eps=1 - similarity, min_samples=2, metric="cosine")
    return lambda: int(scan.fit_predict(vectors).max()) + 1


def hdbscan(vectors: Any, texts: list[str], similarity: float) -> Call:
    """Run scikit-learn's HDBSCAN; it takes no similarity."""
    cluster = importlib.import_module("sklearn.cluster")
    scan = cluster.HDBSCAN(min_cluster_size=2, metric="cosine", copy=True)
    return lambda: int(scan.fit_predict(vectors).max()) + 1


def mcp_memory_service(vectors: Any, texts: list[str], similarity: float) -> Call:
    """Run its SemanticClusteringEngine with the settings that it comes with."""
    package = "mcp_memory_service"
    base = importlib.import_module(f"{package}.consolidation.base")
    clustering = importlib.import_module(f"{package}.consolidation.clustering")
    models = importlib.import_module(f"{package}.models.memory")
    memories = [
        models.Memory(content=text, content_hash=str(row), embedding=vector.tolist())
        for row, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]
    engine = clustering.SemanticClusteringEngine(base.ConsolidationConfig())
    return lambda: len(asyncio.run(engine.process(memories)))


def consolidation_memory(vectors: Any, texts: list[str], similarity: float) -> Call:
    """Run what its engine does between reading vectors and writing topics."""
    engine = importlib.import_module("consolidation_memory.consolidation.engine")
    episodes = [{"id": str(row), "content": text} for row, text in enumerate(texts)]

    def call() -> int:
        _, distances = engine._build_scope_isolated_similarity(episodes, vectors)
        return len(engine._build_clusters_from_distance(episodes, distances)[1])

    return call


PEERS: dict[str, Callable[[Any, list[str], float], Call]] = {
    "slowwave": slowwave,
    "DBSCAN": dbscan,
    "HDBSCAN": hdbscan,
    "mcp-memory-service": mcp_memory_service,
    "consolidation-memory": consolidation_memory,
}


def main(peer: str, folder: Path, similarity: float) -> None:
    """Write the figures of one call to stdout as JSON."""
    numpy = importlib.import_module("numpy")
    vectors = numpy.load(folder / "memories.npy")
    lines = (folder / "memories.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["content"] for line in lines]
    call = PEERS[peer](vectors, texts, similarity)
    # What a library prepares at its first product is no part of any peer's work.
    _ = vectors[:256] @ vectors[:256].T
    loaded = _now()
    if _RESET.exists():
        _RESET.write_text("5")
    began = time.perf_counter(), time.process_time()
    found = call()
    figures = {
        "seconds": time.perf_counter() - began[0],
        "processor": time.process_time() - began[1],
        "clusters": found,
        "peak": _most(),
        "above": _most() - loaded,
    }
    sys.stdout.write("\n" + json.dumps(figures))


def _now() -> int:
    """Return the bytes that are taken now."""
    return _status("VmRSS") or _most()


def _most() -> int:
    """Return the most bytes that were taken."""
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(name: str) -> int:
    if not _STATUS.exists():
        return 0
    lines = _STATUS.read_text("ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


if __name__ == "__main__":
    # Peers keep settings and databases in the home folder: give them one that nobody misses.
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
