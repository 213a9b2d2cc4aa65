"""How well drafts are checked: by the program, and by a model with recorded answers.

    python -m benchmarks.quality.drafts FILE.jsonl [--replay RECORDING] [--verbose]

FILE has one draft per line: `case`, `sources` (id, said, text), `claims` (text), `operation`,
`faithful` and, for unfaithful ones, `kind`. A question has at most one draft per case, so that no
draft reveals what is wrong with another. Prompts without a recorded answer are written to
RECORDING.missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slowwave.consolidation.facts.lookup import find_missing, find_unsupported
from slowwave.consolidation.model.answer_forms import CheckAnswer, parse_answer
from slowwave.consolidation.model.objections import objections_of
from slowwave.consolidation.model.prompts import DraftToCheck, Messages, ask_to_check
from slowwave.consolidation.model.recording import question_key, read_recording
from slowwave.consolidation.proposals import Source

_MODEL = "checker"
# The maximum number of drafts in a question: about 6,000 tokens, as in a night.
_MAX_DRAFTS = 15
# Checks read no vectors.
_NO_VECTOR = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Judged:
    """A labeled draft, and why it was rejected. by_reading: None if there is no answer."""

    labelled: dict[str, Any]
    draft: DraftToCheck
    by_program: tuple[str, ...]
    by_reading: tuple[str, ...] | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how many wrong drafts were caught, and how many faithful ones turned down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.drafts")
    parser.description = __doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path)
    parser.add_argument("--replay", type=Path, help="the recorded answers of a checker")
    parser.add_argument("--verbose", action="store_true", help="print misjudged drafts")
    args = parser.parse_args(arguments)
    if not args.file.is_file():
        sys.exit(f"absent: {args.file}")
    labelled = [json.loads(line) for line in args.file.read_text("utf-8").splitlines()]
    judged = list(_judged(labelled, args.replay))
    sys.stdout.writelines(f"{line}\n" for line in report(judged, args.verbose))


def questions(labelled: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Split drafts into questions, each with at most one draft per case."""
    by_case: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in labelled:
        by_case[row["case"]].append(row)
    rounds: list[list[dict[str, Any]]] = []
    for drafts in by_case.values():
        for number, draft in enumerate(drafts):
            if number == len(rounds):
                rounds.append([])
            rounds[number].append(draft)
    return [
        drafts[start : start + _MAX_DRAFTS]
        for drafts in rounds
        for start in range(0, len(drafts), _MAX_DRAFTS)
    ]


def _judged(labelled: Sequence[dict[str, Any]], replay: Path | None) -> Iterator[Judged]:
    answers = {} if replay is None else dict(read_recording(replay).answers)
    missing: list[Messages] = []
    for question in questions(labelled):
        drafts = [draft_of(row) for row in question]
        messages = ask_to_check(drafts)
        answer = answers.get(question_key(_MODEL, messages))
        if answer is None:
            missing.append(messages)
        verdicts = {} if answer is None else _by_number(answer.answer)
        for number, (row, draft) in enumerate(zip(question, drafts, strict=True), start=1):
            found = objections_of(verdicts.get(number), draft)
            reading = None if answer is None else (*found.reasons, *(why for _, why in found.lost))
            yield Judged(row, draft, faults_of(draft), reading)
    if replay is not None and missing:
        path = replay.with_name(f"{replay.name}.missing")
        lines = [json.dumps({"model": _MODEL, "messages": messages}) for messages in missing]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        sys.stderr.write(f"{len(missing)} questions without an answer: {path}\n")


def draft_of(labelled: dict[str, Any]) -> DraftToCheck:
    """Return a labeled draft as it is shown to a checker."""
    sources = [
        Source(source["id"], source["text"], source["said"], _NO_VECTOR)
        for source in labelled["sources"]
    ]
    text = " ".join(claim["text"] for claim in labelled["claims"])
    hints = [(hint.source, hint.words) for hint in find_missing(text, sources)]
    return DraftToCheck("synthesize", sources, text, hints=hints)


def faults_of(draft: DraftToCheck) -> tuple[str, ...]:
    """Return what the program finds wrong with a draft."""
    return tuple(fault.why for fault in find_unsupported(draft.text, draft.sources))


def _by_number(text: str) -> dict[int, Any]:
    return {verdict.n: verdict for verdict in parse_answer(CheckAnswer, text).groups}


def report(judged: Sequence[Judged], verbose: bool = False) -> Iterator[str]:
    """Yield the shares of drafts that were turned down, one per line."""
    for name, wrong in (("wrong drafts caught", True), ("faithful drafts turned down", False)):
        drafts = [draft for draft in judged if bool(draft.labelled["faithful"]) is not wrong]
        program = [draft for draft in drafts if draft.by_program]
        yield f"{name}, by program: {len(program)} of {len(drafts)}"
        read = [draft for draft in drafts if draft.by_reading is not None]
        reading = [draft for draft in read if draft.by_reading]
        either = [draft for draft in read if draft.by_reading or draft.by_program]
        yield f"{name}, by reading: {len(reading)} of {len(read)}"
        yield f"{name}, by either: {len(either)} of {len(read)}"
        if wrong:
            missed = Counter(draft.labelled["kind"] for draft in read if draft not in either)
            yield f"  missed: {dict(missed)}"
        if verbose:
            misjudged = [draft for draft in read if (draft in either) is not wrong]
            for row in misjudged:
                yield f"    {row.labelled.get('kind')}: {row.draft.text}"
                yield from (f"        {source.text}" for source in row.draft.sources)
                yield from (f"      ! {why}" for why in (*row.by_program, *(row.by_reading or ())))


if __name__ == "__main__":
    main()
