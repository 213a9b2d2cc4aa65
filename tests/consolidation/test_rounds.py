"""An agent as the model: it answers questions in rounds, and one night applies the answers."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile

import pytest
from answerers import Answerer, honestly, result_of
from model_nights import Agent, a_fact, facts
from nights import NOW, TWINS, daily, execute, rows, unchanged

from slowwave.consolidation.agent.rounds import AgentRound, GivenAnswers, OpenQuestions
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.errors import FileHeld
from slowwave.store.lock import maintenance_lock

# What has no groups.
NOTHING = json.dumps({"groups": [], "conflicts": []})


def a_round(path: Path, embedder: SentenceEmbedder) -> AgentRound:
    """Return a round about all tenants."""
    return AgentRound(path, CycleOptions(), embedder, NOW)


def questions(agent: Agent) -> OpenQuestions:
    """Return what an agent is asked about its file."""
    return a_round(agent.path, agent.embedder).questions()


def give(agent: Agent, answers: Mapping[str, str]) -> GivenAnswers:
    """Answer questions about the file of an agent."""
    return a_round(agent.path, agent.embedder).give(answers)


def dream(path: Path, embedder: SentenceEmbedder, answer: Answerer, at_once: int = 9) -> int:
    """Answer in rounds, in a random order, until a night has run; return the number of rounds."""
    chance = random.Random(at_once)  # noqa: S311 - a test
    listing = a_round(path, embedder).questions()
    for number in range(1, 100):
        chosen = chance.sample(listing.questions, min(at_once, len(listing.questions)))
        answers = {each.id: answer(each.messages) for each in chosen}
        reply = a_round(path, embedder).give(answers)
        assert set(reply.kept) == {each.id for each in chosen}
        assert (reply.outcome is None) == bool(reply.questions)
        if reply.outcome is not None:
            return number
        assert rows(path, "SELECT id FROM runs") == []
        listing = reply.left
    raise AssertionError("it never ends")


@pytest.mark.parametrize("at_once", [1, 3])
def test_answers_can_come_in_any_order(at_once: int, agent: Agent, tmp_path: Path) -> None:
    agent.remember(facts(4))
    slow = tmp_path / "slow.db"
    copyfile(agent.path, slow)
    agent.sleep()
    assert dream(slow, agent.embedder, honestly, at_once) == 8 // at_once + bool(8 % at_once)
    assert result_of(slow) == result_of(agent.path)


def test_an_answer_to_an_outdated_question_is_stale(agent: Agent) -> None:
    agent.remember([*a_fact(), *daily(TWINS, "twin")])
    (question,) = questions(agent).questions
    execute(agent.path, "DELETE FROM embeddings WHERE memory_id LIKE 'lease-%'")
    execute(agent.path, "DELETE FROM memories WHERE id LIKE 'lease-%'")
    with unchanged(agent.picture):
        reply = give(agent, {question.id: NOTHING, "unknown": NOTHING})
    assert reply.stale == (question.id, "unknown")
    assert reply.outcome is None
    assert agent.rows("SELECT key FROM answers") == []


def test_a_round_that_was_locked_out_continues(agent: Agent) -> None:
    agent.remember(a_fact())
    answers: dict[str, str] = {}
    for _ in range(2):
        listing = questions(agent)
        answers |= {each.id: honestly(each.messages) for each in listing.questions}
        with maintenance_lock(agent.path):
            if len(answers) == 1:
                give(agent, answers)
                continue
            with pytest.raises(FileHeld) as error:
                give(agent, answers)
    assert "The answers are kept" in error.value.hint
    reply = give(agent, answers)
    assert set(reply.known) == answers.keys()
    assert reply.outcome is not None
    assert reply.outcome.states == {"applied": 1}
