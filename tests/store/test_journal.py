"""Undo of runs and proposals, and the journal that it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import (
    LATER,
    a_decision,
    a_line,
    a_memory,
    a_run,
    all_memories,
    changing,
    copy_of,
    decide,
    put,
    take_in,
    whole,
)
from cli_calls import Cli
from counting import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from nights import AGENTS_TABLES, execute, picture, rows, unchanged

from slowwave.store.ageing import restore_memory
from slowwave.store.check import check_file
from slowwave.store.errors import ChangedSince, StoreError
from slowwave.store.file import MemoryFile, create_file, open_reading, open_writing
from slowwave.store.journal import Journal
from slowwave.store.memories import read_memory
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import Memory, content_hash, to_row
from slowwave.store.undo.undo import undo_proposal, undo_runs
from slowwave.store.vectors import store_vectors, to_blob

RUN = "run-1"
PROPOSAL = "proposal-1"
# Every table that is not the record of the run itself.
TABLES = (*AGENTS_TABLES, "derivations")
EVERYTHING = (*TABLES, "runs", "proposals", "journal", "answers")
MODELS = ("m", "of-the-agent")
VECTOR = to_blob([0.6, 0.8])


def undo(path: Path, run_id: str = RUN) -> list[str]:
    with open_writing(path) as file:
        return undo_runs(file, [run_id], LATER)


def undo_key(path: Path, key: str = PROPOSAL, run_id: str = RUN) -> None:
    with open_writing(path) as file:
        undo_proposal(file, run_id, key, LATER)


def seeded(path: Path) -> None:
    """Fill a file with all that a run may find: hashes or none, vectors, lineage."""
    create_file(path)
    take_in(
        path,
        a_line("first", id="m-0", tags=["a"], embedding=[1, 0], embedding_model="m"),
        a_line("second", id="m-1", entities=["Ada"], access_count=3),
        a_line("third", id="m-2", embedding=[0, 1], embedding_model="of-the-agent"),
    )
    execute(path, "INSERT INTO memories (id, content) VALUES ('m-3', 'by SQL, without a hash')")
    a_run(path, "run-0")
    with changing(path) as file:
        store_vectors(file, "m", [("m-1", "an old hash", VECTOR)], "run-0")


# A function that changes a file for a proposal, and its other arguments.
Change = tuple[Any, ...]

ids = st.integers(0, 9)
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6)
columns = st.fixed_dictionaries(
    {},
    optional={
        "content": words,
        "content_hash": st.none() | words,
        "status": st.sampled_from(["active", "superseded", "archived"]),
        "superseded_by": ids | st.none(),
        "superseded_at": st.sampled_from([LATER, None]),
        "layer": st.sampled_from(["working", "core"]),
        "importance": st.integers(1, 5),
        "trust": st.sampled_from([0, 1, 0.1, 1 / 3]),
        "access_count": st.integers(0, 5),
        "tags": st.lists(words, max_size=2).map(json.dumps),
        "metadata": st.dictionaries(words, words, max_size=1).map(json.dumps),
        "source": st.none() | words,
        "expires_at": st.sampled_from([LATER, None]),
        "pinned": st.integers(0, 1),
    },
)


def id_of(file: MemoryFile, number: int) -> str:
    """Return the id of a memory in the file."""
    there = [row["id"] for row in file.rows("SELECT id FROM memories ORDER BY id")]
    return str(there[number % len(there)])


def with_ids(file: MemoryFile, changes: dict[str, Any]) -> dict[str, Any]:
    if changes.get("superseded_by") is None:
        return changes
    return changes | {"superseded_by": id_of(file, changes["superseded_by"])}


def insert(file: MemoryFile, proposal: str, text: str, changes: dict[str, Any]) -> None:
    number = file.value("SELECT count(*) FROM memories")
    row = to_row(a_memory(f"new-{number}", text)) | with_ids(file, changes)
    Journal(file, RUN, proposal).insert("memories", row)


def update(file: MemoryFile, proposal: str, number: int, changes: dict[str, Any]) -> None:
    key = {"id": id_of(file, number)}
    if "content" in changes:  # without its hash, it would be an agent's change
        changes |= {"content_hash": content_hash(changes["content"])}
    if changes:
        Journal(file, RUN, proposal).update("memories", [key], with_ids(file, changes))


def cite(file: MemoryFile, proposal: str, derived: int, source: int, text: str | None) -> None:
    key = {"derived_id": id_of(file, derived), "source_id": id_of(file, source)}
    row = key | {"operation": "merge", "run_id": RUN, "source_hash": "h", "created_at": LATER}
    where = "SELECT 1 FROM synthesized_from WHERE derived_id = ? AND source_id = ?"
    if file.value(where, list(key.values())) is None:
        Journal(file, RUN, proposal).insert("synthesized_from", {**row, "source_content": text})


def embed(file: MemoryFile, _: str, number: int, model: str) -> None:
    store_vectors(file, model, [(id_of(file, number), "new hash", to_blob([1.0]))], RUN)


def calls_of(function: Callable[..., None], *arguments: st.SearchStrategy[Any]) -> Any:
    return st.tuples(st.just(function), *arguments)


embeddings = calls_of(embed, ids, st.sampled_from(MODELS))
changes = (
    calls_of(insert, words, columns)
    | calls_of(update, ids, columns)
    | calls_of(cite, ids, ids, st.none() | words)
)


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seed") / "memory.db"
    seeded(path)
    a_run(path)
    decide(path, a_decision(key="first"), a_decision(key="second"))
    return path


def make(path: Path, proposal: str, chosen: Sequence[Change]) -> None:
    with changing(path) as file:
        for change, *arguments in chosen:
            change(file, proposal, *arguments)


@settings(max_examples=examples(100))
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["", "first", "second"]), changes | embeddings), max_size=12
    )
)
def test_undo_restores_rows_after_any_changes(steps: list[tuple[str, Change]], seed: Path) -> None:
    path = copy_of(seed, seed.with_name("changed.db"))
    with unchanged(picture, path, TABLES):
        for proposal, change in steps:
            make(path, proposal, [change])
        assert undo(path) == ["first", "second"]


@settings(max_examples=examples(40))
@given(
    looked=st.lists(embeddings, max_size=3),
    first=st.lists(changes | embeddings, max_size=6),
    second=st.lists(changes, max_size=6),
)
def test_a_proposal_is_undone_alone_and_then_the_rest_of_its_run(
    looked: list[Change], first: list[Change], second: list[Change], seed: Path
) -> None:
    path = copy_of(seed, seed.with_name("changed.db"))
    with unchanged(picture, path, TABLES):
        make(path, "", looked)
        make(path, "first", first)
        with unchanged(picture, path, TABLES):
            make(path, "second", second)
            undo_key(path, "second")
        assert undo(path) == ["first"]


# ---- one night, and what happened after it ----

DAY_BEFORE = [a_memory(name, f"text {name}", access_count=2) for name in "abest"]


@pytest.fixture
def after_a_night(memory_file: Path) -> Path:
    """Provide a file in which d supersedes a and b, s supersedes t, and e supports the rule r."""
    put(memory_file, *DAY_BEFORE)
    a_run(memory_file)
    with changing(memory_file) as file:
        store_vectors(file, "m", [(memory_id, "h", VECTOR) for memory_id in ("a", "b", "s")], RUN)
        synthesis, merge = by("synthesis", file), by("merge", file)
        _derive(synthesis, "d", ["a", "b"])
        synthesis.supersede(texts("a", "b"), "d")
        _derive(by("rule", file), "r", ["e", "d"])
        merge.update_memory("s", {"tags": '["both"]', "access_count": 4, "updated_at": LATER})
        merge.supersede(texts("t"), "s")
    decide(memory_file, *(a_decision(key=item) for item in ("synthesis", "rule", "merge")))
    return memory_file


@pytest.fixture
def the_day_before(after_a_night: Path) -> dict[str, list[dict[str, Any]]]:
    """Provide the tables as they were before the night."""
    path = after_a_night.with_name("before.db")
    create_file(path)
    put(path, *DAY_BEFORE)
    return picture(path, TABLES)


def by(proposal: str, file: MemoryFile, run_id: str = RUN) -> ProposalChanges:
    return ProposalChanges(file, run_id, proposal, LATER)


def texts(*ids: str) -> list[Memory]:
    return [a_memory(memory_id, f"text {memory_id}") for memory_id in ids]


def _derive(changes: ProposalChanges, derived: str, sources: list[str]) -> None:
    memory = a_memory(derived, f"text {derived}", generation=1, origin="consolidation")
    changes.insert_memory(memory, "m", VECTOR)
    operation = "extract" if derived == "r" else "synthesize"
    changes.add_lineage(derived, texts(*sources), operation)
    how = {"operation": "synthesize", "writer": "extractive", "claims": "[]", "cost_usd": 0.1}
    changes.add_derivation(derived, how | {"prompt_hash": "h", "inputs_hash": "h"})


def test_undo_records_the_state_of_each_proposal(after_a_night: Path) -> None:
    undo_key(after_a_night, "rule")
    decide(after_a_night, a_decision(key="never", state="rejected"))

    def recorded() -> tuple[list[tuple[str, ...]], list[dict[str, Any]]]:
        sql = "SELECT key, state, decided_at = ? AS now FROM proposals ORDER BY key"
        outcomes = rows(after_a_night, "SELECT outcome FROM runs")
        return [tuple(row.values()) for row in rows(after_a_night, sql, LATER)], outcomes

    never = ("never", "rejected", 0)
    proposals = [("merge", "applied", 0), never, ("rule", "undone", 1), ("synthesis", "applied", 0)]
    assert recorded() == (proposals, [{"outcome": "running"}])
    undo(after_a_night)
    undone = [(key, "undone", 1) for key in ("merge", "rule", "synthesis")]
    assert recorded() == (sorted([*undone, never]), [{"outcome": "undone"}])


def test_undo_ignores_generated_columns_of_an_agent(memory_file: Path, cli: Cli) -> None:
    put(memory_file, a_memory("m-1", "It rains."), a_memory("m-2", "It rains"))
    column = "short TEXT GENERATED ALWAYS AS (status || content)"
    execute(memory_file, f"ALTER TABLE memories ADD COLUMN {column}")
    with unchanged(picture, memory_file):
        cli("maintain", memory_file).ends(0).says("1 applied")
        assert whole(memory_file)
        cli("undo", memory_file, "--yes").ends(0)


def test_undo_knows_what_triggers_changed_in_an_inserted_memory(memory_file: Path) -> None:
    put(memory_file, *DAY_BEFORE)
    a_run(memory_file)
    execute(
        memory_file,
        "CREATE TRIGGER mine AFTER INSERT ON memories "
        "BEGIN UPDATE memories SET session = 'night' WHERE id = new.id; END",
    )
    with unchanged(picture, memory_file):
        with changing(memory_file) as file:
            _derive(by("synthesis", file), "d", ["a", "b"])
        decide(memory_file, a_decision(key="synthesis"))
        assert undo(memory_file) == ["synthesis"]


@pytest.mark.parametrize("table", ["journal", "synthesized_from"])
def test_a_trigger_that_ignores_a_record_rejects_the_change(memory_file: Path, table: str) -> None:
    put(memory_file, *DAY_BEFORE)
    a_run(memory_file)
    execute(
        memory_file,
        f"CREATE TRIGGER mine BEFORE INSERT ON {table} BEGIN SELECT RAISE(IGNORE); END",
    )
    with (
        unchanged(picture, memory_file),
        pytest.raises(StoreError, match="ignores or reverts"),
        changing(memory_file) as file,
    ):
        _derive(by("synthesis", file), "d", ["a", "b"])


@pytest.mark.parametrize("action", ["NO ACTION", "RESTRICT"])
def test_undo_names_rows_of_an_agent_that_refer_to_a_derived_memory(
    after_a_night: Path, action: str
) -> None:
    execute(
        after_a_night,
        f"CREATE TABLE notes (memory TEXT REFERENCES memories (id) ON DELETE {action})",
    )
    execute(after_a_night, "INSERT INTO notes VALUES ('d')")
    refusal = pytest.raises(StoreError, match="cannot be deleted: rows of notes refer to it")
    with unchanged(picture, after_a_night, EVERYTHING), refusal:
        undo(after_a_night)


def test_undo_keeps_the_changes_of_other_runs(after_a_night: Path) -> None:
    a_run(after_a_night, "run-2")
    with changing(after_a_night) as file:
        by("p", file, "run-2").update_memory("e", {"tags": '["later"]'})
        store_vectors(file, "m", [("e", "h", VECTOR)], "run-2")
    undo(after_a_night)
    with open_reading(after_a_night) as file:
        assert read_memory(file, "e").tags == ("later",)
    assert rows(after_a_night, "SELECT memory_id FROM embeddings") == [{"memory_id": "e"}]


REFUSALS = {
    "derived text edited": (
        "UPDATE memories SET content = 'edited' WHERE id = 'd'",
        "Memory d was changed after the run: content. An agent or a person did that: change it",
    ),
    "derived deleted": (
        "DELETE FROM memories WHERE id = 'd'",
        "Memory d was deleted after the run. An agent or a person did that",
    ),
    "source archived": (
        "UPDATE memories SET status = 'archived' WHERE id = 'a'",
        "Memory a was changed after the run: status. An agent or a person did that",
    ),
    "survivor changed": (
        "UPDATE memories SET tags = '[\"more\"]' WHERE id = 's'",
        "Memory s was changed after the run: tags.",
    ),
    "edge changed": (
        "UPDATE synthesized_from SET source_hash = 'x' WHERE derived_id = 'd' AND source_id = 'a'",
        "A row of synthesized_from (d a) was changed after the run: source_hash.",
    ),
    "derivation changed": (
        "UPDATE derivations SET writer = 'somebody' WHERE memory_id = 'd'",
        "A row of derivations (d synthesis run-1) was changed after the run: writer.",
    ),
    "another memory superseded by the derived one": (
        "UPDATE memories SET status = 'superseded', superseded_by = 'd' WHERE id = 'e'",
        "Memory e was superseded by memory d after the run.",
    ),
    "another memory taken in by the derived one": (
        "INSERT INTO synthesized_from VALUES ('d', 'e', 'merge', 'nobody', 'h', NULL, '2026')",
        "Memory d absorbed memory e after the run. An agent or a person did that",
    ),
}


@pytest.mark.parametrize(("sql", "message"), REFUSALS.values(), ids=REFUSALS.keys())
def test_undo_names_a_changed_row_and_keeps_it(after_a_night: Path, sql: str, message: str) -> None:
    execute(after_a_night, sql)
    with unchanged(picture, after_a_night, EVERYTHING):
        with pytest.raises(ChangedSince) as raised:
            undo(after_a_night)
        (obstacle,) = raised.value.obstacles
        assert message in raised.value.message
        assert (obstacle.why, obstacle.run) == (raised.value.message, None)
        assert "single memories" in raised.value.hint


def test_a_memory_restored_by_hand_does_not_prevent_an_undo(after_a_night: Path) -> None:
    restored_at = "2026-03-12T03:00:00+00:00"
    with open_writing(after_a_night) as file:
        restore_memory(file, "a", restored_at)
    undo(after_a_night)
    with open_reading(after_a_night) as file:
        memory = read_memory(file, "a")
        assert check_file(file).problems == ()
    assert (memory.status, memory.superseded_by, memory.updated_at) == ("active", None, restored_at)


def test_a_change_prevents_the_undo_of_its_own_proposal_only(after_a_night: Path) -> None:
    execute(after_a_night, "UPDATE memories SET tags = '[1]' WHERE id = 's'")
    with pytest.raises(ChangedSince):
        undo_key(after_a_night, "merge")
    undo_key(after_a_night, "synthesis")
    assert "d" not in {memory.id for memory in all_memories(after_a_night)}


HARMLESS_CHANGES = {
    "derived read": "UPDATE memories SET access_count = 9, accessed_at = '2026-03-12' "
    "WHERE id = 'd'",
    "derived edited there and back": "UPDATE memories SET content_hash = NULL WHERE id = 'd'",
    "derived has another vector": "INSERT INTO embeddings VALUES "
    "('d', 'of-the-agent', 1, x'0000803f', 'h', NULL)",
    "derived lost its vector": "DELETE FROM embeddings WHERE memory_id = 'd'",
    "survivor set right by hand": "UPDATE memories SET tags = '[]' WHERE id = 's'",
    "edge deleted": "DELETE FROM synthesized_from WHERE derived_id = 'd' AND source_id = 'a'",
    "derived stamped": "UPDATE memories SET updated_at = '2027-01-01' WHERE id = 'd'",
}


@pytest.mark.parametrize("sql", HARMLESS_CHANGES.values(), ids=HARMLESS_CHANGES.keys())
def test_harmless_changes_do_not_prevent_an_undo(
    after_a_night: Path, the_day_before: dict[str, Any], sql: str
) -> None:
    execute(after_a_night, sql)
    undo(after_a_night)
    assert picture(after_a_night, TABLES) == the_day_before


def test_undo_keeps_later_access_counts(after_a_night: Path) -> None:
    read = "SET access_count = access_count + 5, accessed_at = '2026-03-12'"
    execute(after_a_night, f"UPDATE memories {read}")
    undo(after_a_night)
    uses = {each.id: (each.access_count, each.accessed_at) for each in all_memories(after_a_night)}
    assert uses == dict.fromkeys("abest", (7, "2026-03-12T00:00:00+00:00"))


def test_undo_never_makes_an_access_count_negative(after_a_night: Path) -> None:
    execute(after_a_night, "UPDATE memories SET access_count = 1 WHERE id = 's'")
    undo(after_a_night)
    (memory,) = rows(after_a_night, "SELECT access_count FROM memories WHERE id = 's'")
    assert memory["access_count"] == 0


def test_a_superseded_memory_that_an_agent_rewrites_is_active_again(after_a_night: Path) -> None:
    execute(after_a_night, "UPDATE memories SET content = 'edited' WHERE id = 'a'")
    with open_reading(after_a_night) as file:
        memory = read_memory(file, "a")
    assert (memory.status, memory.superseded_by, memory.superseded_at) == ("active", None, None)
    assert not rows(after_a_night, "SELECT 1 FROM synthesized_from WHERE source_id = 'a'")
    assert whole(after_a_night)


def test_duplicates_that_an_agent_rewrites_alike_are_merged_again(
    memory_file: Path, cli: Cli
) -> None:
    put(memory_file, a_memory("m-1", "Mila likes jazz."), a_memory("m-2", "Mila likes jazz!"))
    cli("maintain", memory_file).says("1 applied")
    execute(memory_file, "UPDATE memories SET content = replace(content, 'jazz', 'blues')")
    cli("maintain", memory_file).says("2 -> 1 memories", "1 applied")
    cli("undo", memory_file, "--yes").ends(0)
    assert {memory.status for memory in all_memories(memory_file)} == {"active"}


def test_undo_keeps_a_later_edit_of_a_superseded_text(after_a_night: Path) -> None:
    execute(after_a_night, "UPDATE memories SET content = 'edited' WHERE id = 'a'")
    undo(after_a_night)
    with open_reading(after_a_night) as file:
        memory = read_memory(file, "a")
    assert (memory.content, memory.status) == ("edited", "active")


def test_deleted_evidence_does_not_prevent_the_undo_of_its_rule(after_a_night: Path) -> None:
    execute(after_a_night, "DELETE FROM memories WHERE id = 'e'")
    undo(after_a_night)
    assert [memory.id for memory in all_memories(after_a_night)] == ["a", "b", "s", "t"]


def test_a_later_rule_can_be_undone_after_the_run_that_it_cites(after_a_night: Path) -> None:
    a_run(after_a_night, "run-2")
    with changing(after_a_night) as file:
        changes = by("p", file, "run-2")
        changes.add_memory(a_memory("late", "a later rule", generation=2))
        changes.add_lineage("late", texts("d"), "extract")
    decide(after_a_night, a_decision("run-2", "p"))
    undo(after_a_night)
    assert whole(after_a_night)
    sql = "SELECT source_content FROM synthesized_from"
    assert rows(after_a_night, sql) == [{"source_content": "text d"}]
    undo(after_a_night, "run-2")
    assert rows(after_a_night, sql) == []


def with_new_vectors(path: Path) -> None:
    """Replace the vectors of m-1 and m-2 as a run."""
    put(path, a_memory("m-1"), a_memory("m-2"))
    a_run(path)
    with changing(path) as file:
        store_vectors(file, "m", [("m-1", "h", VECTOR)], None)
        store_vectors(file, "m", [("m-2", "h", VECTOR)], "run-0")
        store_vectors(file, "m", [(item, "new", to_blob([1.0])) for item in ("m-1", "m-2")], RUN)


VECTORS = "SELECT memory_id, content_hash, run_id FROM embeddings ORDER BY memory_id"


@pytest.mark.parametrize(
    ("sql", "hashes"),
    [
        ("DELETE FROM memories WHERE id = 'm-1'", ["h"]),
        (
            "INSERT OR REPLACE INTO embeddings VALUES ('m-1', 'm', 1, x'0000803f', 'mine', NULL)",
            ["mine", "h"],
        ),
    ],
)
def test_undo_keeps_the_vectors_of_an_agent(memory_file: Path, sql: str, hashes: list[str]) -> None:
    with_new_vectors(memory_file)
    execute(memory_file, sql)
    undo(memory_file)
    assert [row["content_hash"] for row in rows(memory_file, VECTORS)] == hashes


@pytest.mark.parametrize("order", [("run-1", "run-2"), ("run-2", "run-1")])
def test_undo_restores_vectors_in_any_order(memory_file: Path, order: tuple[str, str]) -> None:
    with_new_vectors(memory_file)
    a_run(memory_file, "run-2")
    with changing(memory_file) as file:
        store_vectors(file, "m", [("m-1", "newest", to_blob([1.0]))], "run-2")
    for run in order:
        undo(memory_file, run)
    assert rows(memory_file, VECTORS) == [
        {"memory_id": "m-1", "content_hash": "h", "run_id": None},
        {"memory_id": "m-2", "content_hash": "h", "run_id": "run-0"},
    ]


def test_undo_does_not_restore_a_vector_of_an_undone_run(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"))
    for run in ("run-1", "run-2"):
        a_run(memory_file, run)
        with changing(memory_file) as file:
            store_vectors(file, "m", [("m-1", run, VECTOR)], run)
    undo(memory_file, "run-1")
    assert [row["run_id"] for row in rows(memory_file, VECTORS)] == ["run-2"]
    undo(memory_file, "run-2")
    assert rows(memory_file, VECTORS) == []


def steps_of_undo(folder: Path, count: int) -> int:
    """Return SQLite's steps to undo the first of two runs that each recomputed `count` vectors."""
    path = folder / f"{count}.db"
    create_file(path)
    ids = [f"m-{number}" for number in range(count)]
    put(path, *map(a_memory, ids))
    for run in ("run-1", "run-2"):
        a_run(path, run)
    with changing(path) as file:
        for run in (None, "run-1", "run-2"):
            store_vectors(file, "m", [(memory_id, str(run), VECTOR) for memory_id in ids], run)
    steps = []
    with open_writing(path) as file:
        file.conn.set_progress_handler(lambda: steps.append(1), 100)
        undo_runs(file, ["run-1"], LATER)
    return len(steps)


