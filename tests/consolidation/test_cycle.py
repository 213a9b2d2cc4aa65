"""Nights while agents write, interruptions, and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import whole
from cli_calls import Cli
from model_nights import Agent, a_fact, only_question
from nights import TWINS, SlowEmbedder, daily, execute, fill, night, picture, rows, unchanged

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.vectors.embedder import PORTION, SentenceEmbedder
from slowwave.store.errors import StoreError


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("UPDATE memories SET content = 'Pavel has it.' WHERE id = 'lease-00'", "was changed"),
        ("DELETE FROM memories WHERE id = 'lease-00'", "was deleted"),
        ("UPDATE memories SET status = 'archived' WHERE id = 'lease-00'", "has been archived"),
        ("UPDATE memories SET tenant = 'elsewhere' WHERE id = 'lease-00'", "moved"),
    ],
)
def test_a_changed_source_is_stale(sql: str, why: str, memory_file: Path, agent: Agent) -> None:
    fill(memory_file, a_fact())
    outcome = night(
        memory_file,
        SlowEmbedder(agent.embedder, lambda: execute(memory_file, sql)),
        writer=agent.writer(),
    )
    assert [result.state for result in outcome.results] == ["stale"]
    assert f"lease-00 {why}" in (outcome.results[0].why or "")
    assert rows(memory_file, "SELECT id FROM memories WHERE status = 'superseded'") == []
    again = agent.sleep()
    assert [result.state for result in again.results] == ["applied"]


def test_a_failure_before_the_first_change_tells_what_is_kept(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, [f"Rack {number} is full." for number in range(PORTION + 1)])
    execute(
        memory_file,
        "CREATE TRIGGER full BEFORE INSERT ON embeddings "
        f"WHEN (SELECT count(*) FROM embeddings) = {PORTION} "
        "BEGIN SELECT RAISE(ABORT, 'full'); END",
    )
    with unchanged(picture, memory_file, ["memories"]):
        cli("maintain", memory_file).ends(
            1, "No memory was changed; what was stored before is kept."
        )
    assert rows(memory_file, "SELECT outcome FROM runs") == [{"outcome": "failed"}]
    assert len(rows(memory_file, "SELECT model FROM embeddings")) == PORTION


@pytest.mark.parametrize(
    ("error", "state", "verdict"),
    [
        (KeyboardInterrupt(), "skipped", "interrupted"),
        (EmbedderError("The model is gone."), "failed", "partial"),
    ],
)
def test_an_interrupted_run_keeps_applied_proposals(
    memory_file: Path, agent: Agent, error: BaseException, state: str, verdict: str
) -> None:
    def fail() -> None:
        raise error

    fill(memory_file, [*daily(TWINS, "twin"), *a_fact()])
    outcome = night(memory_file, SlowEmbedder(agent.embedder, fail, 3), writer=agent.writer())
    assert [result.state for result in outcome.results] == ["applied"]
    assert only_question(outcome).state == state
    assert outcome.verdict == verdict
    assert rows(memory_file, "SELECT outcome FROM runs") == [{"outcome": verdict}]
    assert whole(memory_file)
    again = agent.sleep()
    assert [result.state for result in again.results] == ["applied"]


def test_an_interruption_comes_after_a_block_that_defers_it() -> None:
    interruption, noted = Interruption(), []
    with pytest.raises(KeyboardInterrupt), interruption.deferred():
        interruption.request()
        noted.append("committed")
    assert noted == ["committed"]


def test_a_rejected_proposal_of_a_model_fails_alone(memory_file: Path, agent: Agent) -> None:
    fill(memory_file, [*daily(TWINS, "twin"), *a_fact()])
    # The last write of a synthesis fails.
    execute(
        memory_file,
        "CREATE TRIGGER full BEFORE INSERT ON derivations WHEN new.operation = 'synthesize' "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    outcome = agent.sleep()
    assert [result.state for result in outcome.results] == ["applied", "failed"]
    assert "no room" in (outcome.why or "")
    assert outcome.verdict == "partial"
    assert rows(memory_file, "SELECT * FROM memories WHERE generation > 0") == []
    assert len(rows(memory_file, "SELECT * FROM synthesized_from")) == 1
    execute(memory_file, "DROP TRIGGER full")
    assert [result.state for result in agent.sleep().results] == ["applied"]


def test_vectors_of_another_model_are_refused(agent: Agent) -> None:
    agent.remember([*daily(TWINS, "twin"), *a_fact()])
    execute(agent.path, "UPDATE embeddings SET dimensions = 1, vector = x'0000803f'")
    refusal = pytest.raises(EmbedderError, match="1 dimensions, but the model returns 384")
    with unchanged(agent.picture), refusal:
        agent.sleep()


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        (
            "BEFORE UPDATE OF status ON memories WHEN old.id = '{}' BEGIN "
            "SELECT RAISE(ABORT, 'mine'); END",
            "mine",
        ),
        (
            "BEFORE UPDATE OF status ON memories WHEN old.id = '{}' BEGIN "
            "SELECT RAISE(IGNORE); END",
            "a trigger ignores or reverts it",
        ),
        (
            "AFTER UPDATE OF status ON memories WHEN old.id = '{}' AND new.status <> 'active' "
            "BEGIN UPDATE memories SET status = 'active' WHERE id = new.id; END",
            "a trigger ignores or reverts it",
        ),
        (
            "BEFORE INSERT ON synthesized_from WHEN new.source_id = '{}' BEGIN "
            "SELECT RAISE(IGNORE); END",
            "a trigger ignores or reverts it",
        ),
    ],
)
def test_a_rejected_proposal_fails_alone_every_night(
    memory_file: Path, embedder: SentenceEmbedder, trigger: str, why: str
) -> None:
    lines = ["Billing listens on port 8080", "Tea is served at four", "The kettle is green"]
    for number, line in enumerate(lines):
        fill(memory_file, daily([line, f"{line}."], f"twin-{number}"))
    order = [
        result.proposal.leaving[0] for result in night(memory_file, embedder, dry_run=True).results
    ]
    execute(memory_file, f"CREATE TRIGGER mine {trigger.format(order[1])}")
    outcome = night(memory_file, embedder)
    assert [result.state for result in outcome.results] == ["applied", "failed", "applied"]
    assert why in (outcome.why or "")
    gone = rows(memory_file, "SELECT id FROM memories WHERE superseded_by IS NOT NULL ORDER BY id")
    assert [row["id"] for row in gone] == sorted([order[0], order[2]])
    assert len(rows(memory_file, "SELECT * FROM synthesized_from")) == 2
    assert whole(memory_file)
    again = night(memory_file, embedder)
    assert ([result.state for result in again.results], again.verdict) == (["failed"], "failed")


def test_a_trigger_that_needs_the_function_of_an_agent_fails_proposals(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    execute(memory_file, "CREATE TRIGGER mine AFTER UPDATE ON memories BEGIN SELECT theirs(); END")
    with unchanged(picture, memory_file, ["memories"]):
        outcome = night(memory_file, embedder)
    assert (outcome.verdict, "no such function: theirs" in (outcome.why or "")) == ("failed", True)


def test_a_trigger_that_updates_its_own_table_is_not_repeated(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    moment = "2030-01-01T00:00:00+00:00"
    execute(
        memory_file,
        "CREATE TRIGGER touched AFTER UPDATE ON memories "
        f"BEGIN UPDATE memories SET updated_at = '{moment}' WHERE id = new.id; END",
    )
    assert night(memory_file, embedder).verdict == "done"
    merged = rows(memory_file, "SELECT updated_at FROM memories WHERE status = 'superseded'")
    assert merged == [{"updated_at": moment}]


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        ("UPDATE OF status ON memories BEGIN SELECT RAISE(ROLLBACK, 'mine'); END", "mine"),
        ("INSERT ON proposals BEGIN SELECT RAISE(IGNORE); END", "a trigger ignores"),
    ],
)
def test_a_trigger_that_rolls_back_or_ignores_the_record_ends_the_run(
    memory_file: Path, embedder: SentenceEmbedder, trigger: str, why: str
) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    execute(memory_file, f"CREATE TRIGGER mine BEFORE {trigger}")
    with unchanged(picture, memory_file, ["memories"]), pytest.raises(StoreError, match=why):
        night(memory_file, embedder)
