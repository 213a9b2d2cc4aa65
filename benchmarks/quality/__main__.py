"""Measure how good slowwave's decisions are: figures on stdout, and as JSON in a file.

    python -m benchmarks.quality [--data FOLDER] [--output FILE]

Runs nights without a model on the lives in fixtures/quality, and nights with recorded answers on
those that have a recording; both need only the repository. Files in the folder of shared data are
measured as well; those that are absent are listed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from slowwave.consolidation.vectors.embedder import SentenceEmbedder

from . import drafts, life
from .bench import QUALITY, ROOT, SHARED, Json, make_parser, replaying
from .model import is_present

OUTPUT = ROOT / "build" / "bench-quality.json"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything."""
    parser = make_parser("benchmarks.quality", __doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of the shared data")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the JSON to write")
    args = parser.parse_args(arguments)
    embedder = SentenceEmbedder()
    without_model, with_answers = {}, {}
    for path in sorted(QUALITY.glob("life-*.gold.json")):
        name = path.name.removesuffix(".gold.json")
        source = life.source_of_files(path.with_name(f"{name}.jsonl"), path)
        without_model[name] = life.measure(source, embedder)
        recording = path.with_name(f"{name}.recording.jsonl")
        if recording.is_file():
            with_answers[name] = life.measure(source, embedder, replaying(recording))
    results: Json = {}
    for title, lives in (
        ("without a model", without_model),
        ("with recorded answers", with_answers),
    ):
        sys.stdout.write(f"\n{title}\n")
        sys.stdout.writelines(f"{line}\n" for line in life.table(lives))
        results[title] = {name: life.as_json(result) for name, result in lives.items()}
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    _measure_shared(args.data)
    sys.stdout.write(f"\nThe figures are in {args.output}.\n")


def _measure_shared(data: Path) -> None:
    """Measure the files of the shared data that are present."""
    for name in ("drafts3.jsonl", "model-drafts.jsonl"):
        if is_present(data / name):
            judged = drafts.judged_by_program(data / name)
            sys.stdout.writelines(f"{line}\n" for line in drafts.report(judged))


if __name__ == "__main__":
    main()
