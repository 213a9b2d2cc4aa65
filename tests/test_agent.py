"""The memory file in an agent's own program."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from nights import execute, of_one_thing, picture, rows
from test_plan import TWINS

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.errors import StoreError

NOW = datetime(2026, 3, 10, 3, 0, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path, embedder: SentenceEmbedder) -> AgentMemory:
    return AgentMemory(tmp_path / "memory.db", embedder=embedder, clock=lambda: NOW)


def test_an_agent_remembers_recalls_sleeps_and_takes_it_back(
    memory: AgentMemory, tmp_path: Path
) -> None:
    with memory:
        for text in of_one_thing():
            memory.add(text, tags=["rota"])
        before = picture(tmp_path / "memory.db", ["memories"])
        assert memory.recall("Who has the pager?")[0].memory.tags == ("rota",)
        outcome = memory.consolidate()
        (hit,) = memory.recall("Who has the pager?", layer="stable")
        assert len(memory.trace(hit.memory.id).sources.steps[hit.memory.id]) == 8
        assert hit.memory.content in memory.block("Who has the pager?").text
        assert outcome.run_id is not None
        assert len(memory.undo(outcome.run_id)) == 1
        assert picture(tmp_path / "memory.db", ["memories"]) == before
        assert memory.recall("Who has the pager?", layer="stable") == []


def test_what_another_program_wrote_meanwhile_is_recalled(
    memory: AgentMemory, tmp_path: Path
) -> None:
    with memory:
        memory.add("Ines waters the plants.")
        assert len(memory.recall("plants")) == 1
        execute(tmp_path / "memory.db", "INSERT INTO memories (content) VALUES ('More plants.')")
        assert len(memory.recall("plants")) == 2
        execute(tmp_path / "memory.db", "UPDATE memories SET content = 'Plants are gone.'")
        assert memory.recall("plants")[0].memory.content == "Plants are gone."
        execute(tmp_path / "memory.db", "DELETE FROM memories")
        assert memory.recall("plants") == []


def test_an_agent_sees_its_own_tenant_alone(
    memory: AgentMemory, tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    with memory, AgentMemory(tmp_path / "memory.db", "other", embedder) as other:
        memory.add("Ines waters the plants.")
        assert other.recall("plants") == []
        assert other.block("plants").text == ""
        other.add("Plants need light.")
        assert [one.memory.tenant for one in other.recall("plants")] == ["other"]


def test_a_memory_that_is_blank_is_refused(memory: AgentMemory) -> None:
    with memory, pytest.raises(StoreError):
        memory.add(" ")


def test_a_night_on_an_empty_file_does_nothing(memory: AgentMemory) -> None:
    with memory:
        assert memory.consolidate().results == ()
        assert memory.consolidate(dry_run=True).results == ()


def test_of_a_plan_one_proposal_is_carried_out_and_another_declined(
    memory: AgentMemory, tmp_path: Path
) -> None:
    with memory:
        for text in (*of_one_thing(), *TWINS, "The wiki listens on 81.", "The wiki listens on 81"):
            memory.add(text)
        one, other, *rest = (item.proposal for item in memory.consolidate(dry_run=True).results)
        outcome = memory.apply(one.id)
        assert [(item.proposal.id, item.state) for item in outcome.results] == [(one.id, "applied")]
        memory.decline(other.id, "They are two.")
        left = [item.proposal.id for item in memory.consolidate(dry_run=True).results]
        assert left == [item.id for item in rest]
        for gone in (one.id, other.id, "none"):
            with pytest.raises(StoreError, match="stale"):
                memory.apply(gone)
            with pytest.raises(StoreError, match="stale"):
                memory.decline(gone, "So.")
        (declined,) = rows(
            tmp_path / "memory.db",
            "SELECT * FROM proposals WHERE derived IS NULL AND state = 'declined'",
        )
        assert (declined["key"], declined["why"]) == (other.id, "They are two.")


def test_a_proposal_whose_source_changed_since_is_stale(
    memory: AgentMemory, tmp_path: Path
) -> None:
    with memory:
        for text in TWINS:
            memory.add(text)
        (planned,) = memory.consolidate(dry_run=True).results
        execute(tmp_path / "memory.db", "UPDATE memories SET content = 'Plants need light.'")
        with pytest.raises(StoreError, match="stale"):
            memory.apply(planned.proposal.id)


def test_the_program_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[1] / "docs" / "recall.md").read_text("utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(program, {})  # noqa: S102 - it is our own page
    with AgentMemory(tmp_path / "memory.db", "support") as memory:
        assert [one.memory.session for one in memory.recall("deploy billing")] == ["2026-03-10/a"]
