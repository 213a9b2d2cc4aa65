"""What recall is measured with: the questions of the nights, and the public sets as published."""

from __future__ import annotations

import json

import pytest

from benchmarks.recall.readers import read_locomo, read_longmemeval
from benchmarks.recall.sets import QUESTIONS, nights
from fixtures.night import FLAVOURS


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_each_question_about_a_night_has_memories_that_answer_it(flavour: str) -> None:
    asked = next(one for one in nights() if one.name == f"night: {flavour}")
    known = {json.loads(line)["id"] for line in asked.lines}
    assert len({one.id for one in asked.questions}) == len(asked.questions) == 95
    for one in asked.questions:
        assert one.evidence_ids, one.id
        assert known >= {*one.evidence_ids, *one.stale_ids}
        assert bool(one.stale_ids) is (one.type == "update")


def test_locomo_is_read_as_it_is_published() -> None:
    asked = read_locomo(QUESTIONS / "locomo-form.json")
    memories = {one["id"]: one for one in map(json.loads, asked.lines)}
    assert {one["tenant"] for one in memories.values()} == {one.tenant for one in asked.questions}
    assert all(one["observed_at"].endswith("+00:00") for one in memories.values())
    # Evidence that no observation was made of leads to no memory.
    assert {bool(one.evidence_ids) for one in asked.questions} == {True, False}
    assert {each for one in asked.questions for each in one.evidence_ids} <= memories.keys()


def test_longmemeval_is_read_as_it_is_published() -> None:
    asked = read_longmemeval(QUESTIONS / "longmemeval-form.json")
    memories = {one["id"]: one for one in map(json.loads, asked.lines)}
    assert not [one for one in asked.questions if one.id.endswith("_abs")]
    assert {each for one in asked.questions for each in one.evidence_ids} <= memories.keys()
    assert all(one["content"].strip() for one in memories.values())
    assert len(read_longmemeval(QUESTIONS / "longmemeval-form.json", most=1).questions) == 1
