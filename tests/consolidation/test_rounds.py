"""An agent is the model: it answers in rounds what a night asks, and one night applies it all."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile

import pytest
from answerers import Answerer, from_recording, honestly, result_of
from cli_calls import Cli
from model_nights import Agent, a_fact, facts
from nights import NOW, TWINS, daily, execute, rows, unchanged
from places import FIXTURES

from slowwave.consolidation.agent import AgentMemory
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
    """Give answers about the file of an agent."""
    return a_round(agent.path, agent.embedder).give(answers)


def dream(path: Path, embedder: SentenceEmbedder, answer: Answerer, at_once: int = 9) -> int:
    """Answer in rounds, in a random order, until a night has run; return the number of rounds."""
    chance = random.Random(at_once)  # noqa: S311 - a test
    left = a_round(path, embedder).questions()
    for number in range(1, 100):
        chosen = chance.sample(left.questions, min(at_once, len(left.questions)))
        answers = {each.id: answer(each.messages) for each in chosen}
        given = a_round(path, embedder).give(answers)
        assert set(given.kept) == {each.id for each in chosen}
        assert (given.outcome is None) == bool(given.questions)
        if given.outcome is not None:
            return number
        assert rows(path, "SELECT id FROM runs") == []
        left = given.left
    raise AssertionError("it never ends")


def test_a_file_ends_as_after_a_replay_of_the_same_answers(
    tmp_path: Path, embedder: SentenceEmbedder, cli: Cli
) -> None:
    recording = FIXTURES / "retold.answers.jsonl"
    replayed, dreamt = tmp_path / "replayed.db", tmp_path / "dreamt.db"
    cli("import", replayed, FIXTURES / "retold.jsonl")
    copyfile(replayed, dreamt)
    assert cli("maintain", replayed, "--replay", recording).code == 0
    assert dream(dreamt, embedder, from_recording(recording)) == 2
    assert result_of(dreamt) == result_of(replayed)
    assert len(rows(dreamt, "SELECT id FROM runs")) == 1


@pytest.mark.parametrize("at_once", [1, 3])
def test_answers_can_come_in_any_order(at_once: int, agent: Agent, tmp_path: Path) -> None:
    agent.remember(facts(4))
    slow = tmp_path / "slow.db"
    copyfile(agent.path, slow)
    agent.sleep()
    assert dream(slow, agent.embedder, honestly, at_once) == 8 // at_once + bool(8 % at_once)
    assert result_of(slow) == result_of(agent.path)


def test_questions_only_read_the_file(agent: Agent) -> None:
    agent.remember(facts(2))
    with unchanged(agent.path.read_bytes):
        found = questions(agent)
    assert [each.kind for each in found.questions] == ["write", "write"]
    assert (found.windows, found.answered) == (2, 0)
    assert found.tokens == sum(each.tokens for each in found.questions) > 0
    assert not agent.rows("SELECT key FROM answers")


def test_nothing_is_applied_before_the_last_answer(agent: Agent) -> None:
    agent.remember([*facts(2), *daily(TWINS, "twin")])
    with unchanged(agent.picture):
        first, _ = questions(agent).questions
        given = give(agent, {first.id: honestly(first.messages)})
    assert [each.kind for each in given.questions] == ["check", "write"]


def test_an_unreadable_answer_is_named_and_can_be_repeated(agent: Agent) -> None:
    agent.remember(a_fact())
    (question,) = questions(agent).questions
    for text in ("no JSON", '{"groups": 1}', '{"groups": [{"operation": "mer'):
        given = give(agent, {question.id: text})
        assert list(given.faults) == [question.id]
        assert [each.id for each in given.questions] == [question.id]
        assert given.outcome is None
    assert agent.rows("SELECT key FROM answers") == []
    given = give(agent, {question.id: honestly(question.messages)})
    assert given.kept == (question.id,)


def test_an_answer_to_an_outdated_question_is_stale(agent: Agent) -> None:
    agent.remember([*a_fact(), *daily(TWINS, "twin")])
    (question,) = questions(agent).questions
    execute(agent.path, "DELETE FROM embeddings WHERE memory_id LIKE 'lease-%'")
    execute(agent.path, "DELETE FROM memories WHERE id LIKE 'lease-%'")
    with unchanged(agent.picture):
        given = give(agent, {question.id: NOTHING, "unknown": NOTHING})
    assert given.stale == (question.id, "unknown")
    assert given.outcome is None
    assert agent.rows("SELECT key FROM answers") == []


def test_a_night_without_questions_runs_at_once(agent: Agent) -> None:
    agent.remember(daily(TWINS, "twin"))
    given = give(agent, {})
    assert given.outcome is not None
    assert given.outcome.states == {"applied": 1}
    assert give(agent, {}).outcome.run_id is None  # type: ignore[union-attr]  # no question is open


def test_a_round_that_was_locked_out_continues(agent: Agent) -> None:
    agent.remember(a_fact())
    answers: dict[str, str] = {}
    for _ in range(2):
        found = questions(agent)
        answers |= {each.id: honestly(each.messages) for each in found.questions}
        with maintenance_lock(agent.path):
            if len(answers) == 1:
                give(agent, answers)
                continue
            with pytest.raises(FileHeld) as error:
                give(agent, answers)
    assert "The answers are kept" in error.value.hint
    given = give(agent, answers)
    assert set(given.known) == answers.keys()
    assert given.outcome is not None
    assert given.outcome.states == {"applied": 1}


def test_an_agent_answers_only_about_its_tenant(agent: Agent) -> None:
    agent.remember([*a_fact(tenant="mine"), *a_fact("jonah", tenant="other")])
    with AgentMemory(agent.path, "mine", agent.embedder, lambda: NOW) as memory:
        (question,) = memory.questions().questions
        assert "LeaseKeeper" in str(question.messages)
        assert question.schema["type"] == "object"
        given = memory.answer({question.id: NOTHING})
    assert given.outcome is not None
    assert len(given.outcome.asked) == 1
