"""One step of the benchmark, in a process of its own: `python -m benchmarks.speed.steps`.

Its figures go to stdout as JSON. What is measured is what a night does: `run_cycle` over a memory
file, with the real embedder and the built-in writer.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.quality.bench import Json

from .clock import Clock
from .machine import about

# Later than anything that the memories speak of.
NOW = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)
# The share of new memories that a later night meets: 500 on 100,000.
NEW_SHARE = 0.005

# What a night is made of; what none of these does is "all else".
STAGES = {
    "reading": "slowwave.consolidation.snapshot.snapshot:read_snapshot",
    "names": "slowwave.consolidation.snapshot.snapshot:compute_missing",
    "neighbours": "slowwave.consolidation.clustering.neighbours:similar_pairs",
    "texts": "slowwave.consolidation.snapshot.features:features_of",
    "vetoes": "slowwave.consolidation.comparison.vetoes:find_veto",
    "network": "slowwave.consolidation.comparison.entailment:likelihoods_of",
    "conflicts": "slowwave.consolidation.planning.conflicts:find_conflicts",
    "planning": "slowwave.consolidation.planning.plan:plan_tenant",
    "applying": "slowwave.consolidation.running.execute:execute_plan",
    "findings": "slowwave.consolidation.running.survey:save_findings",
}
# Gives one vector after the other.
VECTORS = "slowwave.store.vectors:read_vectors"


def make(folder: Path, count: int) -> Json:
    """Write memories to import, and the later ones, with the vectors of both."""
    import numpy as np

    from .data import make_memories

    later = max(1, round(NEW_SHARE * count))
    made = make_memories(count + later)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("memories", slice(count)), ("later", slice(count, None))):
        (folder / f"{name}.jsonl").write_text("\n".join(made.lines[part]) + "\n", "utf-8")
        (folder / f"{name}.ids.json").write_text(json.dumps(made.ids[part]), "utf-8")
        np.save(folder / f"{name}.npy", made.vectors[part])
    return {"model": made.model, "later": later}


def vectors(file: Path, name: str) -> Json:
    """Keep the vectors of what was imported, as a night keeps what it embedded."""
    import numpy as np

    from slowwave.consolidation.vectors.embedder import SentenceEmbedder
    from slowwave.store.file import open_writing
    from slowwave.store.vectors import keep_vectors, to_blob

    ids = json.loads((file.parent / f"{name}.ids.json").read_text("utf-8"))
    made = np.load(file.parent / f"{name}.npy", mmap_mode="r")
    clock = Clock()
    with open_writing(file) as opened, opened.transaction():
        hashes = {row["id"]: row["content_hash"] for row in opened.rows(_HASHES)}
        rows = (
            (item, hashes[item], to_blob(vector)) for item, vector in zip(ids, made, strict=True)
        )
        keep_vectors(opened, SentenceEmbedder().name, rows, run_id=None)
    return clock.total()


_HASHES = "SELECT id, content_hash FROM memories"


def night(file: Path, kind: str) -> Json:
    """Run a night; `full`: one that looks at everything again."""
    from slowwave.consolidation.cycle import run_cycle
    from slowwave.consolidation.options import CycleOptions
    from slowwave.consolidation.vectors.embedder import SentenceEmbedder
    from slowwave.consolidation.writing.writer import BuiltInWriter

    from .embedder import MadeEmbedder

    embedder = MadeEmbedder(SentenceEmbedder(), file.parent, ("memories", "later"))
    options = CycleOptions(full=True) if kind == "full" else CycleOptions()
    clock = Clock()
    for stage, place in STAGES.items():
        clock.watch(stage, place)
    clock.count("vectors read", VECTORS)
    outcome = run_cycle(file, options, embedder, BuiltInWriter(), NOW)
    figures = clock.total()
    states = [result.state for result in outcome.results]
    derived = (result.derived for result in outcome.results)
    return figures | {
        "run": outcome.run_id,
        "proposals": len(states),
        "applied": states.count("applied"),
        "rejected": states.count("rejected"),
        "example": next((item for item in derived if item is not None), None),
        "file": file.stat().st_size,
    }


def neighbours(file: Path, name: str) -> Json:
    """Search the neighbors among vectors in memory, and see how fast the bare product is."""
    import numpy as np

    from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY

    from .product import neighbour_stage

    return neighbour_stage(np.load(file.parent / f"{name}.npy"), DUPLICATE_SIMILARITY)[0]


def make_file(path: Path, count: int) -> Json:
    """Write vectors alone."""
    from .data import make_vectors

    clock = Clock()
    make_vectors(path, count)
    return clock.total()


def mapped(path: Path) -> Json:
    """Search the neighbors among vectors that stay in their file, and group them."""
    import numpy as np

    from slowwave.consolidation.thresholds import DUPLICATE_SIMILARITY

    from .product import both_stages

    return both_stages(np.load(path, mmap_mode="r"), DUPLICATE_SIMILARITY)


def copied(file: Path, name: str) -> Json:
    """Copy a memory file that nobody has open."""
    shutil.copyfile(file, file.with_name(name))
    return {}


STEPS: dict[str, Callable[[Path, str], Json]] = {
    "about": lambda file, name: about(),
    "make": lambda folder, count: make(folder, int(count)),
    "vectors": vectors,
    "night": night,
    "neighbours": neighbours,
    "copied": copied,
    "make vectors": lambda path, count: make_file(path, int(count)),
    "mapped": lambda path, _: mapped(path),
}


def main(arguments: list[str]) -> None:
    """Do one step: its name, a file or folder, and what it needs besides."""
    step, path, value = arguments
    sys.stdout.write(json.dumps(STEPS[step](Path(path), value)))


if __name__ == "__main__":
    main(sys.argv[1:])