def test_the_work_of_an_undo_is_linear_in_its_vectors(tmp_path: Path) -> None:
    assert steps_of_undo(tmp_path, 400) < 3 * steps_of_undo(tmp_path, 200)


# ---- several runs, one after the other ----


def later_change(path: Path, memory: str, changes: dict[str, Any], run_id: str = "run-2") -> None:
    """Change a memory as a later run."""
    a_run(path, run_id)
    decide(path, a_decision(run_id, "p"))
    with changing(path) as file:
        by("p", file, run_id).update_memory(memory, changes)


def test_later_runs_are_undone_first(after_a_night: Path, the_day_before: dict[str, Any]) -> None:
    later_change(after_a_night, "d", {"content": "text d and more", "tags": '["x"]'})
    with pytest.raises(ChangedSince) as raised:
        undo(after_a_night)
    obstacles = raised.value.obstacles
    assert {(each.column, each.now, each.left) for each in obstacles} == {
        ("content", "text d and more", "text d"),
        ("tags", '["x"]', "[]"),
    }
    assert {(each.run, each.proposal) for each in obstacles} == {("run-2", "p")}
    assert raised.value.message == "2 later changes prevent the undo."
    assert all("Proposal p of run run-2 did that: undo it first." in e.why for e in obstacles)
    undo(after_a_night, "run-2")
    undo(after_a_night)
    assert picture(after_a_night, TABLES) == the_day_before


