"""A purge deletes memories that nothing needs, and keeps their texts in lineage."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import night as fixture
import pytest
from builders import NOW, a_decision, a_memory, a_run, copy_of, decide, made_once, put, whole
from cli_calls import Cli
from model_nights import a_writer, joined_once
from model_server import answering, approval
from nights import (
    daily,
    execute,
    fill,
    inputs_of,
    more_of_it,
    night,
    of_one_thing,
    picture,
    rows,
    unchanged,
)

from slowwave.cli.app import run
from slowwave.consolidation.recall.index import RecallIndex, read_recallable_of
from slowwave.consolidation.recall.search import SearchQuery, search
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.running.phases import purge_memories
from slowwave.consolidation.running.run_in_file import Preflight
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.errors import StoreError
from slowwave.store.exchange import export_lines, import_lines
from slowwave.store.file import create_file, open_reading, open_writing
from slowwave.store.history import history_lines
from slowwave.store.purge import KEPT_DAYS, KeptCounts, Removal, find_purgeable, purge, removals
from slowwave.store.records import Memory, timestamp

LONG_AGO = NOW - timedelta(days=KEPT_DAYS, seconds=1)


def gone(memory_id: str, by: str = "stays", since: datetime = LONG_AGO, **fields: Any) -> Memory:
    """Return a superseded memory."""
    columns = {"status": "superseded", "superseded_by": by, "superseded_at": timestamp(since)}
    return a_memory(memory_id, f"what {memory_id} says", **columns | fields)


def cite(path: Path, derived: str, source: str, operation: str = "synthesize") -> None:
    execute(
        path,
        "INSERT INTO synthesized_from SELECT ?, ?, ?, 'run-0', 'hash', NULL, ?",
        *(derived, source, operation, timestamp(LONG_AGO)),
    )


@pytest.fixture
def path(memory_file: Path) -> Path:
    """Provide a file with one memory that may go."""
    put(memory_file, a_memory("stays"), gone("old"))
    cite(memory_file, "stays", "old")
    return memory_file


def purged(path: Path, now: datetime = NOW) -> tuple[tuple[str, ...], KeptCounts]:
    with open_reading(path) as file:
        purgeable = find_purgeable(file, ["default"], now)
    return purgeable.ids, KeptCounts.from_reasons(purgeable.staying)


def only_purge(path: Path, embedder: SentenceEmbedder, now: datetime = NOW) -> Outcome:
    return night(path, embedder, now=now, consolidate=False, purge=True)


@pytest.mark.parametrize(
    "moment", ["2026-02-08 02:59:58", "2026-02-08T04:59:58+02:00", "2026-02-08T02:59:58Z"]
)
def test_a_memory_is_purged_after_thirty_days(path: Path, moment: str) -> None:
    execute(path, "UPDATE memories SET superseded_at = ? WHERE id = 'old'", moment)
    assert purged(path) == (("old",), KeptCounts())
    assert purged(path, NOW - timedelta(seconds=2)) == ((), KeptCounts())


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        *(
            (f"memories SET status = '{status}'", {})
            for status in ("active", "archived", "expired")
        ),
        ("memories SET pinned = 1", {"pinned": 1}),
        ("synthesized_from SET operation = 'extract'", {"lineage": 1}),
        ("synthesized_from SET source_content = 'something else'", {"lineage": 1}),
    ],
)
def test_only_superseded_memories_are_purged(
    path: Path, change: str, counts: dict[str, int]
) -> None:
    execute(path, f"UPDATE {change}" + " WHERE id = 'old'" * change.startswith("memories"))
    assert purged(path) == ((), KeptCounts(**counts))


@pytest.mark.parametrize(
    ("added", "edge", "ids", "needed"),
    [
        (a_memory("source"), ("old", "source"), (), 1),
        (gone("older", by="old"), None, (), 2),
        (gone("by hand"), None, ("old",), 1),
    ],
    ids=["made from others", "successor of another", "in no lineage"],
)
def test_lineage_prevents_a_purge(
    path: Path, added: Memory, edge: tuple[str, str] | None, ids: tuple[str, ...], needed: int
) -> None:
    put(path, added)
    if edge is not None:
        cite(path, *edge)
    assert purged(path) == (ids, KeptCounts(lineage=needed))


@pytest.mark.parametrize("named", [{"sources": ("old", "x")}, {"survivor": "old"}])
def test_a_pending_proposal_prevents_a_purge(path: Path, named: dict[str, Any]) -> None:
    a_run(path, now=NOW - timedelta(days=400))
    decide(path, a_decision(state="pending", **named))
    assert purged(path) == ((), KeptCounts(review=1))
    execute(path, "UPDATE proposals SET state = 'approved'")
    assert purged(path) == (("old",), KeptCounts())


def test_a_possible_undo_prevents_a_purge_for_thirty_days(path: Path) -> None:
    a_run(path, now=NOW - timedelta(days=KEPT_DAYS))
    decide(path, a_decision(sources=("old",)))
    assert purged(path) == ((), KeptCounts(undo=1))
    assert purged(path, NOW + timedelta(seconds=1)) == (("old",), KeptCounts())
    execute(path, "UPDATE runs SET outcome = 'undone'")
    assert purged(path) == (("old",), KeptCounts())


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("memories", {"id": "old"}),
        ("memory_messages", {"memory_id": "old", "chain": "c"}),
        ("synthesized_from", {"derived_id": "x", "source_id": "old"}),
    ],
)
def test_a_recent_journal_prevents_a_purge(path: Path, table: str, key: dict[str, Any]) -> None:
    a_run(path)
    sql = "INSERT INTO journal VALUES ('run-1', 1, '', ?, ?, '{}', '{}')"
    execute(path, sql, table, json.dumps(key))
    assert purged(path) == ((), KeptCounts(undo=1))


def test_a_purge_names_rows_of_an_agent_that_refer_to_a_memory(path: Path) -> None:
    execute(path, "CREATE TABLE notes (memory TEXT REFERENCES memories (id) ON DELETE RESTRICT)")
    execute(path, "INSERT INTO notes VALUES ('old')")
    a_run(path)
    refusal = pytest.raises(StoreError, match="cannot be deleted: rows of notes refer to it")
    with open_writing(path) as file, refusal:
        purge(file, "run-1", ["old"], NOW, {})
    assert len(rows(path, "SELECT id FROM memories")) == 2


def test_other_tenants_are_not_purged(path: Path) -> None:
    put(path, a_memory("theirs", tenant="other"), gone("old one", by="theirs", tenant="other"))
    cite(path, "theirs", "old one")
    assert purged(path) == (("old",), KeptCounts())


def test_a_memory_reactivated_meanwhile_is_not_purged(path: Path) -> None:
    a_run(path)
    execute(path, "UPDATE memories SET status = 'active' WHERE id = 'old'")
    with open_writing(path) as file:
        assert purge(file, "run-1", ["old"], NOW, {}) == []
    assert rows(path, "SELECT id FROM memories WHERE id = 'old'")


def test_a_purge_deletes_vectors_and_no_text_of_lineage(path: Path) -> None:
    a_run(path)
    for sql in (
        "entities VALUES (1, 'default', 'Anna', NULL)",
        "memory_entities VALUES ('old', 1, NULL)",
        "embeddings VALUES ('old', 'm', 1, x'0000803f', 'hash', 'run-0')",
    ):
        execute(path, f"INSERT INTO {sql}")
    with open_writing(path) as file:
        assert purge(file, "run-1", ["old"], NOW, {}) == ["old"]
        assert [*removals(file, "old")] == [Removal("old", "run-1", timestamp(NOW), False)]
        assert [*removals(file, "stays")] == []
    for table in ("memory_entities", "embeddings"):
        assert rows(path, f"SELECT * FROM {table}") == []
    (edge,) = rows(path, "SELECT source_content FROM synthesized_from")
    assert edge["source_content"] == "what old says"
    assert "what old says" not in str(rows(path, "SELECT * FROM journal"))
    assert whole(path)


def test_lineage_keeps_the_bytes_of_a_purged_text_that_is_not_utf8(path: Path) -> None:
    a_run(path)
    text = "CAST(x'4f6bff41' AS TEXT), content_hash = 'of another'"
    execute(path, f"UPDATE memories SET content = {text} WHERE id = 'old'")
    with open_writing(path) as file:
        assert purge(file, "run-1", ["old"], NOW, {}) == ["old"]
    edges = rows(path, "SELECT hex(source_content) AS text FROM synthesized_from")
    assert edges == [{"text": "4F6BFF41"}]


def test_nothing_is_purged_without_the_trigger_that_keeps_texts(path: Path) -> None:
    a_run(path)
    execute(path, "DROP TRIGGER memories_leave")
    raised = pytest.raises(StoreError, match="the only copy")
    with unchanged(picture, path), raised, open_writing(path) as file:
        purge(file, "run-1", ["old"], NOW, {})


# A whole night, a month, and a purge.

LATER = NOW + timedelta(days=KEPT_DAYS + 1)


@made_once
def night_file(path: Path, embedder: SentenceEmbedder) -> None:
    fill(path, daily(of_one_thing(), "oncall"))
    with a_writer(answering(joined_once, approval)) as writer:
        night(path, embedder, writer=writer, only=frozenset({"synthesize"}))
    assert superseded(path)


def superseded(path: Path) -> set[str]:
    return {row["id"] for row in rows(path, "SELECT id FROM memories WHERE status = 'superseded'")}


def test_sources_are_purged_after_a_month_and_lineage_keeps_their_texts(
    night_file: Path, embedder: SentenceEmbedder, cli: Cli
) -> None:
    path = night_file
    texts = {row["id"]: row["content"] for row in rows(path, "SELECT id, content FROM memories")}
    planned = night(path, embedder, dry_run=True, now=LATER, consolidate=False, purge=True)
    outcome = only_purge(path, embedder, LATER)
    assert outcome.purged.ids == planned.purged.ids
    assert outcome.after == planned.after
    assert outcome.purged.ids
    assert outcome.run_id is None
    (derived,) = rows(path, "SELECT id FROM memories WHERE layer = 'stable'")
    lineage = cli("show", "--lineage", path, derived["id"], "--json").json
    assert (lineage["command"], lineage["file"]) == ("trace", str(path))
    sources = {source["id"]: source for source in everyone(lineage["sources"])}
    assert all(source["content"] == texts[name] for name, source in sources.items())
    assert {sources[memory_id]["status"] for memory_id in outcome.purged.ids} == {"gone"}
    memory_id = outcome.purged.ids[0]
    traced = cli("show", "--lineage", path, memory_id, "--json").json
    assert (traced["memory"]["content"], traced["memory"]["status"]) == (texts[memory_id], "gone")
    assert [each["id"] for each in traced["derived"]] == [derived["id"]]
    assert whole(path)


def everyone(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [source for top in sources for source in (top, *everyone(top["sources"]))]


def test_plans_do_not_change_after_a_purge(
    night_file: Path, embedder: SentenceEmbedder, tmp_path: Path
) -> None:
    """What was purged keeps apart, and brings together, what it did before."""
    purged_file, whole_file = night_file, copy_of(night_file, tmp_path / "whole.db")
    assert set(only_purge(purged_file, embedder, LATER).purged.ids) == superseded(whole_file)
    assert superseded(purged_file) == set()
    plans = []
    for path in (purged_file, whole_file):
        fill(path, daily([*more_of_it(), f"{more_of_it()[0]}!"], "more", first_day=20))
        plans.append(night(path, embedder, dry_run=True, now=LATER).plan)
    assert plans[0].proposals
    assert plans[0] == plans[1]


def test_purged_words_find_their_successor(night_file: Path, embedder: SentenceEmbedder) -> None:
    hits = []
    query = SearchQuery("who has the database pages of a weekend?", 3)
    for _ in range(2):
        index = RecallIndex(read_recallable_of(night_file, (), embedder.name), embedder)
        hits.append([(hit.memory.id, hit.key.id) for hit in search(index, query, timestamp(LATER))])
        only_purge(night_file, embedder, LATER)
    assert hits[0] == hits[1]
    assert hits[0][0][0] != hits[0][0][1]


@pytest.mark.parametrize("flavour", fixture.FLAVOURS)
def test_a_night_after_a_purge_is_a_no_op(
    flavour: str, embedder: SentenceEmbedder, memory_file: Path, rounds: Callable[[int, int], int]
) -> None:
    memories = fixture.load(flavour).memories
    if rounds(0, 1):
        chosen = memories
    elif flavour != "lab":
        pytest.skip("with --long")
    else:
        groups = sorted({item.group for item in memories if item.role == "fact"})[:32]
        chosen = [item for item in memories if item.group.removeprefix("near:") in groups]
    fill(memory_file, list(map(json.loads, fixture.with_duplicates(fixture.lines_of(chosen)))))
    night(memory_file, embedder)
    outcome = only_purge(memory_file, embedder, LATER)
    assert outcome.purged.ids
    after = night(memory_file, embedder, now=LATER, purge=True)
    assert after.results == ()
    assert after.run_id is None
    assert after.purged.ids == ()
    assert after.purged.kept == outcome.purged.kept
    assert whole(memory_file)


def test_a_purge_is_a_separate_run(night_file: Path, embedder: SentenceEmbedder) -> None:
    fill(night_file, ["The office cat is called Pip.", "The office cat is called Pip."])
    outcome = night(night_file, embedder, now=LATER, purge=True, keep_backups=1)
    assert outcome.states == {"applied": 1}
    assert outcome.purged.run_id not in (None, outcome.run_id)
    options = rows(night_file, "SELECT id, options, outcome, report FROM runs ORDER BY id")
    assert [json.loads(row["options"]).get("purge", False) for row in options][-2:] == [False, True]
    assert options[-1]["outcome"] == "done"
    assert json.loads(options[-1]["report"])["purged"] == len(outcome.purged.ids)
    # One backup, of the file before both.
    assert outcome.backup is not None
    assert set(outcome.purged.ids) <= superseded(outcome.backup)


def test_an_interrupted_purge_stops_and_a_later_one_finishes(
    path: Path, embedder: SentenceEmbedder
) -> None:
    with open_reading(path) as file:
        purgeable = find_purgeable(file, ["default"], NOW)
    night = inputs_of(path, embedder)
    night.interruption.end()
    night.interruption.request()
    preflight = Preflight(path, None, NOW)
    ended = purge_memories(night, purgeable, ["default"], preflight)
    assert (ended.ids, ended.why) == ((), "the run was interrupted")
    (row,) = rows(path, "SELECT outcome FROM runs WHERE id = ?", ended.run_id)
    assert row["outcome"] == "interrupted"
    assert purged(path)[0] == ("old",)
    later = purge_memories(inputs_of(path, embedder), purgeable, ["default"], preflight)
    assert (later.ids, later.why) == (("old",), None)


def test_an_import_of_an_export_has_the_same_lineage(
    night_file: Path, embedder: SentenceEmbedder, tmp_path: Path
) -> None:
    only_purge(night_file, embedder, LATER)
    copy = tmp_path / "copy.db"
    create_file(copy)
    with open_reading(night_file) as file, open_writing(copy) as to:
        lines = [*export_lines(file, everything=True), *history_lines(file)]
        import_lines(to, [line.encode() for line in lines], NOW)
    tables = ("synthesized_from", "memories", "witnesses", "witness_vectors")
    assert picture(copy, tables) == picture(night_file, tables)
    assert whole(copy)


def test_undo_passes_over_a_purge_that_deleted_nothing(memory_file: Path, cli: Cli) -> None:
    put(memory_file, a_memory("m-1", "It rains."), a_memory("m-2", "It rains"))
    run = cli("maintain", memory_file, "--json").json["run"]
    execute(
        memory_file,
        "INSERT INTO runs (id, started_at, version, options, outcome, report) SELECT id || '-2', "
        "started_at, version, '{\"purge\": true}', 'failed', report FROM runs",
    )
    assert cli("undo", memory_file, "--yes", "--json").json["runs"] == [run]


def test_purge_shows_and_then_deletes(path: Path, cli: Cli) -> None:
    put(path, gone("pinned", pinned=True))
    arguments = ("maintain", path, "--phase", "purge")
    with unchanged(path.read_bytes):
        cli(*arguments, "--dry-run", "--exit-code").ends(4).says("To be purged: 1 memory")
    output = cli(*arguments, "--json").ends(0).json
    assert output["purged"] == ["old"]
    assert output["kept"] == {"lineage": 0, "review": 0, "undo": 0, "pinned": 1, "neighbours": 0}
    assert output["after"]["superseded"] == output["before"]["superseded"] - 1
    assert output["purge"]["run"]
    cli(*arguments, "--dry-run", "--exit-code").ends(0).says("nothing to do", "1 since pinned")
    cli("log", path).ends(0).says("none (purge)")


# Random histories.


@pytest.fixture(scope="module")
def pool(embedder: SentenceEmbedder) -> list[tuple[str, list[float]]]:
    """Provide texts that are related in many ways, with their vectors."""
    texts = [item.text for item in fixture.load().memories if item.role != "single"][:160]
    return list(zip(texts, embedder.encode(texts).tolist(), strict=True))


def test_no_text_is_lost_in_any_history(
    pool: list[tuple[str, list[float]]],
    embedder: SentenceEmbedder,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
) -> None:
    for seed in range(rounds(1, 20)):
        path = tmp_path / f"{seed}.db"
        create_file(path)
        dice = random.Random(seed)  # noqa: S311 - a history, not a secret
        live_through(path, pool, embedder, dice)


def live_through(
    path: Path, pool: list[tuple[str, list[float]]], embedder: SentenceEmbedder, dice: random.Random
) -> None:
    """Run months of nights and purges on a file, and check it after each day."""
    waiting = dice.sample(pool, 60)
    now, ever = NOW, set[str]()
    while waiting:
        now += timedelta(days=dice.choice([1, 9, 25, 33]))
        portion, waiting = waiting[:20], waiting[20:]
        fill(path, [as_row(text, vector, embedder.name, now, dice) for text, vector in portion])
        ever |= {text for text, _ in portion}
        night(path, embedder, now=now)
        if dice.random() < 0.3:
            old = "status = 'superseded' AND rowid % 7 = 0"
            execute(path, f"UPDATE memories SET pinned = 1 WHERE {old}")
        if dice.random() < 0.3 and (ids := sorted(superseded(path))):
            run(["undo", str(path), dice.choice(ids), "--quiet"])
        now += timedelta(days=dice.choice([2, 31, 40]))
        only_purge(path, embedder, now)
        assert whole(path)
        assert ever <= texts_in(path)
        assert only_purge(path, embedder, now).purged.ids == ()


def as_row(
    text: str, vector: list[float], model: str, now: datetime, dice: random.Random
) -> dict[str, Any]:
    output = timestamp(now - timedelta(hours=dice.randrange(200)))
    times = {"observed_at": output, "created_at": output}
    embedded = {"embedding": vector, "embedding_model": model}
    return {"content": text, "session": f"s{dice.randrange(9)}", **times, **embedded}


def texts_in(path: Path) -> set[str]:
    sources = "SELECT source_content FROM synthesized_from"
    texts = rows(path, f"SELECT content AS text FROM memories UNION {sources}")
    return {row["text"] for row in texts}


def test_show_has_date_and_successor_of_a_purged_memory(path: Path, cli: Cli) -> None:
    purged_ids = cli("maintain", path, "--phase", "purge", "--json").json["purged"]
    assert purged_ids == ["old"]
    shown = cli("show", path, "old")
    assert shown.code == cli("show", path, "none").code == 1
    today = datetime.now(UTC).date().isoformat()
    assert f"Memory old was purged on {today} by run" in shown.err
    assert f"slowwave show {path} old --lineage" in shown.err
    assert cli("show", "--lineage", path, "old").code == 0
    assert "was purged" not in cli("show", path, "none").err
