"""Run one peer on one file; peers.py runs this in the environment of the peer.

    python calls_of_peers.py PEER MEMORIES.jsonl

It does not import slowwave, which those environments lack. Each function takes the file and an
empty folder, and returns the result as text.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def slowwave(path: Path, folder: Path) -> str:
    """Import the file, and run a night without a model."""
    command = [sys.executable, "-m", "slowwave.cli"]
    memory_file = str(folder / "memory.db")
    for words in (["import", memory_file, str(path)], ["maintain", memory_file]):
        done = subprocess.run([*command, *words, "--json"], stdout=subprocess.PIPE, check=True)  # noqa: S603 - our own
    return f"{json.loads(done.stdout)['after']['active']:,} memories left"


def dream(path: Path, folder: Path) -> str:
    """Consolidate a list in Markdown, without vectors."""
    notes = folder / "MEMORY.md"
    notes.write_text("".join(f"- {text}\n" for text in _read(path)[0]), "utf-8")
    command = [sys.executable, os.environ["DREAM"], str(notes), "--apply", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603 - the program that the user specifies
    if done.returncode:
        return done.stderr.strip()
    left = sum(line.startswith("- ") for line in notes.read_text("utf-8").splitlines())
    return f"{left:,} memories left"


def dbscan(path: Path, folder: Path) -> str:
    """Run scikit-learn's DBSCAN with a minimum cosine of 0.60."""
    cluster = importlib.import_module("sklearn.cluster")
    scan = cluster.DBSCAN(eps=0.4, min_samples=2, metric="cosine")
    return f"{scan.fit_predict(_read(path)[1]).max() + 1:,} clusters"


def semhash(path: Path, folder: Path) -> str:
    """Deduplicate with the default threshold."""
    texts, vectors = _read(path)
    index = importlib.import_module("semhash").SemHash.from_embeddings(vectors, texts, model=None)
    return f"{len(index.self_deduplicate().selected):,} memories left"


def mcp_memory_service(path: Path, folder: Path) -> str:
    """Cluster and compress with the default settings."""
    package = "mcp_memory_service"
    base = importlib.import_module(f"{package}.consolidation.base")
    clustering = importlib.import_module(f"{package}.consolidation.clustering")
    compression = importlib.import_module(f"{package}.consolidation.compression")
    models = importlib.import_module(f"{package}.models.memory")
    memories = [
        models.Memory(content=text, content_hash=str(row), embedding=vector.tolist())
        for row, (text, vector) in enumerate(zip(*_read(path), strict=True))
    ]
    config = base.ConsolidationConfig()
    clusters = asyncio.run(clustering.SemanticClusteringEngine(config).process(memories))
    compressed = compression.SemanticCompressionEngine(config).process(clusters, memories)
    return f"{len(asyncio.run(compressed)):,} summaries"


def consolidation_memory(path: Path, folder: Path) -> str:
    """Run the steps of its engine between reading vectors and asking a model."""
    engine = importlib.import_module("consolidation_memory.consolidation.engine")
    texts, vectors = _read(path)
    episodes = [{"id": str(row), "content": text} for row, text in enumerate(texts)]
    _, distances = engine._build_scope_isolated_similarity(episodes, vectors)
    return f"{len(engine._build_clusters_from_distance(episodes, distances)[1]):,} clusters"


PEERS: dict[str, Callable[[Path, Path], str]] = {
    "slowwave": slowwave,
    "dream": dream,
    "DBSCAN": dbscan,
    "semhash": semhash,
    "mcp-memory-service": mcp_memory_service,
    "consolidation-memory": consolidation_memory,
}


def _read(path: Path) -> tuple[list[str], Any]:
    numpy = importlib.import_module("numpy")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    vectors = numpy.array([line["embedding"] for line in lines], dtype=numpy.float32)
    return [line["content"] for line in lines], vectors


if __name__ == "__main__":
    # Peers write settings and databases into the home folder, so they get a temporary one.
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        # Peers write to stdout, too: the result is the last line.
        sys.stdout.write("\n" + PEERS[sys.argv[1]](Path(sys.argv[2]), Path(home)))