def test_undo_names_a_memory_that_passed_to_another_successor(after_a_night: Path) -> None:
    later_change(after_a_night, "e", {"status": "superseded", "superseded_by": "b"})
    execute(after_a_night, "DELETE FROM memories WHERE id = 'b'")
    with pytest.raises(ChangedSince) as raised:
        undo(after_a_night)
    assert {obstacle.why.partition(" An agent or ")[0] for obstacle in raised.value.obstacles} == {
        "Memory b was deleted after the run.",
        "Memory e was superseded by memory d after the run.",
    }


@pytest.mark.parametrize("is_undone", [True, False])
def test_an_edit_is_not_attributed_to_an_earlier_run(after_a_night: Path, is_undone: bool) -> None:
    later_change(after_a_night, "d", {"content": "by hand" if is_undone else "the run's"})
    if is_undone:
        undo(after_a_night, "run-2")
    execute(after_a_night, "UPDATE memories SET content = 'by hand' WHERE id = 'd'")
    with pytest.raises(ChangedSince, match="An agent or a person did that"):
        undo(after_a_night)


def test_undo_names_every_obstacle_at_once(after_a_night: Path) -> None:
    later_change(after_a_night, "s", {"importance": 5, "tags": '["x"]'})
    execute(after_a_night, "UPDATE memories SET content = 'edited' WHERE id = 'd'")
    execute(after_a_night, "DELETE FROM memories WHERE id = 'b'")
    with unchanged(picture, after_a_night, EVERYTHING), pytest.raises(ChangedSince) as raised:
        undo(after_a_night)
    assert {(each.row, each.column, each.run) for each in raised.value.obstacles} == {
        *(("s", "tags", "run-2"), ("d", "content", None), ("b", None, None))
    }


