"""The questions that recall is measured with."""

from __future__ import annotations

import json

import pytest

from benchmarks.recall.lives import lives
from benchmarks.recall.sets import nights
from fixtures.night import FLAVOURS


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_each_question_about_a_night_has_memories_that_answer_it(flavour: str) -> None:
    asked = next(each for each in nights() if each.name == f"night: {flavour}")
    ids = {json.loads(line)["id"] for line in asked.lines}
    assert len({request.id for request in asked.questions}) == len(asked.questions) == 95
    for request in asked.questions:
        assert request.evidence_ids, request.id
        assert ids >= {*request.evidence_ids, *request.stale_ids}
        assert bool(request.stale_ids) is (request.type == "update")


def test_each_update_of_a_life_has_a_question_that_its_newest_value_answers() -> None:
    for asked in lives():
        assert asked.gold is not None
        assert asked.recording is not None
        moments = {line["id"]: line["observed_at"] for line in map(json.loads, asked.lines)}
        about = [request for request in asked.questions if request.type == "update"]
        answered = sorted((*request.stale_ids, *request.evidence_ids) for request in about)
        assert answered == sorted(asked.gold.updates)
        for request in asked.questions:
            assert moments.keys() >= {*request.evidence_ids, *request.stale_ids}
            if request.stale_ids:
                newest = moments[request.evidence_ids[0]]
                assert all(moments[stale] < newest for stale in request.stale_ids)
        about_facts = [request for request in asked.questions if request.type == "fact"]
        assert about_facts
        for request in about_facts:
            assert len({asked.gold.thing(memory) for memory in request.evidence_ids}) == 1
