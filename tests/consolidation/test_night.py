"""Nights on 1,000 memories with known answers: each answer is computed, none is recorded.

In `make test` the first of the three is whole; of the others every second fact and single.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import night as fixture
import pytest
from nights import AGENTS_TABLES, night, picture, rows

from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.check import check_file
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_reading, open_writing
from slowwave.store.memories import count_memories
from slowwave.store.records import timestamp
from slowwave.store.undo.undo import undo_runs

# The night that a dry run goes before: one is enough.
REHEARSED = fixture.FLAVOURS[-1]


@dataclass(frozen=True)
class Ran:
    """A file before and after its night, with the plan of the dry run."""

    path: Path
    planted: fixture.Night
    before: dict[str, list[dict[str, object]]]
    outcome: Outcome
    # What the dry run had said, if there was one.
    planned: Outcome | None

    def group_of(self) -> dict[str, str]:
        """Return the known group of each observed memory; equal groups state the same.

        The old and the new value of one thing belong together, by an update.
        """
        groups = {text.id: text.group for text in self.planted.memories}
        return groups | {f"{fixture.AGAIN}{memory}": group for memory, group in groups.items()}


def every_nth(planted: fixture.Night, step: int) -> fixture.Night:
    """Return all rules and updates of a night, and every nth of its facts and singles."""
    facts, singles = planted.facts[step - 1 :: step], planted.singles[step - 1 :: step]
    chosen = {item["id"] for item in [*facts, *singles]}
    nears = [near for near in planted.nears if near["of"] in chosen]
    return fixture.Night(facts, planted.rules, nears, planted.updates, singles)


@pytest.fixture(scope="module", params=fixture.FLAVOURS)
def ran(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    embedder: SentenceEmbedder,
    rounds: Callable[[int, int], int],
) -> Iterator[Ran]:
    path = tmp_path_factory.mktemp("night") / "memory.db"
    whole = request.param == fixture.FLAVOURS[0]
    planted = every_nth(fixture.load(request.param), 1 if whole else rounds(4, 1))
    lines = fixture.with_duplicates(fixture.lines(planted))
    create_file(path)
    with open_writing(path) as file:
        import_lines(file, (line.encode() for line in lines), fixture.FIRST_DAY)
    before = picture(path)
    planned = night(path, embedder, dry_run=True) if request.param == REHEARSED else None
    yield Ran(path, planted, before, night(path, embedder), planned)


@pytest.mark.parametrize("flavour", fixture.FLAVOURS)
def test_the_fixture_holds_a_thousand_memories_that_differ(flavour: str) -> None:
    assert len({memory.text for memory in fixture.load(flavour).memories}) == 1_000


def contents(ran: Ran, condition: str) -> dict[str, str]:
    """Return the texts of the memories for which a condition holds, by id."""
    memories = rows(ran.path, f"SELECT id, content FROM memories WHERE {condition}")
    return {row["id"]: row["content"] for row in memories}


def test_the_night_leaves_fewer_memories_and_less_text_as_its_dry_run_said(ran: Ran) -> None:
    before, after = ran.outcome.before, ran.outcome.after
    assert after.active < before.active
    assert after.characters < before.characters
    assert after.tokens < before.tokens
    assert {result.state for result in ran.outcome.results} == {"applied"}
    if ran.planned is not None:
        assert ran.outcome.plan.digest == ran.planned.plan.digest
        assert after == ran.planned.after
    # Nothing was deleted, and nothing observed was rewritten.
    texts = contents(ran, "TRUE")
    assert all(texts[row["id"]] == row["content"] for row in ran.before["memories"])
    with open_reading(ran.path) as file:
        assert after == count_memories(file, ["default"], count_tokens)
        assert check_file(file).problems == ()


def test_no_merge_joins_different_facts(ran: Ran) -> None:
    group_of = ran.group_of()
    merged = rows(ran.path, "SELECT * FROM synthesized_from WHERE operation = 'merge'")
    assert merged
    assert all(group_of[row["derived_id"]] == group_of[row["source_id"]] for row in merged)


def test_no_fact_or_detail_is_lost(ran: Ran) -> None:
    active = list(contents(ran, "status = 'active'").values())
    lowered = [text.lower() for text in active]
    facts = ran.planted
    planted = [item["keys"] for item in [*facts.facts, *facts.singles, *facts.nears]]
    planted += [update[keys] for update in facts.updates for keys in ("old_keys", "new_keys")]
    lost = [
        keys
        for keys in planted
        if not any(all(key.lower() in text for key in keys) for text in lowered)
    ]
    assert lost == []
    # Details are told by wordings of facts alone.
    details = [detail for fact in facts.facts for detail in fact.get("details", [])]
    forgotten = [detail for detail in details if not any(detail in text for text in active)]
    assert forgotten == []


def test_a_second_night_is_a_no_op_and_undo_is_exact(ran: Ran, embedder: SentenceEmbedder) -> None:
    everything = (*AGENTS_TABLES, "runs", "proposals", "journal", "derivations")
    before = picture(ran.path, everything)
    outcome = night(ran.path, embedder)
    assert outcome.plan.proposals == ()
    assert outcome.run_id is None
    assert picture(ran.path, everything) == before
    assert ran.outcome.run_id is not None
    with open_writing(ran.path) as file:
        undo_runs(file, [ran.outcome.run_id], timestamp(fixture.FIRST_DAY))
    assert picture(ran.path) == ran.before