@pytest.mark.parametrize("order", [("run-1", "run-2"), ("run-2", "run-1")])
def test_undo_restores_timestamps_in_any_order(memory_file: Path, order: tuple[str, str]) -> None:
    put(memory_file, a_memory("m-1"))
    before = picture(memory_file, TABLES)
    a_run(memory_file)
    decide(memory_file, a_decision())
    with changing(memory_file) as file:
        by(PROPOSAL, file).update_memory("m-1", {"tags": '["x"]', "updated_at": LATER})
    later = "2026-03-12T03:00:00+00:00"
    later_change(memory_file, "m-1", {"status": "archived", "updated_at": later})
    undo(memory_file, order[0])
    (memory,) = rows(memory_file, "SELECT updated_at FROM memories")
    assert memory["updated_at"] == (LATER if order[0] == "run-2" else later)
    undo(memory_file, order[1])
    assert picture(memory_file, TABLES) == before


def test_a_later_merge_prevents_undo(after_a_night: Path, the_day_before: dict[str, Any]) -> None:
    # The later merge changed no column of s: what s is was already enough for e.
    a_run(after_a_night, "run-2")
    decide(after_a_night, a_decision("run-2", "p"))
    with changing(after_a_night) as file:
        changes = by("p", file, "run-2")
        changes.add_lineage("s", texts("e"), "merge")
        changes.supersede(texts("e"), "s")
    with pytest.raises(
        ChangedSince, match=r"Memory s absorbed memory e after the run\. Proposal p of run run-2"
    ):
        undo(after_a_night)
    undo(after_a_night, "run-2")
    undo(after_a_night)
    assert picture(after_a_night, TABLES) == the_day_before


