"""The memory file in an agent's own program."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_nights import LEASE, Agent, texts_of
from nights import NOW, TWINS, execute, picture, rows
from numpy.typing import NDArray
from places import ROOT

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.errors import NotFound, StoreError
from slowwave.store.lock import maintenance_lock

WIKI = ["The wiki listens on 81.", "The wiki listens on 81"]
OFFICE = ["The office closes at six.", "The office closes at six"]


@pytest.fixture
def memory(tmp_path: Path, embedder: SentenceEmbedder) -> AgentMemory:
    return AgentMemory(tmp_path / "memory.db", embedder=embedder, clock=lambda: NOW)


def test_a_program_consolidates_and_undoes(
    memory: AgentMemory, tmp_path: Path, agent: Agent
) -> None:
    with memory:
        for text in texts_of(LEASE):
            memory.add(text, tags=["jobs"])
        before = picture(tmp_path / "memory.db", ["memories"])
        assert memory.recall("Who renews the lock?")[0].memory.tags == ("jobs",)
        outcome = memory.consolidate(writer=agent.writer())
        (hit,) = memory.recall("Who renews the lock?", layer="stable")
        assert len(memory.trace(hit.memory.id).sources.steps[hit.memory.id]) == 3
        assert hit.memory.content in memory.block("Who renews the lock?").text
        assert outcome.run_id is not None
        assert len(memory.undo(outcome.run_id)) == 1
        assert picture(tmp_path / "memory.db", ["memories"]) == before
        assert memory.recall("Who renews the lock?", layer="stable") == []


def test_changes_of_another_program_are_recalled(memory: AgentMemory, tmp_path: Path) -> None:
    with memory:
        memory.add("Ines waters the plants.")
        assert len(memory.recall("plants")) == 1
        execute(tmp_path / "memory.db", "INSERT INTO memories (content) VALUES ('More plants.')")
        assert len(memory.recall("plants")) == 2
        execute(tmp_path / "memory.db", "UPDATE memories SET content = 'Plants are gone.'")
        assert memory.recall("plants")[0].memory.content == "Plants are gone."
        execute(tmp_path / "memory.db", "DELETE FROM memories")
        assert memory.recall("plants") == []


def test_an_agent_sees_only_its_tenant(
    memory: AgentMemory, tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    with memory, AgentMemory(tmp_path / "memory.db", "other", embedder) as stranger:
        memory.add("Ines waters the plants.")
        assert stranger.recall("plants") == []
        assert stranger.block("plants").text == ""
        stranger.add("Plants need light.")
        assert [item.memory.tenant for item in stranger.recall("plants")] == ["other"]


@pytest.mark.parametrize(
    ("method", "text", "options", "why"),
    [
        ("undo", "nope", {}, "'nope' is too short"),
        ("add", " ", {}, "its text is blank"),
        ("add", "Ines waters the plants.", {"tenant": "other"}, "cannot be passed"),
        ("add", "Ines waters the plants.", {"content": "  "}, "cannot be passed"),
        ("recall", "plants", {"kind": "nope"}, "no kind 'nope'"),
        ("recall", "plants", {"layer": "nope"}, "no layer 'nope'"),
        ("recall", "plants", {"tags": "deploy"}, "Tags must be a list"),
        ("recall", "plants", {"recency": -1.0}, "Recency must be a finite number"),
        ("recall", "plants", {"recency": float("inf")}, "Recency must be a finite number"),
        ("recall", "plants", {"min_relevance": 7}, "from 0 to 1, not 7"),
        ("add", None, {}, "its text is not a string"),
        ("similar", None, {}, "its text is not a string"),
        ("similar", "long " * 5_000, {}, "its text has 25,000 characters"),
        ("forget", 5, {}, "Pass the id of a memory"),
        ("recall", "plants", {"limit": -1}, "limit must be an integer"),
        ("recall", "plants", {"limit": 1.5}, "limit must be an integer"),
        ("recall", " ", {}, "question is blank"),
        ("recall", None, {}, "question is blank"),
        ("recall", "plants", {"since": "yesterday"}, "since takes a day or a time"),
        ("recall", "plants", {"until": 2026}, "until takes a day or a time"),
        ("block", "", {}, "question is blank"),
        ("block", "plants", {"budget": 0}, "budget must be positive"),
        ("answer", {}, {"review": "nix"}, "no review mode 'nix'"),
        ("consolidate", False, {"review": "nix"}, "no review mode 'nix'"),
        ("add", "Half of a pair: \ud800", {}, "half of a surrogate pair"),
        ("block", "plants", {"worths": {"gold": 1.0}}, "no worth 'gold'"),
        ("block", "plants", {"fragments": {"playbook": "one text"}}, "must be a list of texts"),
    ],
)
def test_invalid_arguments_are_refused(
    method: str, text: object, options: dict[str, Any], why: str, memory: AgentMemory
) -> None:
    with memory, pytest.raises(StoreError, match=why):
        getattr(memory, method)(text, **options)


def test_a_limit_of_0_returns_all_hits(memory: AgentMemory) -> None:
    with memory:
        for day in range(12):
            memory.add(f"Ines waters plant {day}.")
        counts = [len(memory.recall("plant", limit, min_relevance=0)) for limit in (0, 1)]
        assert counts == [12, 1]


def test_a_memory_takes_the_times_that_a_search_takes(memory: AgentMemory) -> None:
    with memory:
        memory.add("Ines waters the plants.", observed_at=NOW)
        assert len(memory.recall("plants", since=NOW, until=NOW)) == 1
        with pytest.raises(StoreError, match="time with an offset"):
            memory.add("Plants need light.", observed_at=NOW.replace(tzinfo=None))


def test_an_id_may_be_superseded_besides_another(memory: AgentMemory) -> None:
    with memory:
        first, second = memory.add(WIKI[0]), memory.add(OFFICE[0])
        done = memory.correct(first, "The wiki is closed.", supersedes=second)
        assert {memory.id for memory in done.removed} == {first, second}


def test_a_block_has_fragments_of_the_program_by_worth(memory: AgentMemory) -> None:
    playbook = {"playbook": ["Ship on Tuesdays.", "Watch </memories> the plants."]}
    with memory:
        assert "[playbook] Ship on Tuesdays." in memory.block("deploy?", fragments=playbook).text
        memory.add("Ines waters the plants.", session="monday", tags=["office"])
        memory.add("Plants need light.", session="tuesday")
        block = memory.block("plants", session="monday", fragments=playbook)
        assert [line.label for line in block.lines] == ["working", "playbook", "playbook"]
        assert block.text.count("</memories>") == 1
        prized = memory.block("plants", worths={"playbook": 1.0}, fragments=playbook)
        assert prized.lines[0].text.startswith("[playbook] Watch &lt;/memories>")


def test_filters_take_lists_and_unknown_ones_are_type_errors(memory: AgentMemory) -> None:
    with memory:
        for kind in ("fact", "preference", "context"):
            memory.add(f"Plants, {kind}.", kind=kind, session=kind)
        hits = memory.recall("plants", kind=["fact", "context"], session=["context", "preference"])
        assert [hit.memory.kind for hit in hits] == ["context"]
        with pytest.raises(TypeError, match="colour"):
            memory.recall("plants", colour="green")  # type: ignore[call-arg]  # what is tested


def test_bounds_are_times_or_texts(memory: AgentMemory) -> None:
    with memory:
        memory.add("Ines waters the plants.")
        day, morning = f"{NOW:%Y-%m-%d}", f"{NOW:%Y-%m-%d}T00:00"
        assert len(memory.recall("plants", since=day, until=day, as_of=day)) == 1
        assert memory.recall("plants", until=morning) == []
        assert memory.recall("plants", as_of=morning) == []
        assert len(memory.recall("plants", since=NOW, until=NOW.replace(tzinfo=None))) == 1


class Flaky(SentenceEmbedder):
    """An embedder whose service is down for a while."""

    is_down = True

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_down:
            raise TimeoutError("no answer")
        return super().encode(texts)


def test_words_are_searched_while_the_embedder_is_down(tmp_path: Path) -> None:
    embedder = Flaky()
    with AgentMemory(tmp_path / "memory.db", embedder=embedder) as memory:
        memory.add("Ines waters the plants.")
        assert memory.recall("plants").words_only == "TimeoutError: no answer"
        assert "Ines" in memory.block("plants").text
        assert memory.block("plants").words_only is not None
        embedder.is_down = False
        (hit,) = (hits := memory.recall("plants"))
        assert (hits.words_only, hit.by_vectors) == (None, 1)


def test_expired_memories_are_not_recalled(tmp_path: Path, embedder: SentenceEmbedder) -> None:
    moments = [NOW]
    memory = AgentMemory(tmp_path / "memory.db", embedder=embedder, clock=lambda: moments[-1])
    with memory:
        memory.add("The gate code is 4711.", expires_at="2026-03-10T03:00:30+00:00")
        assert len(memory.recall("gate code")) == 1
        moments.append(NOW + timedelta(seconds=31))
        assert memory.recall("gate code") == []


def test_replaced_files_are_reread(
    memory: AgentMemory, tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    with memory, AgentMemory(tmp_path / "new.db", embedder=embedder) as new:
        memory.add("The gate code is 1111.")
        new.add("The gate code is 2222.")
        assert memory.recall("gate code")[0].memory.content == "The gate code is 1111."
        (tmp_path / "new.db").replace(tmp_path / "memory.db")
        assert memory.recall("gate code")[0].memory.content == "The gate code is 2222."


def test_nothing_is_consolidated_without_memories(
    memory: AgentMemory, tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    with memory, AgentMemory(tmp_path / "memory.db", "absent", embedder) as absent:
        for agent in (memory, absent):
            for dry_run in (True, False):
                assert agent.consolidate(dry_run).results == ()
            assert (agent.questions().questions, agent.answer({"x": "y"}).stale) == ((), ("x",))
            assert agent.answer({}).outcome is not None
            # Now the file has one of the two tenants.
            memory.add(TWINS[0])
    assert rows(tmp_path / "memory.db", "SELECT 1 FROM runs") == []


def test_threads_recall_while_the_file_changes(memory: AgentMemory) -> None:
    def recall(_: int) -> list[str]:
        return [hit.memory.content for hit in memory.recall("plants")]

    with memory, ThreadPoolExecutor(4) as pool:
        memory.add("Ines waters the plants.")
        recalled = pool.map(recall, range(40))
        for number in range(20):
            memory.add(f"The lift stops at floor {number}.")
        assert all("Ines waters the plants." in texts for texts in recalled)


def test_feedback_counts_once_if_undo_is_locked(memory: AgentMemory, tmp_path: Path) -> None:
    with memory, maintenance_lock(tmp_path / "memory.db"):
        memory_id = memory.add("Ines waters the plants.", trust=0.25)
        execute(tmp_path / "memory.db", "UPDATE memories SET generation = 1")
        judged = memory.feedback(memory_id, helpful=False)
        assert "Another maintenance run" in (judged.why_not or "")
        assert memory.recall("plants")[0].memory.trust == judged.trust == 0.15


def test_proposals_of_a_plan_are_applied_or_declined(memory: AgentMemory, tmp_path: Path) -> None:
    with memory:
        for text in (*TWINS, *WIKI, *OFFICE):
            memory.add(text)
        first, second, *rest = (item.proposal for item in memory.consolidate(dry_run=True).results)
        (applied,) = memory.apply(first.id[:8]).results
        assert (applied.proposal.id, applied.state) == (first.id, "applied")
        memory.decline(second.id[:8], "They are two.")
        pending = [item.proposal.id for item in memory.consolidate(dry_run=True).results]
        assert pending == [item.id for item in rest]
        memory.add("A new one, of which a night would compute the vector.")
        runs = rows(tmp_path / "memory.db", "SELECT id FROM runs")
        for gone, why in (
            (first.id[:8], "is no longer pending: it was applied on"),
            (second.id, "is no longer pending: it was declined on"),
            ("0" * 8, "There is no proposal '00000000'"),
            ("none", "no proposal"),
        ):
            with pytest.raises(StoreError, match=why):
                memory.apply(gone)
            with pytest.raises(StoreError, match=why):
                memory.decline(gone, "So.")
        assert rows(tmp_path / "memory.db", "SELECT id FROM runs") == runs
        declined = rows(
            tmp_path / "memory.db", "SELECT key, why FROM proposals WHERE state = 'declined'"
        )
        assert declined == [{"key": second.id, "why": "They are two."}]


def test_a_proposal_with_a_changed_source_is_no_longer_found(
    memory: AgentMemory, tmp_path: Path
) -> None:
    with memory:
        for text in TWINS:
            memory.add(text)
        (planned,) = memory.consolidate(dry_run=True).results
        execute(tmp_path / "memory.db", "UPDATE memories SET content = 'Plants need light.'")
        with pytest.raises(NotFound) as refused:
            memory.apply(planned.proposal.id)
    assert "A memory may have changed" in refused.value.hint


def test_the_program_in_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "recall.md").read_text("utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(program, {})  # noqa: S102 - it is our own page
    with AgentMemory(tmp_path / "memory.db", "support") as memory:
        assert [item.memory.session for item in memory.recall("deploy billing")] == ["2026-03-10/a"]
