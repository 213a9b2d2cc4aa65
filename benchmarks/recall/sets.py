"""Memories with questions, from the fixtures and from the shared data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.quality.bench import ROOT, Json
from benchmarks.quality.known_answers import Gold, gold_of
from benchmarks.quality.life import gold_of_night
from fixtures.night import FLAVOURS, Night, lines, load
from slowwave.consolidation.evaluation.questions import RecallQuestion

QUESTIONS = ROOT / "fixtures" / "recall"
# Questions about the world that no memory answers, one per line.
UNRELATED = QUESTIONS / "unrelated.txt"
# Files of the shared data.
UPDATES = "updates.jsonl"


@dataclass(frozen=True)
class QuestionSet:
    """Memories, as lines for an import, and questions about them."""

    name: str
    lines: Sequence[str]
    questions: Sequence[RecallQuestion]
    # By the id of a question, the keys that each text with its answer contains, if known.
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # None if nothing is known about the memories.
    gold: Gold | None = None
    # The answers of a model; None for a night without a model.
    recording: Path | None = None


def nights() -> Iterator[QuestionSet]:
    """Yield the nights of fixtures/, each with its questions."""
    for flavour in FLAVOURS:
        path = QUESTIONS / f"questions-{flavour}.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        night = load(flavour)
        questions = questions_of_night(night, rows)
        keys = _keys(night)
        yield QuestionSet(
            f"night: {flavour}",
            lines(night),
            questions,
            {row["id"]: keys[row["group"]] for row in rows},
            gold_of(gold_of_night(night), {memory.id: memory.text for memory in night.memories}),
        )


def questions_of_night(night: Night, rows: Iterable[Json]) -> list[RecallQuestion]:
    """Return questions with the memories of their group as evidence.

    For an update, the new value is the evidence, and the old one is stale.
    """
    ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    for memory in night.memories:
        ids[memory.group, memory.role].append(memory.id)
    kinds = {memory.group: memory.role for memory in night.memories}
    kinds |= {update["id"]: "update" for update in night.updates}
    return [
        RecallQuestion(
            id=row["id"],
            question=row["question"],
            evidence_ids=tuple(_evidence(ids, row["group"])),
            stale_ids=tuple(ids[row["group"], "old"]),
            type=kinds[row["group"]],
        )
        for row in rows
    ]


def _keys(night: Night) -> dict[str, Sequence[str]]:
    keys = {group["id"]: group["keys"] for group in [*night.facts, *night.rules, *night.singles]}
    return keys | {update["id"]: update["new_keys"] for update in night.updates}


def _evidence(ids: Mapping[tuple[str, str], Sequence[str]], group: str) -> Iterator[str]:
    for role in ("fact", "rule", "single", "new"):
        yield from ids.get((group, role), ())


def shared(data: Path) -> Iterator[QuestionSet]:
    """Yield the question sets of the shared data that are present."""
    for name, read in READERS.items():
        memories, questions = (_rows(data / file) for file in _files(name))
        if memories is not None and questions is not None:
            lines = [json.dumps(memory, ensure_ascii=False) for memory in memories]
            yield QuestionSet(name, lines, read(memories, questions))
    updates = _rows(data / UPDATES)
    if updates is not None:
        yield updates_of(updates)


def absent(data: Path | None) -> list[str]:
    """Return the names of the files that the shared data lacks."""
    names = [*(file for name in READERS for file in _files(name)), UPDATES]
    return [name for name in names if data is None or not (data / name).is_file()]


def _files(name: str) -> tuple[str, str]:
    return f"{name}-memories.jsonl", f"{name}-questions.jsonl"


def _rows(path: Path) -> list[Json] | None:
    if not path.is_file():
        return None
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def locomo_questions(memories: Iterable[Json], questions: Iterable[Json]) -> list[RecallQuestion]:
    """Return questions with the memories of their evidence turns as evidence.

    Without a memory of such a turn, a question has no evidence, and is omitted later.
    """
    by_turn: dict[tuple[str, str], list[str]] = defaultdict(list)
    for memory in memories:
        for turn in memory["metadata"]["dia_ids"]:
            by_turn[memory["tenant"], turn].append(memory["id"])
    return [
        RecallQuestion(
            id=row["id"],
            question=row["question"],
            evidence_ids=tuple(
                dict.fromkeys(
                    memory
                    for turn in row["evidence_dia_ids"]
                    for memory in by_turn[row["tenant"], turn]
                )
            ),
            tenant=row["tenant"],
            type=f"category {row['category']}",
        )
        for row in questions
    ]


def longmemeval_questions(
    memories: Iterable[Json], questions: Iterable[Json]
) -> list[RecallQuestion]:
    """Return the answerable questions.

    For a changed value, the latest memories are the evidence, and earlier ones are stale.
    """
    days = {memory["id"]: memory["observed_at"] for memory in memories}
    answerable = []
    for row in questions:
        evidence = row["evidence_ids"]
        latest = max(days[memory_id] for memory_id in evidence)
        stale = [
            memory_id
            for memory_id in evidence
            if row["type"] == "knowledge-update" and days[memory_id] < latest
        ]
        if not row["abstention"]:
            answerable.append(
                RecallQuestion(
                    id=row["id"],
                    question=row["question"],
                    evidence_ids=tuple(memory for memory in evidence if memory not in stale),
                    stale_ids=tuple(stale),
                    type=row["type"],
                )
            )
    return answerable


def updates_of(rows: Iterable[Json]) -> QuestionSet:
    """Return a set with the old and the new value of every fact."""
    answerable = [row for row in rows if not row["abstention"]]
    return QuestionSet(
        "updates",
        [
            json.dumps(
                {
                    "id": f"{row['question_id']}/{which}",
                    "content": row[f"{which}_turn"],
                    "observed_at": f"{row[f'{which}_date']}:00+00:00",
                }
            )
            for row in answerable
            for which in ("old", "new")
        ],
        [
            RecallQuestion(
                id=row["question_id"],
                question=row["question"],
                evidence_ids=(f"{row['question_id']}/new",),
                stale_ids=(f"{row['question_id']}/old",),
                type="update",
            )
            for row in answerable
        ],
    )


READERS = {"locomo": locomo_questions, "longmemeval": longmemeval_questions}
