"""How well drafts are checked: by program, and by a reading with a model's recorded answers.

    python -m benchmarks.quality.drafts FILE.jsonl [--replay RECORDING] [--verbose]

A draft a line, with `case`, `sources` (id, said, text), `claims` (text), `operation`, `faithful`
and, of those that are not, `kind`. Each question holds at most one draft of a case, so that none is
judged by another. Prompts that the recording lacks are written to RECORDING.missing.
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
from slowwave.consolidation.model.answer_forms import CheckAnswer
from slowwave.consolidation.model.objections import objections_of
from slowwave.consolidation.model.parsing import parse_answer
from slowwave.consolidation.model.prompts import DraftToCheck, Messages, ask_to_check
from slowwave.consolidation.model.recording import question_key, read_recording
from slowwave.consolidation.proposals import Source

_MODEL = "checker"
# Drafts in one question: about 6,000 tokens, as in a night.
_DRAFTS = 15
# The reading needs no vectors.
_NO_VECTOR = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Judged:
    """A labeled draft, and why it was turned down."""

    labelled: dict[str, Any]
    draft: DraftToCheck
    by_program: tuple[str, ...]
    by_reading: tuple[str, ...] | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how many of the wrong drafts were caught, and of the faithful turned down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.drafts")
    parser.description = __doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path)
    parser.add_argument("--replay", type=Path, help="the recorded answers of a checker")
    parser.add_argument("--verbose", action="store_true", help="what was misjudged, with texts")
    chosen = parser.parse_args(arguments)
    if not chosen.file.is_file():
        sys.exit(f"absent: {chosen.file}")
    labelled = [json.loads(line) for line in chosen.file.read_text("utf-8").splitlines()]
    judged = list(_judged(labelled, chosen.replay))
    sys.stdout.writelines(f"{line}\n" for line in report(judged, chosen.verbose))


def questions(labelled: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return drafts in questions, at most one of a case in each."""
    by_case: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in labelled:
        by_case[each["case"]].append(each)
    rounds: list[list[dict[str, Any]]] = []
    for drafts in by_case.values():
        for number, each in enumerate(drafts):
            if number == len(rounds):
                rounds.append([])
            rounds[number].append(each)
    return [
        drafts[start : start + _DRAFTS]
        for drafts in rounds
        for start in range(0, len(drafts), _DRAFTS)
    ]


def _judged(labelled: Sequence[dict[str, Any]], replay: Path | None) -> Iterator[Judged]:
    answers = {} if replay is None else dict(read_recording(replay).answers)
    missing: list[Messages] = []
    for question in questions(labelled):
        drafts = [draft_of(each) for each in question]
        messages = ask_to_check(drafts)
        answer = answers.get(question_key(_MODEL, messages))
        if answer is None:
            missing.append(messages)
        stated = {} if answer is None else _by_number(answer.answer)
        for number, (each, draft) in enumerate(zip(question, drafts, strict=True), start=1):
            program = faults_of(draft)
            found = objections_of(stated.get(number), draft)
            reading = None if answer is None else (*found.reasons, *(why for _, why in found.lost))
            yield Judged(each, draft, program, reading)
    if replay is not None and missing:
        path = replay.with_name(f"{replay.name}.missing")
        lines = [json.dumps({"model": _MODEL, "messages": messages}) for messages in missing]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        sys.stderr.write(f"{len(missing)} questions without an answer: {path}\n")


def draft_of(labelled: dict[str, Any]) -> DraftToCheck:
    """Return a labeled draft as a checker is shown it."""
    sources = [
        Source(each["id"], each["text"], each["said"], _NO_VECTOR) for each in labelled["sources"]
    ]
    text = " ".join(claim["text"] for claim in labelled["claims"])
    hints = [(hint.source, hint.words) for hint in find_missing(text, sources)]
    # Whether a rule has two memories that support it is not what is measured here.
    return DraftToCheck("synthesize", sources, text, hints=hints)


def faults_of(draft: DraftToCheck) -> tuple[str, ...]:
    """Return what the program finds wrong with a draft."""
    return tuple(fault.why for fault in find_unsupported(draft.text, draft.sources))


def _by_number(text: str) -> dict[int, Any]:
    return {each.n: each for each in parse_answer(CheckAnswer, text).groups}


def report(judged: Sequence[Judged], verbose: bool = False) -> Iterator[str]:
    """Yield the shares of drafts that were turned down, one per line."""
    for name, wrong in (("wrong drafts caught", True), ("faithful drafts turned down", False)):
        chosen = [each for each in judged if bool(each.labelled["faithful"]) is not wrong]
        program = [each for each in chosen if each.by_program]
        yield f"{name}, by program: {len(program)} of {len(chosen)}"
        read = [each for each in chosen if each.by_reading is not None]
        reading = [each for each in read if each.by_reading]
        either = [each for each in read if each.by_reading or each.by_program]
        yield f"{name}, by reading: {len(reading)} of {len(read)}"
        yield f"{name}, by either: {len(either)} of {len(read)}"
        if wrong:
            missed = Counter(each.labelled["kind"] for each in read if each not in either)
            yield f"  missed: {dict(missed)}"
        if verbose:
            shown = [each for each in read if bool(each in either) is not wrong]
            for each in shown:
                yield f"    {each.labelled.get('kind')}: {each.draft.text}"
                yield from (f"        {source.text}" for source in each.draft.sources)
                yield from (
                    f"      ! {why}" for why in (*each.by_program, *(each.by_reading or ()))
                )


if __name__ == "__main__":
    main()
