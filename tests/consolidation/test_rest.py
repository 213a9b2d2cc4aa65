"""Idle nights: the findings of earlier nights save time, and change no plan."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import cache
from itertools import count, islice
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any
from weakref import ref

import pytest
from builders import made_once
from counting import work_of
from nights import NOW, NoEmbedder, execute, fill, inputs_of, night, of_one_thing, picture, rows

from fixtures.night import load
from slowwave.cli.app import run
from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running import survey
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.store.errors import ChangedSince
from slowwave.store.file import create_file, open_writing
from slowwave.store.undo.undo import undo_proposal, undo_runs

# What a newer or broken version may have kept: valid JSON in another form.
FORMS = ("null", "[1]", '{"names": []}', "[[], true, [], [[]]]")
BROKEN = " ".join(f"WHEN {index} THEN '{form}'" for index, form in enumerate(FORMS))


@cache
def pool() -> list[str]:
    """Return texts of every kind: duplicates, facts in several wordings, rules, updates."""
    source = load("assistant").memories
    chosen = {
        group
        for role, limit in (("fact", 4), ("rule", 2), ("new", 3), ("single", 5))
        for group in list(dict.fromkeys(text.group for text in source if text.role == role))[:limit]
    }
    texts = [text.text for text in source if text.group.removeprefix("near:") in chosen]
    return [*texts, *(f"{text}!" for text in texts[::9])]


@cache
def vectors(embedder: Embedder) -> dict[str, list[float]]:
    """Return the vectors of the pool, computed once."""
    return dict(zip(pool(), embedder.encode(pool()).tolist(), strict=True))


def memory(text: str, number: int, embedder: Embedder, **fields: object) -> dict[str, Any]:
    """Return a text as a memory that brings its vector along."""
    return {
        "id": f"m-{number:03d}",
        "content": text,
        "session": f"s-{number % 7}",
        "observed_at": f"2026-02-{number % 27 + 1:02d}T09:00:00+00:00",
        "embedding": vectors(embedder)[text],
        "embedding_model": embedder.name,
        **fields,
    }


@made_once
def settled(path: Path, embedder: SentenceEmbedder) -> None:
    """Provide a file on which a night has run."""
    fill(path, [memory(text, index, embedder) for index, text in enumerate(pool())])
    execute(path, "INSERT INTO entities (id, tenant, name) VALUES (1, 'default', 'Ann')")
    execute(path, "INSERT INTO memory_entities (memory_id, entity_id) VALUES ('m-001', 1)")
    assert night(path, embedder).states["applied"] > 3


def idle_tenants(path: Path) -> list[str]:
    """Return the tenants that are idle."""
    tenants = rows(
        path,
        "SELECT s.tenant AS tenant FROM standing s JOIN changes c ON c.tenant = s.tenant "
        "WHERE s.changes = c.count ORDER BY 1",
    )
    return [match["tenant"] for match in tenants]


def same(left: Outcome, right: Outcome) -> bool:
    """Whether two outcomes are equal, apart from the ids of runs."""
    what = attrgetter("plan", "results", "before", "after")
    return bool(what(left) == what(right))


def traced(path: Path, embedder: Embedder, **options: Any) -> tuple[Outcome, list[str]]:
    """Run a night, and return it with its statements that read memories or vectors."""
    seen: list[str] = []
    connect = sqlite3.connect

    def connecting(*arguments: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **named)
        connection.set_trace_callback(seen.append)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connecting)
        outcome = night(path, embedder, **options)
    words = ("FROM embeddings", "content, kind", "FROM memos", "FROM neighbours")
    return outcome, [item for item in seen if any(word in item for word in words)]


def test_an_idle_night_reads_only_texts_and_writes_nothing(settled: Path) -> None:
    before = settled.read_bytes()
    model = rows(settled, "SELECT DISTINCT model FROM embeddings")[0]["model"]
    outcome, read = traced(settled, NoEmbedder(model))
    assert (outcome.plan.proposals, outcome.run_id, read) == ((), None, [])
    assert settled.read_bytes() == before
    full, read = traced(settled, NoEmbedder(model), dry_run=True, full=True)
    assert same(outcome, full)
    assert outcome.plan.undecided
    assert len(read) > 1


def test_a_change_is_planned_like_a_full_pass(settled: Path, embedder: SentenceEmbedder) -> None:
    fill(settled, [{"id": f"x-{n}", "content": text} for n, text in enumerate(of_one_thing())])
    assert idle_tenants(settled) == []
    quick = night(settled, embedder, dry_run=True)
    assert same(quick, night(settled, embedder, dry_run=True, full=True))
    assert quick.plan.proposals
    assert quick.plan.undecided
    assert survey.survey_file(inputs_of(settled, embedder)).snapshot.views[0].forest.is_grown


@pytest.mark.parametrize(
    ("statement", "rests"),
    [
        ("UPDATE memories SET access_count = access_count + 1, accessed_at = '2026-03-11'", True),
        ("UPDATE memories SET tags = '[\"seen\"]', updated_at = '2026-03-11'", True),
        ("INSERT INTO memories (content) VALUES ('The kettle is new.')", False),
        ("UPDATE memories SET content = 'The kettle is old.' WHERE id = 'm-001'", False),
        ("UPDATE memories SET pinned = 1 WHERE id = 'm-001'", False),
        ("UPDATE memories SET expires_at = '2026-04-01' WHERE id = 'm-001'", False),
        ("UPDATE memories SET status = 'archived' WHERE id = 'm-001'", False),
        ("DELETE FROM memories WHERE id = 'm-001'", False),
        ("INSERT OR REPLACE INTO memories (id, tenant, content) VALUES ('m-001', 'b', 'x')", False),
        ("UPDATE embeddings SET vector = zeroblob(1536) WHERE memory_id = 'm-001'", False),
        ("DELETE FROM embeddings WHERE memory_id = 'm-001'", False),
        ("DELETE FROM memory_entities", False),
        ("UPDATE entities SET name = name || 's'", False),
        ("DELETE FROM synthesized_from", False),
        ("UPDATE proposals SET state = 'failed'", False),
        ("DELETE FROM proposals", False),
    ],
)
def test_changes_invalidate_the_idle_mark(settled: Path, statement: str, rests: bool) -> None:
    execute(settled, statement)
    assert idle_tenants(settled) == (["default"] if rests else [])


def test_an_expiry_invalidates_the_idle_mark(settled: Path, embedder: SentenceEmbedder) -> None:
    text = "The kettle of the third floor is new."
    fill(settled, [{"content": text, "expires_at": "2026-03-12T00:00:00+00:00"}])
    night(settled, embedder)
    assert idle_tenants(settled) == ["default"]
    tomorrow, later = NOW + timedelta(days=1), NOW + timedelta(days=3)
    assert traced(settled, embedder, dry_run=True, now=tomorrow)[1] == []
    outcome, read = traced(settled, embedder, dry_run=True, now=later)
    assert read
    assert same(outcome, night(settled, embedder, dry_run=True, now=later, full=True))


@pytest.mark.parametrize(
    "options", [{"only": frozenset({"merge"})}, {"include_protected": True}, {"reconsider": True}]
)
def test_an_idle_mark_is_valid_only_for_its_options(
    settled: Path, embedder: SentenceEmbedder, options: dict[str, Any]
) -> None:
    assert traced(settled, embedder, dry_run=True, **options)[1]
    assert traced(settled, embedder, dry_run=True)[1] == []


def test_an_unchanged_tenant_stays_idle(settled: Path, embedder: SentenceEmbedder) -> None:
    twins = [memory(text, 500 + n, embedder, tenant="other") for n, text in enumerate(pool())]
    fill(settled, twins)
    assert idle_tenants(settled) == ["default"]
    both = night(settled, embedder, dry_run=True)
    assert {proposal.tenant for proposal in both.plan.proposals} == {"other"}
    assert same(both, night(settled, embedder, dry_run=True, full=True))
    _, read = traced(settled, embedder, dry_run=True)
    assert not any("'default'" in item for item in read)
    night(settled, embedder)
    assert idle_tenants(settled) == ["default", "other"]


def test_a_tenant_with_work_left_is_not_idle(settled: Path, embedder: SentenceEmbedder) -> None:
    fill(settled, [memory(text, 500 + index, embedder) for index, text in enumerate(pool())])
    night(settled, embedder, only=frozenset({"update"}))
    assert idle_tenants(settled) == ["default"]
    assert night(settled, embedder, dry_run=True).plan.proposals


def test_a_night_without_a_model_surveys_once(settled: Path, embedder: SentenceEmbedder) -> None:
    fill(settled, [memory(pool()[0], 500, embedder), "The kettle of the third floor is new."])
    work = work_of(lambda: night(settled, embedder), surveys=survey.survey_file)
    assert work["surveys"] == 1
    assert rows(settled, "SELECT 1 FROM memories WHERE id = 'm-500' AND status = 'superseded'")
    assert idle_tenants(settled) == ["default"]


class Meanwhile(Progress):
    """Changes a file while a night applies its plan."""

    def __init__(self, path: Path, statement: str) -> None:
        self._path, self._statement = path, statement

    def stage(self, name: str, done: int, total: int) -> None:
        """Execute it."""
        if name == "applying":
            execute(self._path, self._statement)


def test_a_run_counts_only_its_own_effect(settled: Path, embedder: SentenceEmbedder) -> None:
    fill(settled, [memory(pool()[0], 500, embedder)])
    meanwhile = Meanwhile(settled, "INSERT INTO memories (content) VALUES ('The kettle is new.')")
    outcome = run_cycle(inputs_of(settled, embedder, progress=meanwhile))
    assert outcome.after.active == outcome.before.active - 1
    (run,) = rows(settled, "SELECT report FROM runs WHERE id = ?", outcome.run_id)
    assert json.loads(run["report"])["after"] == asdict(outcome.after)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO memories (content) VALUES ('The kettle is new.')",
        "UPDATE memories SET pinned = 1 WHERE id = 'm-001'",
        "DELETE FROM memories WHERE id = 'm-001'",
    ],
)
def test_a_concurrent_change_prevents_the_idle_mark(
    settled: Path, embedder: SentenceEmbedder, statement: str
) -> None:
    fill(settled, [memory(pool()[0], 500, embedder)])
    meanwhile = Meanwhile(settled, statement)
    run_cycle(inputs_of(settled, embedder, progress=meanwhile))
    assert idle_tenants(settled) == []


def test_unsaved_findings_are_reported(
    settled: Path, embedder: SentenceEmbedder, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(settled, [memory(pool()[0], 500, embedder), "The kettle of the third floor is new."])
    execute(
        settled,
        "CREATE TRIGGER no_room BEFORE INSERT ON memos BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    assert run(["maintain", str(settled), "--consolidate"]) == 0
    warning = capsys.readouterr().err
    assert "Could not store what this run computed: " in warning
    assert "no room" in warning
    assert rows(settled, "SELECT 1 FROM memories WHERE id = 'm-500' AND status = 'superseded'")
    execute(settled, "DROP TRIGGER no_room")
    assert night(settled, embedder).why_unsaved is None
    assert idle_tenants(settled) == ["default"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE standing SET report = CAST(substr(report, 1, 40) || 'x' AS BLOB)",
        "UPDATE neighbours SET content = CAST(substr(content, 1, 40) || 'x' AS BLOB)",
        "UPDATE memos SET value = substr(value, 2)",
        f"UPDATE memos SET value = CASE length(value) % {len(FORMS)} {BROKEN} END",
        "DELETE FROM standing",
        "DELETE FROM neighbours",
        "DELETE FROM memos",
    ],
)
def test_damaged_findings_are_recomputed(
    settled: Path, embedder: SentenceEmbedder, statement: str
) -> None:
    execute(settled, statement)
    before = picture(settled)
    if "standing" not in statement:
        fill(settled, [memory(pool()[0], 500, embedder)])
    outcome = night(settled, embedder, dry_run=True)
    assert same(outcome, night(settled, embedder, dry_run=True, full=True))
    if "standing" in statement:
        assert night(settled, embedder).run_id is None
        assert picture(settled) == before
        assert idle_tenants(settled) == ["default"]


def test_findings_of_deleted_texts_are_deleted(settled: Path, embedder: SentenceEmbedder) -> None:
    size = "SELECT sum(length(value)) AS n FROM memos"
    before = rows(settled, size)[0]["n"]
    execute(settled, "DELETE FROM memories WHERE id > 'm-010' AND generation = 0")
    night(settled, embedder)
    night(settled, embedder)
    assert rows(settled, size)[0]["n"] < before / 2


def a_history(path: Path, chance: Random, embedder: Embedder) -> None:
    """Change a file as agents, people and nights do, and compare after each change."""
    number = 0
    runs: list[str] = []

    def add() -> None:
        nonlocal number
        texts = chance.choices(pool(), k=chance.randint(1, 12))
        fill(path, [memory(text, number + index, embedder) for index, text in enumerate(texts)])
        number += len(texts)

    def change(statement: str, *values: object) -> None:
        ids = [row["id"] for row in rows(path, "SELECT id FROM memories")]
        for memory_id in chance.sample(ids, min(len(ids), chance.randint(1, 3))):
            execute(path, statement, *values, memory_id)

    def run() -> None:
        outcome = night(path, embedder, full=chance.random() < 0.2)
        if outcome.run_id is not None:
            runs.append(outcome.run_id)

    def undo() -> None:
        if runs:
            try:
                with open_writing(path) as file:
                    undo_runs(file, [runs.pop()], NOW.isoformat())
            except ChangedSince as refusal:
                assert refusal.obstacles

    steps: list[Callable[[], None]] = [
        *(add, add, run, run, run, undo),
        lambda: change("UPDATE memories SET content = ? WHERE id = ?", chance.choice(pool())),
        lambda: change("UPDATE memories SET observed_at = '2026-01-03' WHERE id = ?"),
        lambda: change("UPDATE memories SET pinned = 1 - pinned WHERE id = ?"),
        lambda: change("UPDATE memories SET status = 'archived' WHERE id = ?"),
        lambda: change("DELETE FROM memories WHERE id = ?"),
        lambda: change("DELETE FROM embeddings WHERE memory_id = ?"),
        lambda: change(
            "UPDATE embeddings SET vector = (SELECT vector FROM embeddings ORDER BY memory_id "
            "LIMIT 1 OFFSET ? % (SELECT count(*) FROM embeddings)) WHERE memory_id = ?",
            chance.randint(0, 9),
        ),
    ]
    add()
    for _ in range(12):
        chance.choice(steps)()
        quick = night(path, embedder, dry_run=True)
        full = night(path, embedder, dry_run=True, full=True)
        assert same(quick, full)


def test_after_any_history_a_night_plans_like_a_full_pass(
    tmp_path: Path, embedder: SentenceEmbedder, rounds: Callable[[int, int], int]
) -> None:
    for seed in range(rounds(3, 20)):
        path = tmp_path / f"{seed}.db"
        create_file(path)
        a_history(path, Random(seed), embedder)  # noqa: S311 - a history, not a secret


@cache
def facts(embedder: Embedder) -> dict[str, dict[str, list[float]]]:
    """Return facts in all their wordings, each with its vector."""
    texts = [text for text in load("assistant").memories if text.role == "fact"]
    groups: dict[str, dict[str, list[float]]] = {}
    vectors = embedder.encode([text.text for text in texts]).tolist()
    for text, vector in zip(texts, vectors, strict=True):
        groups.setdefault(text.group, {})[text.text] = vector
    return groups


def retold(chance: Random, embedder: Embedder, layers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield retellings of a few facts as memories, with some names, layers and trusts."""
    chosen = chance.sample(sorted(facts(embedder)), 12)
    wordings = [wording for fact in chosen for wording in facts(embedder)[fact].items()]
    for number in count():
        text, vector = chance.choice(wordings)
        yield {
            "id": f"m-{number:03d}",
            "content": text,
            "observed_at": f"2026-02-{number % 27 + 1:02d}T09:00:00+00:00",
            "embedding": vector,
            "embedding_model": embedder.name,
            "entities": chance.choice([[], [], [], ["Ann"]]),
            "layer": chance.choice(layers),
            "trust": chance.choice([0.5, 0.5, 0.6]),
            "pinned": chance.random() < 0.05,
        }


