"""How good slowwave's decisions are, measured: figures on stdout, and as JSON in a file.

    python -m benchmarks.quality [--data FOLDER] [--output FILE]

Needs nothing but the repository: nights without a model on the lives in fixtures/quality, and
nights with a model's recorded answers where there is a recording next to a life. What is in the
folder of shared data is measured as well; what is absent is named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from slowwave.consolidation.vectors.embedder import SentenceEmbedder

from . import adversarial, drafts, life, lookup
from .bench import QUALITY, ROOT, Json

OUTPUT = ROOT / "build" / "bench-quality.json"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    data = Path(os.environ.get("DATA") or ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=data, help="the folder of the shared data")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the JSON to write")
    chosen = parser.parse_args(arguments)
    embedder = SentenceEmbedder()
    without, answered = {}, {}
    for path in sorted(QUALITY.glob("life-*.gold.json")):
        name = path.name.removesuffix(".gold.json")
        source = life.source_of_files(path.with_name(f"{name}.jsonl"), path)
        without[name] = life.measured(source, embedder)
        recording = path.with_name(f"{name}.recording.jsonl")
        if recording.is_file():
            answered[name] = life.measured(source, embedder, life.replaying(recording))
    results: Json = {}
    for title, found in (("without a model", without), ("with recorded answers", answered)):
        sys.stdout.write(f"\n{title}\n")
        sys.stdout.writelines(f"{line}\n" for line in life.table(found))
        results[title] = {name: life.as_json(measured) for name, measured in found.items()}
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    _measure_shared(chosen.data)
    sys.stdout.write(f"\nthe figures are in {chosen.output}\n")


def _measure_shared(data: Path) -> None:
    """Measure on the shared data, as far as it is there."""
    for name in ("drafts3.jsonl", "model-drafts.jsonl"):
        if _is_there(data / name):
            drafts.main([str(data / name)])
            lookup.main([str(data / name)])
    for name in ("adversarial-pairs.jsonl", "pairs3.jsonl"):
        if _is_there(data / name):
            adversarial.main([str(data / name)])


def _is_there(path: Path) -> bool:
    sys.stdout.write(f"\n{path.name}{'' if path.is_file() else ': absent'}\n")
    return path.is_file()


if __name__ == "__main__":
    main()
