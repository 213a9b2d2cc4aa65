"""The lives of fixtures/quality with a model's recorded answers, and questions about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.quality.bench import QUALITY, Json
from benchmarks.quality.files import memory_file
from benchmarks.quality.known_answers import Gold, gold_of
from benchmarks.quality.life import source_of_files
from slowwave.consolidation.evaluation.questions import RecallQuestion
from slowwave.store.file import open_reading
from slowwave.store.memories import read_recallable, tenants
from slowwave.store.records import Memory

from .made_questions import make_questions
from .sets import QUESTIONS, Asked

# A question for each update, written from what is updated without a look at what is found.
ABOUT_UPDATES = QUESTIONS / "questions-lives.jsonl"


def lives() -> Iterator[Asked]:
    """Yield the lives that have a recording, each with its questions."""
    rows = [json.loads(line) for line in ABOUT_UPDATES.read_text("utf-8").splitlines()]
    for recording in sorted(QUALITY.glob("life-*.recording.jsonl")):
        name = recording.name.removesuffix(".recording.jsonl")
        yield life_of(recording, [row for row in rows if f"life-{row['life']}" == name])


def life_of(recording: Path, rows: list[Json]) -> Asked:
    """Return a life with questions about its updates, and made ones about all else.

    rows: `update` is the first memory of one. A question that is made has the rarest words of a
    memory, and all memories that say the same answer it.
    """
    path = recording.with_name(recording.name.removesuffix(".recording.jsonl"))
    name = path.name
    source = source_of_files(path.with_name(f"{name}.jsonl"), path.with_name(f"{name}.gold.json"))
    with memory_file(source.lines) as file_path, open_reading(file_path) as file:
        memories = [each for tenant in tenants(file) for each in read_recallable(file, tenant)]
    gold = gold_of(source.gold, {memory.id: memory.content for memory in memories})
    return Asked(
        f"life: {name.removeprefix('life-')}",
        source.lines,
        [*_about_updates(rows, memories, gold), *_made(memories, gold)],
        gold=gold,
        recording=recording,
    )


def _about_updates(
    rows: list[Json], memories: list[Memory], gold: Gold
) -> Iterator[RecallQuestion]:
    """Yield the questions whose answer is the newest value; every older one is stale."""
    updates = {ids[0]: ids for ids in gold.updates}
    tenant_of = {memory.id: memory.tenant for memory in memories}
    for row in rows:
        *older, newest = updates[row["update"]]
        yield RecallQuestion(
            id=row["id"],
            question=row["question"],
            evidence_ids=(newest,),
            stale_ids=tuple(older),
            tenant=tenant_of[newest],
            type="update",
        )


def _made(memories: list[Memory], gold: Gold) -> Iterator[RecallQuestion]:
    kinds = {memory: "fact" for fact in gold.facts for memory in fact.ids}
    kinds |= {memory: "rule" for rule in gold.rules for memory in rule.ids}
    updated = {memory for ids in gold.updates for memory in ids}
    same: dict[str, list[str]] = {}
    for memory in memories:
        same.setdefault(gold.thing(memory.id), []).append(memory.id)
    for question in make_questions(memories):
        if question.id not in updated:
            yield question.model_copy(
                update={
                    "evidence_ids": tuple(same[gold.thing(question.id)]),
                    "type": kinds.get(question.id, "single"),
                }
            )