def test_lineage_keeps_a_text_that_an_undo_reverts(memory_file: Path) -> None:
    put(memory_file, a_memory("d", "short"), a_memory("r"))
    later_change(memory_file, "d", {"content": "short and long"}, RUN)
    with changing(memory_file) as file:
        by("other", file).add_lineage("r", [a_memory("d", "short and long")], "extract")
    undo(memory_file)
    (edge,) = rows(memory_file, "SELECT source_content FROM synthesized_from")
    assert edge["source_content"] == "short and long"


def test_undo_does_not_restore_a_deleted_successor(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"), a_memory("old"), a_memory("new"))
    execute(memory_file, "UPDATE memories SET superseded_by = 'old' WHERE id = 'm-1'")
    later_change(memory_file, "m-1", {"superseded_by": "new"}, RUN)
    execute(memory_file, "DELETE FROM memories WHERE id = 'old'")
    undo(memory_file)
    (memory,) = rows(memory_file, "SELECT superseded_by FROM memories WHERE id = 'm-1'")
    assert memory["superseded_by"] is None


# ---- the journal itself ----


def test_a_journal_entry_contains_only_changed_columns(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1", "old"))
    a_run(memory_file)
    with changing(memory_file) as file:
        by(PROPOSAL, file).update_memory("m-1", {"content": "new", "importance": 3})
    (entry,) = rows(memory_file, "SELECT * FROM journal")
    assert (entry["sequence"], entry["proposal"], entry["table_name"]) == (1, PROPOSAL, "memories")
    assert json.loads(entry["row_key"]) == {"id": "m-1"}
    assert json.loads(entry["before"]) == {"content": "old", "content_hash": content_hash("old")}
    assert json.loads(entry["after"]) == {"content": "new", "content_hash": None}


def test_an_interrupted_undo_changes_nothing(after_a_night: Path) -> None:
    execute(
        after_a_night,
        "CREATE TRIGGER interrupting BEFORE UPDATE OF outcome ON runs "
        "BEGIN SELECT raise(ABORT, 'in the middle'); END",
    )
    raised = pytest.raises(Exception, match="in the middle")
    with unchanged(picture, after_a_night, EVERYTHING), raised:
        undo(after_a_night)
