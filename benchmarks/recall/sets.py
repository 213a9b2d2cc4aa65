"""What is measured on: memories with questions, from our fixtures and from the shared data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.quality.bench import ROOT, Bench, Json
from benchmarks.quality.known_answers import Gold, gold_of
from benchmarks.quality.life import gold_of_night
from fixtures.night import FLAVOURS, Night, lines, load
from slowwave.consolidation.evaluation.questions import RecallQuestion

QUESTIONS = ROOT / "fixtures" / "recall"
# Questions about the world, one per line, which no memory answers.
UNRELATED = QUESTIONS / "unrelated.txt"
# Which file of the shared data holds what.
LOCOMO, LONGMEMEVAL, UPDATES = "locomo", "longmemeval", "updates.jsonl"


@dataclass(frozen=True)
class Asked:
    """Memories, as lines for an import, and what is asked of them."""

    name: str
    lines: Sequence[str]
    questions: Sequence[RecallQuestion]
    # Of a question, by its id, what stands in each text that answers it, where that is known.
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # What is known about the memories, None where nothing is.
    gold: Gold | None = None
    # The answers of a model in the night; None for one without a model.
    recording: Path | None = None


def nights() -> Iterator[Asked]:
    """Yield the nights of fixtures/, each with its questions."""
    for flavour in FLAVOURS:
        path = QUESTIONS / f"questions-{flavour}.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        known = load(flavour)
        questions = questions_of_night(known, rows)
        keys = _keys(known)
        yield Asked(
            f"night: {flavour}",
            lines(known),
            questions,
            {row["id"]: keys[row["group"]] for row in rows},
            gold_of(gold_of_night(known), {told.id: told.text for told in known.told}),
        )


def questions_of_night(known: Night, rows: Iterable[Json]) -> list[RecallQuestion]:
    """Turn the group that a question is about into the memories that answer it.

    Of an update that is the new value; the old one is stale.
    """
    ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    for told in known.told:
        ids[told.group, told.role].append(told.id)
    kinds = {told.group: told.role for told in known.told}
    kinds |= {update["id"]: "update" for update in known.updates}
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


def _keys(known: Night) -> dict[str, Sequence[str]]:
    keys = {item["id"]: item["keys"] for item in [*known.facts, *known.rules, *known.singles]}
    return keys | {update["id"]: update["new_keys"] for update in known.updates}


def _evidence(ids: Mapping[tuple[str, str], Sequence[str]], group: str) -> Iterator[str]:
    for role in ("fact", "rule", "single", "new"):
        yield from ids.get((group, role), ())


def shared(bench: Bench) -> Iterator[Asked]:
    """Yield what is there of the shared data."""
    readers = {LOCOMO: locomo_questions, LONGMEMEVAL: longmemeval_questions}
    for name, read in readers.items():
        memories = bench.shared(f"{name}-memories.jsonl")
        questions = bench.shared(f"{name}-questions.jsonl")
        if memories is not None and questions is not None:
            yield Asked(name, [*map(_as_line, memories)], read(memories, questions))
    updates = bench.shared(UPDATES)
    if updates is not None:
        yield updates_of(updates)


def absent(bench: Bench) -> list[str]:
    """Return the files that the shared data lacks."""
    names = [f"{name}-{part}.jsonl" for name in (LOCOMO, LONGMEMEVAL) for part in _PARTS]
    return [item for item in [*names, UPDATES] if bench.data is None or not _is_there(bench, item)]


_PARTS = ("memories", "questions")


def _is_there(bench: Bench, name: str) -> bool:
    return bench.data is not None and (bench.data / name).is_file()


def locomo_questions(memories: Iterable[Json], questions: Iterable[Json]) -> list[RecallQuestion]:
    """Let the turns that answer a question lead to the memories of its conversation.

    Where no memory was made of any of them, a question has no evidence, and is omitted.
    """
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    for memory in memories:
        for turn in memory["metadata"]["dia_ids"]:
            said[memory["tenant"], turn].append(memory["id"])
    return [
        RecallQuestion(
            id=row["id"],
            question=row["question"],
            evidence_ids=tuple(
                dict.fromkeys(
                    item for turn in row["evidence_dia_ids"] for item in said[row["tenant"], turn]
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
    """Take the questions that have an answer.

    Of one about a changed value the latest memories answer it; earlier ones are stale.
    """
    days = {memory["id"]: memory["observed_at"] for memory in memories}
    found = []
    for row in questions:
        evidence = row["evidence_ids"]
        latest = max(days[memory_id] for memory_id in evidence)
        stale = [
            memory_id
            for memory_id in evidence
            if row["type"] == "knowledge-update" and days[memory_id] < latest
        ]
        if not row["abstention"]:
            found.append(
                RecallQuestion(
                    id=row["id"],
                    question=row["question"],
                    evidence_ids=tuple(item for item in evidence if item not in stale),
                    stale_ids=tuple(stale),
                    type=row["type"],
                )
            )
    return found


def updates_of(rows: Iterable[Json]) -> Asked:
    """Return one file with the old and the new value of every fact."""
    told = [row for row in rows if not row["abstention"]]
    return Asked(
        "updates",
        [
            json.dumps(
                {
                    "id": f"{row['question_id']}/{which}",
                    "content": row[f"{which}_turn"],
                    "observed_at": f"{row[f'{which}_date']}:00+00:00",
                }
            )
            for row in told
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
            for row in told
        ],
    )


def _as_line(memory: Json) -> str:
    return json.dumps(memory, ensure_ascii=False)
