"""Corrections of memories: what they change, what they must not, and their undo."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from builders import copy_of
from cli_calls import Cli
from counting import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from model_nights import a_writer
from model_server import Answer, Asked, answering, approval, groups
from nights import NOW, daily, execute, fill, night, picture, rows, states, unchanged
from reliability.histories import GIVEN_BACK, problems

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.planning.conflicts import current_conflicts
from slowwave.consolidation.running.corrections import Correction, Corrector
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.errors import StoreError
from slowwave.store.file import create_file, open_reading, open_writing
from slowwave.store.records import timestamp
from slowwave.store.undo.undo import undo_runs

PORTS = [f"The database listens on port {port}." for port in (5432, 5433)]
TEXTS = [*PORTS, PORTS[0].rstrip("."), "Ada is vegetarian.", "Ada is vegetarian."]
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def after_a_night(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Path:
    """Provide a file with a merge and a protected memory."""
    path = tmp_path_factory.mktemp("corrected") / "memory.db"
    create_file(path)
    fill(path, [*daily(TEXTS, "m"), *daily(["Tea, please."], "human", origin="human")])
    assert len(night(path, embedder).results) == 2
    return path


WORDS = st.tuples(
    st.sampled_from(["correct", "correct both", "keep", "both", "pin", "unpin", "retract"]),
    st.integers(0, 9),
    st.integers(0, 9),
)


def give(corrector: Corrector, way: str, first: str, second: str) -> Correction:
    match way:
        case "correct":
            return corrector.correct([first], "Something else.")
        case "correct both":
            return corrector.correct([first, second], PORTS[1])
        case "keep":
            return corrector.keep(first, [second])
        case "both":
            return corrector.allow([(first, second)])
        case "retract":
            return corrector.retract(first)
        case _:
            return corrector.pin(first, way == "pin")


@settings(max_examples=examples(20))
@given(words=st.lists(WORDS, min_size=1, max_size=6))
def test_corrections_undone_in_reverse_restore_every_row(
    words: list[tuple[str, int, int]], after_a_night: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = copy_of(after_a_night, tmp_path_factory.mktemp("words") / "copy.db")
    done: list[tuple[str, dict[str, list[dict[str, object]]]]] = []
    for index, (way, *numbers) in enumerate(words):
        active = [row["id"] for row in rows(path, "SELECT id FROM memories WHERE status='active'")]
        first, second = (active[number % len(active)] for number in numbers)
        before = picture(path, GIVEN_BACK)
        with open_writing(path) as file:
            corrector = Corrector(file, NOW + (index + 1) * DAY)
            try:
                done.append((give(corrector, way, first, second).run_id, before))
            except StoreError:
                assert picture(path, GIVEN_BACK) == before
        assert problems(path) == []
    for run_id, before in reversed(done):
        with open_writing(path) as file:
            undo_runs(file, [run_id], timestamp(NOW + 30 * DAY))
        assert picture(path, GIVEN_BACK) == before


def test_a_persons_correction_keeps_history(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, daily([PORTS[0], PORTS[0]], "m", kind="preference", tags=["db"]))
    with AgentMemory(memory_file, embedder=embedder, clock=lambda: NOW) as memory:
        done = memory.correct("m-00", PORTS[1], by="human")
        assert done.memory is not None
        assert (done.memory.trust, done.memory.kind) == (1.0, "preference")
        assert done.memory.tags == ("db",)
        assert {memory.id for memory in done.removed} == {"m-00", "m-01"}
        # An agent repeats the old value, and may not have its way.
        memory.add(PORTS[0], observed_at=timestamp(NOW + DAY))
        memory.add(f"User said that t{PORTS[1][1:]}")
        memory.consolidate()
        with pytest.raises(StoreError, match="an agent may not change it"):
            memory.correct(done.memory.id, PORTS[0])
        assert done.memory.id in {hit.memory.id for hit in memory.recall("database port")}
        (was, *_) = memory.recall("database port", as_of=NOW - DAY)
        (now, *_) = memory.recall("database port", as_of=NOW)
        assert (was.memory.content, now.memory.content) == (PORTS[0], PORTS[1])
        assert memory.consolidate().run_id is None


@pytest.mark.parametrize("named", ["m-00", "m-01"])
def test_a_correction_supersedes_every_spelling(named: str, memory_file: Path) -> None:
    texts = ["Ann has the pager.", "ann has  the pager", "Ann has the pager, Bo not."]
    fill(memory_file, [*daily(texts, "m"), *daily(["!!!", "User said: Bo has the pager."], "n")])
    with AgentMemory(memory_file) as memory:
        done = memory.correct(named, "Bo has the pager.")
        assert {memory.id for memory in done.removed} == {"m-00", "m-01"}


def test_retract_names_derived_memories(memory_file: Path) -> None:
    fill(memory_file, daily(["Wiki runs on port 8080.", "Ada set the wiki up on port 8080."], "m"))
    cited_at = "2026-03-01T00:00:00.000000+00:00"
    merged = "status = 'superseded', superseded_by = 'm-01', superseded_at = ?"
    execute(memory_file, f"UPDATE memories SET {merged} WHERE id = 'm-00'", cited_at)
    edge = "INSERT INTO synthesized_from VALUES ('m-01', 'm-00', 'merge', 'r', 'h', NULL, ?)"
    execute(memory_file, edge, cited_at)
    with AgentMemory(memory_file) as memory:
        with pytest.raises(StoreError, match="superseded by memory m-01"):
            memory.retract("m-00")
        execute(memory_file, "UPDATE memories SET status = 'active', superseded_by = NULL")
        assert [each.id for each in memory.retract("m-00").derived] == ["m-01"]


@pytest.mark.parametrize("way", ["both", "keep"])
def test_a_settled_conflict_stays_settled(
    way: str, memory_file: Path, embedder: SentenceEmbedder
) -> None:
    causes = ["The cause of the outage was a disk.", "An expired certificate caused the outage."]
    fill(memory_file, daily([*PORTS, *causes, "The outage was on 8 March."], "m"))

    def name_conflict(asked: Asked) -> Answer:
        return groups(conflicts=[[shown.id for shown in asked.memories if "cause" in shown.text]])

    naming = answering(name_conflict, approval)

    def listed() -> set[tuple[str, str]]:
        with open_reading(memory_file) as file:
            return {each.sources for each in current_conflicts(file, (), timestamp(NOW))}

    with a_writer(naming) as writer:
        night(memory_file, embedder, writer=writer)
    pairs = {("m-00", "m-01"), ("m-02", "m-03")}
    assert listed() == pairs
    done = []
    for pair in pairs:
        with open_writing(memory_file) as file:
            corrector = Corrector(file, NOW)
            # The earlier value is right.
            done.append(give(corrector, way, *pair).run_id)
    assert listed() == set()
    fill(memory_file, daily(["The outage of 8 March took two hours."], "late", 20))
    with a_writer(naming) as writer:
        assert night(memory_file, embedder, writer=writer, now=NOW + DAY).conflicts == ()
    assert listed() == set()
    with open_writing(memory_file) as file:
        undo_runs(file, done, timestamp(NOW + 2 * DAY))
    assert listed() == pairs


@pytest.mark.parametrize("options", [("--text", "The host is pg-8."), ("--retract",)])
def test_a_merge_is_undone_only_after_the_correction_of_its_result(
    memory_file: Path, cli: Cli, options: tuple[str, ...]
) -> None:
    fill(memory_file, daily(["The host is pg-7."] * 3, "host"))
    merging = cli("maintain", memory_file, "--json").ends(0).json["run"]
    before = picture(memory_file, ["memories"])
    (survivor,) = (memory for memory, status in states(memory_file).items() if status == "active")
    correcting = cli("correct", memory_file, survivor, *options, "--json").ends(0).json["run"]
    with unchanged(picture, memory_file, ["memories"]):
        reason = f"Memory {survivor}, which superseded memory"
        cli("undo", memory_file, merging, "--yes").ends(1, reason, f"run {correcting} did that")
    cli("undo", memory_file, correcting, "--yes").ends(0)
    assert picture(memory_file, ["memories"]) == before
    cli("undo", memory_file, merging, "--yes").ends(0)
    assert set(states(memory_file).values()) == {"active"}


def test_keep_decides_what_is_recalled(memory_file: Path, embedder: SentenceEmbedder) -> None:
    fill(memory_file, daily(PORTS, "m"))
    with open_writing(memory_file) as file:
        Corrector(file, NOW).keep("m-00", ["m-01"])
    with AgentMemory(memory_file, embedder=embedder, clock=lambda: NOW + DAY) as memory:
        for as_of in (None, NOW + DAY):
            hits = memory.recall("database port", as_of=as_of)
            assert [hit.memory.content for hit in hits] == [PORTS[0]]


NEAR = [
    (PORTS[1], PORTS[0], "contradiction", "5433 vs. 5432"),
    ("Ada is not vegetarian any more.", "Ada is vegetarian.", "contradiction", "denies"),
    ("the database listens on port 5432", PORTS[0], "duplicate", "the same"),
    ("Whales sing at night.", PORTS[0], None, ""),
    (
        "The staging database runs on host pg-8.",
        "The staging database runs on host pg-9.",
        None,
        "",
    ),
    ("The logs of billing are in /var/log/a.", "The logs of billing are in /var/log/b.", None, ""),
    ("Use v1.2 of the client.", "Use v1.3 of the client.", None, ""),
    ("Ann pays Bo.", "Bo pays Ann.", None, ""),
    (f"{PORTS[0]} It is backed up.", PORTS[0], None, ""),
    ("The database listens on port 5432 and is backed up at 02:30.", "It rains.", None, ""),
]


@pytest.mark.parametrize(("stored", "text", "relation", "why"), NEAR)
def test_similar_memories_are_named_with_their_relation(
    stored: str, text: str, relation: str | None, why: str, memory_file: Path
) -> None:
    with AgentMemory(memory_file) as memory:
        memory.add(stored)
        memory.add("The harbour master waves at every ferry.")
        similar = memory.similar(text)
    assert [each.relation for each in similar] == ([relation] if relation else [])
    assert all(why in each.why and each.memory.content == stored for each in similar)


def test_lines_of_a_log_contradict_no_new_line(memory_file: Path) -> None:
    fill(memory_file, [f"The nightly backup took {number} minutes." for number in range(1, 50)])
    with AgentMemory(memory_file) as memory:
        assert memory.similar("The nightly backup took 77 minutes.") == []
        (similar,) = memory.similar("The nightly backup took 7 minutes.")
    assert similar.relation == "duplicate"
