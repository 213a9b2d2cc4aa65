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
from slowwave.consolidation.recall.searched import SearchedMemories
from slowwave.store.file import open_reading
from slowwave.store.memories import read_recallable, tenants
from slowwave.store.records import Memory

from .made_questions import make_questions
from .sets import QUESTIONS, QuestionSet

# A question for each update, written without seeing what recall finds.
_ABOUT_UPDATES = QUESTIONS / "questions-lives.jsonl"


def lives() -> Iterator[QuestionSet]:
    """Yield the lives that have a recording, each with its questions."""
    rows = [json.loads(line) for line in _ABOUT_UPDATES.read_text("utf-8").splitlines()]
    for recording in sorted(QUALITY.glob("life-*.recording.jsonl")):
        name = recording.name.removesuffix(".recording.jsonl")
        yield life_of(recording, [row for row in rows if f"life-{row['life']}" == name])


def life_of(recording: Path, rows: list[Json]) -> QuestionSet:
    """Return a life with questions about its updates, and generated ones about the rest.

    rows: the questions; `update` is the id of the first memory of an update. A generated question
    has the rarest words of a memory; all memories that state the same answer it.
    """
    path = recording.with_name(recording.name.removesuffix(".recording.jsonl"))
    name = path.name
    source = source_of_files(path.with_name(f"{name}.jsonl"), path.with_name(f"{name}.gold.json"))
    with memory_file(source.lines) as file_path, open_reading(file_path) as file:
        memories = list(
            SearchedMemories(
                [row for tenant in tenants(file) for row in read_recallable(file, tenant)]
            )
        )
    gold = gold_of(source.gold, {memory.id: memory.content for memory in memories})
    return QuestionSet(
        f"life: {name.removeprefix('life-')}",
        source.lines,
        [*_about_updates(rows, memories, gold), *_generated(memories, gold)],
        gold=gold,
        recording=recording,
    )


def _about_updates(
    rows: list[Json], memories: list[Memory], gold: Gold
) -> Iterator[RecallQuestion]:
    """Yield the questions that the newest value answers; every older one is stale."""
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


def _generated(memories: list[Memory], gold: Gold) -> Iterator[RecallQuestion]:
    kinds = {memory: "fact" for fact in gold.facts for memory in fact.ids}
    kinds |= {memory: "rule" for rule in gold.rules for memory in rule.ids}
    updated = {memory for ids in gold.updates for memory in ids}
    by_thing: dict[str, list[str]] = {}
    for memory in memories:
        by_thing.setdefault(gold.thing(memory.id), []).append(memory.id)
    for question in make_questions(memories):
        if question.id not in updated:
            yield question.model_copy(
                update={
                    "evidence_ids": tuple(by_thing[gold.thing(question.id)]),
                    "type": kinds.get(question.id, "single"),
                }
            )