def test_a_night_leaves_nothing_for_the_next_one(
    tmp_path: Path, embedder: SentenceEmbedder, rounds: Callable[[int, int], int]
) -> None:
    for seed in range(rounds(2, 20)):
        path, chance = tmp_path / f"{seed}.db", Random(seed)  # noqa: S311 - texts, not a secret
        create_file(path)
        layers = ["working"] * 6 + ["ephemeral", "stable"][: 2 * (seed % 2)]
        memories = retold(chance, embedder, layers)
        for size in (120, 30, 30):
            fill(path, list(islice(memories, size)))
            done = night(path, embedder)
            assert done.states["applied"]
            assert idle_tenants(path) == ["default"]
            quick, full = (night(path, embedder, dry_run=True, full=full) for full in (False, True))
            assert not quick.plan.proposals
            assert same(quick, full)
            with open_writing(path) as file:
                for result in chance.sample(done.results, 2):
                    undo_proposal(file, str(done.run_id), result.proposal.id, NOW.isoformat())


def test_a_survey_leaves_no_reference_cycle(settled: Path, embedder: SentenceEmbedder) -> None:
    surveyed = survey.survey_file(inputs_of(settled, embedder, full=True))
    read = [ref(view) for view in surveyed.snapshot.views]
    gc.disable()
    try:
        del surveyed
        assert [item() for item in read] == [None]
    finally:
        gc.enable()
