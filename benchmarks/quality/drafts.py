"""How well drafts are checked: by the program, and by a model (`benchmarks/quality/model.py`).

A file has one draft per line: `case`, `sources` (id, said, text), `claims` (text), `operation`,
`faithful` and, for unfaithful ones, `kind`. A question has at most one draft per case, so that no
draft reveals what is wrong with another.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slowwave.consolidation.facts.lookup import find_missing, find_unsupported
from slowwave.consolidation.model.prompts import DraftToCheck
from slowwave.consolidation.proposals import Source

# The maximum number of drafts in a question: about 6,000 tokens, as in a night.
_MAX_DRAFTS = 15
# Checks read no vectors.
_NO_VECTOR = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Judged:
    """A labeled draft, and why it was rejected. by_reading: None if no model has read it."""

    labelled: dict[str, Any]
    draft: DraftToCheck
    by_program: tuple[str, ...]
    by_reading: tuple[str, ...] | None


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


def judged_by_program(path: Path) -> list[Judged]:
    """Return the drafts of a file as the program judges them."""
    drafts = ((row, draft_of(row)) for row in labelled_drafts(path))
    return [Judged(row, draft, faults_of(draft), None) for row, draft in drafts]


def labelled_drafts(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the labeled drafts of a file, which is JSON Lines or TOML."""
    if path.suffix != ".toml":
        yield from map(json.loads, path.read_text("utf-8").splitlines())
        return
    for case in tomllib.loads(path.read_text("utf-8"))["case"]:
        shared = {"case": case["id"], "operation": case["operation"], "sources": case["sources"]}
        yield from (shared | draft for draft in case["draft"])


def report(judged: Sequence[Judged]) -> Iterator[str]:
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
