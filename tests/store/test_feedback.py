"""Feedback on memories: trust, and the undo of what runs made."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from model_nights import LEASE, Agent, a_fact, texts_of
from nights import TWINS, daily, execute, fill, night, picture, rows, unchanged

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.feedback import Feedback

NOW = datetime(2026, 3, 12, 9, 0, tzinfo=UTC)


@pytest.fixture
def memory(memory_file: Path, embedder: SentenceEmbedder) -> AgentMemory:
    return AgentMemory(memory_file, embedder=embedder, clock=lambda: NOW)


def derived_id(path: Path) -> str:
    """Return the id of the one memory that runs made."""
    (row,) = rows(path, "SELECT id FROM memories WHERE generation > 0 AND status = 'active'")
    return str(row["id"])


def blame_until_undone(memory: AgentMemory, memory_id: str) -> Feedback:
    """Blame a memory until its trust is below the minimum."""
    while (judged := memory.feedback(memory_id, helpful=False)).trust >= 0.2:
        assert judged.undone == ()
    return judged


@pytest.mark.parametrize(
    ("trust", "helpful", "after"),
    [(0.5, True, 0.55), (0.5, False, 0.4), (0.98, True, 1.0), (0.04, False, 0.0)],
)
def test_feedback_changes_trust_between_zero_and_one(
    trust: float, helpful: bool, after: float, memory: AgentMemory, memory_file: Path
) -> None:
    fill(memory_file, [{"id": "plants", "content": "Plants need light.", "trust": trust}])
    judged = memory.feedback("plants", helpful)
    assert (judged.memory.trust, judged.trust) == (trust, after)
    assert rows(memory_file, "SELECT trust FROM memories") == [{"trust": after}]


def test_observed_memories_stay_however_low_their_trust(
    memory: AgentMemory, memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(TWINS, "twin", trust=0.25))
    night(memory_file, embedder)
    (survivor,) = rows(memory_file, "SELECT id FROM memories WHERE status = 'active'")
    judged = blame_until_undone(memory, survivor["id"])
    assert (judged.undone, judged.why_not) == ((), None)


def test_distrust_undoes_additions_too(
    memory: AgentMemory, memory_file: Path, agent: Agent
) -> None:
    fill(memory_file, a_fact())
    agent.sleep()
    more = [f"{texts_of(LEASE)[0].removesuffix('.')} from a lock file on worker-7."]
    fill(memory_file, daily(more, "more", first_day=15))
    agent.sleep()
    judged = blame_until_undone(memory, derived_id(memory_file))
    assert len(judged.undone) == 2
    active = rows(memory_file, "SELECT id FROM memories WHERE status = 'active'")
    assert len(active) == len(a_fact()) + len(more)


def test_feedback_names_descendants(memory: AgentMemory, memory_file: Path, agent: Agent) -> None:
    fill(memory_file, a_fact())
    agent.sleep()
    assert memory.feedback("lease-01", helpful=True).derived == ()
    judged = memory.feedback("lease-01", helpful=False)
    assert [item.id for item in judged.derived] == [derived_id(memory_file)]
    assert judged.undone == ()
    execute(memory_file, "UPDATE memories SET content = content || ' So.' WHERE generation > 0")
    judged = blame_until_undone(memory, derived_id(memory_file))
    assert judged.undone == ()
    assert judged.why_not is not None
    assert derived_id(memory_file) in judged.why_not


def test_feedback_does_not_prevent_undo(
    memory: AgentMemory, memory_file: Path, agent: Agent
) -> None:
    fill(memory_file, a_fact())
    with unchanged(picture, memory_file, ["memories"]):
        outcome = agent.sleep()
        memory.feedback(derived_id(memory_file), helpful=True)
        assert outcome.run_id is not None
        memory.undo(outcome.run_id)
