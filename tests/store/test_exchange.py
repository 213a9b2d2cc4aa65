"""Export and import of memories as JSON lines."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import (
    LATER,
    NOW,
    a_line,
    a_memory,
    a_run,
    all_memories,
    changing,
    copy_of,
    made_once,
    put,
    take_in,
    whole,
)
from counting import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from nights import execute, picture, rows, unchanged

from slowwave.store.check import check_file
from slowwave.store.entities import read_memory_entities, store_entities
from slowwave.store.errors import InvalidLine
from slowwave.store.exchange import export_lines, import_lines, new_memory
from slowwave.store.file import create_file, open_reading, open_writing
from slowwave.store.lineage import add_edges
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import Memory, timestamp
from slowwave.store.vectors import store_vectors, to_blob


def exported(path: Path, everything: bool = True) -> list[bytes]:
    with open_reading(path) as file:
        return [line.encode() for line in export_lines(file, everything)]


def imported(path: Path, lines: list[bytes]) -> Path:
    """Import lines into a new file."""
    create_file(path)
    take_in(path, *lines)
    return path


def contents_of(path: Path) -> dict[str, Any]:
    """Return what an export must contain, as agents see it."""
    with open_reading(path) as file:
        names = {memory.id: read_memory_entities(file, memory.id) for memory in all_memories(path)}
        problems = check_file(file).problems
    return {
        "memories": all_memories(path),
        "names": names,
        "vectors": rows(
            path, "SELECT memory_id, model, dimensions, vector FROM embeddings ORDER BY 1, 2"
        ),
        "lineage": rows(path, "SELECT * FROM synthesized_from ORDER BY derived_id, source_id"),
        "problems": problems,
    }


# Any text in UTF-8.
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
# Without NUL, which ends a name in many programs.
names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
)
moments = st.datetimes(
    min_value=NOW.replace(year=2, tzinfo=None),
    max_value=NOW.replace(year=9998, tzinfo=None),
    timezones=st.timezones(),
).map(timestamp)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
metadata = st.dictionaries(texts, scalars | st.lists(scalars, max_size=3), max_size=3)


@st.composite
def vectors(draw: st.DrawFn, dimensions: int) -> bytes:
    numbers = draw(st.lists(finite, min_size=dimensions, max_size=dimensions))
    if not 1e-30 < float(np.linalg.norm(np.array(numbers, np.float64))) < 1e38:
        numbers[0] = 1.0
        numbers[1:] = [-0.0] * (dimensions - 1)
    return to_blob(numbers)


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    """Return memories with vectors of two models, names, and edges to memories and gone ones."""
    ids = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    memories = [
        Memory(
            id=memory_id,
            tenant="default",
            content=(text := draw(texts)),
            kind=draw(st.sampled_from(["fact", "preference", "instruction", "context"])),
            layer=draw(st.sampled_from(["ephemeral", "working", "stable", "core"])),
            status=draw(st.sampled_from(["active", "superseded", "archived", "expired"])),
            origin=draw(st.sampled_from(["human", "agent", "consolidation"])),
            trust=draw(st.floats(0, 1)),
            importance=draw(st.integers(1, 5)),
            pinned=draw(st.booleans()),
            generation=draw(st.integers(0, 3)),
            source=draw(st.none() | st.just("") | texts),
            session=draw(st.none() | texts),
            tags=tuple(draw(st.lists(texts | st.just(""), max_size=3))),
            metadata=draw(metadata),
            content_hash=a_memory("any", text).content_hash,
            access_count=draw(st.integers(0, 2**63 - 1)),
            observed_at=draw(moments),
            created_at=draw(moments),
            updated_at=draw(moments),
            accessed_at=draw(st.none() | moments),
            expires_at=draw(st.none() | moments),
            superseded_by=draw(st.sampled_from([None, *ids[place:]])),
            superseded_at=draw(st.none() | moments),
        )
        for place, memory_id in enumerate(ids, start=1)
    ]
    pairs = st.tuples(st.sampled_from(ids), st.sampled_from([*ids, "gone"]))
    return {
        "memories": memories,
        "vectors": {
            model: [
                (memory.id, memory.content_hash, draw(vectors(dimensions)))
                for memory in memories
                if draw(st.booleans())
            ]
            for model, dimensions in (("small", 3), ("large", 5))
        },
        "names": [(memory_id, draw(st.lists(names, max_size=3))) for memory_id in ids],
        "edges": [
            {
                "derived_id": derived,
                "source_id": source,
                "operation": draw(st.sampled_from(["merge", "synthesize", "extract"])),
                "run_id": draw(texts),
                "source_hash": draw(texts),
                "source_content": draw(texts) if source == "gone" else None,
                "created_at": draw(moments),
            }
            for derived, source in draw(st.sets(pairs, max_size=4))
        ],
    }


@settings(max_examples=examples(40))
@given(held=contents())
def test_an_export_of_everything_is_reversible(held: dict[str, Any], empty_file: Path) -> None:
    path, copied = (empty_file.with_name(f"{name}.db") for name in ("exported", "imported"))
    for each in (path, copied):
        copy_of(empty_file, each)
    put(path, *held["memories"])
    with changing(path) as file:
        for model, entries in held["vectors"].items():
            store_vectors(file, model, entries, run_id=None)
        for memory_id, names in held["names"]:
            store_entities(file, "default", memory_id, names)
        add_edges(file, held["edges"])
    lines = exported(path)
    take_in(copied, *lines)
    assert contents_of(copied) == contents_of(path)
    assert contents_of(copied)["memories"] == sorted(
        held["memories"], key=lambda item: item.id.encode()
    )
    assert exported(copied) == lines


def test_an_export_is_ordered_by_id_and_omits_defaults(memory_file: Path) -> None:
    put(memory_file, a_memory("m-2"), a_memory("m-1", tags=("a",)))
    lines = [json.loads(line) for line in exported(memory_file)]
    output = {"content": "the deploy runs at noon", "tenant": "default"}
    output |= dict.fromkeys(("created_at", "observed_at", "updated_at"), timestamp(NOW))
    assert lines == [{"id": "m-1", "tags": ["a"], **output}, {"id": "m-2", **output}]


def supersede_and_derive(path: Path) -> None:
    """Store that m-3 supersedes m-1 and m-2, and that m-3 and m-4 are evidence of the rule r-1."""
    ids = {"m-1": "first text", "m-2": "second text", "m-4": "evidence"}
    first, second, evidence = (a_memory(*item) for item in ids.items())
    both = a_memory("m-3", "both texts", generation=1, origin="consolidation", layer="stable")
    rule = a_memory("r-1", "a rule", generation=2, origin="consolidation", layer="core")
    put(path, first, second, both, evidence, rule)
    a_run(path)
    with changing(path) as file:
        changes = ProposalChanges(file, "run-1", "p", LATER)
        changes.supersede([first, second], "m-3")
        changes.add_lineage("m-3", [first, second], "synthesize")
        changes.add_lineage("r-1", [both, evidence], "extract")


def test_an_export_carries_the_texts_of_absent_sources(memory_file: Path, tmp_path: Path) -> None:
    supersede_and_derive(memory_file)
    copied = imported(tmp_path / "other.db", exported(memory_file, everything=False))
    assert [memory.id for memory in all_memories(copied)] == ["m-3", "m-4", "r-1"]
    edges = rows(copied, "SELECT derived_id, source_id, source_content FROM synthesized_from")
    assert [tuple(edge.values()) for edge in edges] == [
        *(("m-3", "m-1", "first text"), ("m-3", "m-2", "second text")),
        *(("r-1", "m-3", None), ("r-1", "m-4", None)),
    ]
    assert contents_of(copied)["problems"] == ()


def test_an_export_omits_an_absent_successor(memory_file: Path, tmp_path: Path) -> None:
    supersede_and_derive(memory_file)
    execute(memory_file, "UPDATE memories SET status = 'active' WHERE id = 'm-1'")
    execute(memory_file, "UPDATE memories SET status = 'archived' WHERE id = 'm-3'")
    copied = imported(tmp_path / "other.db", exported(memory_file, everything=False))
    successors = {memory.id: memory.superseded_by for memory in all_memories(copied)}
    assert successors == dict.fromkeys(("m-1", "m-4", "r-1"))


def test_an_outdated_vector_is_not_exported(memory_file: Path, tmp_path: Path) -> None:
    take_in(
        memory_file,
        a_line(id="m-1", embedding=[1.0, 0.0], embedding_model="m"),
        a_line(id="m-2", embedding=[0.0, 1.0], embedding_model="m"),
    )
    execute(memory_file, "UPDATE memories SET content = 'another text' WHERE id = 'm-1'")
    copied = imported(tmp_path / "other.db", exported(memory_file))
    assert rows(copied, "SELECT memory_id FROM embeddings") == [{"memory_id": "m-2"}]


def test_an_export_contains_unusual_metadata_as_json(memory_file: Path) -> None:
    sql = "INSERT INTO memories (content, metadata) VALUES ('x', ?)"
    execute(memory_file, sql, '{"half": "\\ud83d", "n": 1.0}')
    assert json.loads(exported(memory_file)[0])["metadata"] == {"half": "\ud83d", "n": 1.0}


def test_a_line_needs_only_its_content(memory_file: Path) -> None:
    assert take_in(memory_file, b'{"content": "a"}', b"", b"  \n", b'{"content": "b"}\n') == (2, [])
    first, second = all_memories(memory_file)
    assert (first.content, second.content) == ("a", "b")
    moment = timestamp(NOW)
    assert first == replace(a_memory(first.id, "a"), observed_at=moment, updated_at=moment)


def test_an_import_converts_times_to_utc_and_keeps_names(memory_file: Path) -> None:
    moments = {
        "observed_at": "2026-03-01T10:00:00+02:00",
        "created_at": "2026-03-02T10:00:00Z",
        "updated_at": "2026-03-03T10:00:00.25+00:00",
        "accessed_at": "2026-03-04T10:00:00-05:30",
        "expires_at": "2026-03-05 10:00:00+00:00",
    }
    take_in(memory_file, a_line(id="m-1", entities=["Ada", "billing"], trust=1, **moments))
    (memory,) = all_memories(memory_file)
    assert vars(memory) == vars(a_memory("m-1", trust=1.0)) | {
        "observed_at": "2026-03-01T08:00:00+00:00",
        "created_at": "2026-03-02T10:00:00+00:00",
        "updated_at": "2026-03-03T10:00:00.250000+00:00",
        "accessed_at": "2026-03-04T15:30:00+00:00",
        "expires_at": "2026-03-05T10:00:00+00:00",
    }
    with open_reading(memory_file) as file:
        assert read_memory_entities(file, "m-1") == ["Ada", "billing"]


def test_missing_times_default_to_created_at(memory_file: Path) -> None:
    take_in(memory_file, a_line(created_at="2026-01-01T00:00:00Z"))
    (memory,) = all_memories(memory_file)
    assert memory.observed_at == memory.updated_at == "2026-01-01T00:00:00+00:00"


EDGE = {"source_id": "s", "operation": "merge", "run_id": "r", "source_hash": "h"}
EDGE |= {"created_at": "2026-03-01T00:00:00Z"}
BAD_LINES: dict[str, tuple[bytes, str]] = {
    "broken JSON": (b'{"content": "x"', "is not valid JSON"),
    "no UTF-8": (b'{"content": "\xff"}', "is not valid JSON"),
    "blank": (b'{"content": " \\n"}', "its text is blank"),
    "lone surrogate": (b'{"content": "\\ud83d"}', "is not valid JSON"),
    "deep metadata": (b'{"content": "x", "metadata": ' + b'{"a":' * 999, "nested too deeply"),
    "deep history": (b'{"table": "runs", "row": ' + b"[" * 99_999, "nested too deeply"),
    "list": (b'["x"]', "it must be an object"),
    "missing content": (b"{}", "'content' is missing"),
    "empty content": (a_line(""), "content must have at least 1 character"),
    "unknown field": (a_line(colour="blue"), "unknown key 'colour'"),
    "repeated key": (
        b'{"content": "First.", "content": "Second."}',
        "key 'content' is in it twice",
    ),
    "content_hash": (a_line(content_hash="h"), "its text is damaged"),
    "empty id": (a_line(id=""), "id must have"),
    "NUL in id": (a_line(id="\x00"), "id: contains a NUL character"),
    "empty tenant": (a_line(tenant=""), "tenant"),
    "bad kind": (a_line(kind="rule"), "kind must be 'fact', 'preference'"),
    "trust too high": (a_line(trust=1.01), "trust must be less than or equal to 1"),
    "trust text": (a_line(trust="0.5"), "trust must be a valid number"),
    "importance 0": (a_line(importance=0), "importance"),
    "pinned number": (a_line(pinned=1), "pinned must be a valid boolean"),
    "tag number": (a_line(tags=["a", 1]), "tags.1 must be a valid string"),
    "metadata NaN": (b'{"content": "x", "metadata": {"a": [NaN]}}', "metadata: contains a number"),
    "naive time": (a_line(observed_at="2026-03-01T10:00:00"), "observed_at must be an ISO 8601"),
    "no such day": (a_line(expires_at="2026-02-30T10:00:00Z"), "expires_at must be"),
    "before all time": (a_line(observed_at="0001-01-01T00:00:00+05:00"), "observed_at must be"),
    "empty name": (a_line(entities=["Ada", ""]), "entities.1 must have"),
    "access_count": (a_line(access_count=2**63), "access_count"),
    "embedding alone": (a_line(embedding=[1.0]), "embedding_model must be given together"),
    "zero embedding": (a_line(embedding=[0, 0], embedding_model="n"), "finite and not zero"),
    "NaN embedding": (
        b'{"content": "x", "embedding": [1, NaN], "embedding_model": "n"}',
        "embedding.1 must be a finite number",
    ),
    "huge embedding": (a_line(embedding=[1e39, 1], embedding_model="n"), "finite and not zero"),
    "other dimensions than the file": (
        a_line(embedding=[1.0], embedding_model="filed"),
        "the embedding has 1 dimensions, but filed has 2 in this file",
    ),
    "other dimensions than a line before": (
        a_line(embedding=[1.0], embedding_model="lined"),
        "the embedding has 1 dimensions, but lined has 3 in this file",
    ),
    "other dimensions of a second model": (
        a_line(more_embeddings=[{"model": "filed", "vector": [1.0]}]),
        "but filed has 2 in this file",
    ),
    "id of the file": (a_line(id="filed"), "a memory with this id already exists: filed"),
    "id of a line before": (a_line(id="lined"), "a memory with this id already exists: lined"),
    "successor that is nowhere": (a_line(superseded_by="nobody"), "superseded by nobody"),
    "itself as its successor": (
        a_line(id="circular", superseded_by="circular"),
        "superseded by circular, which is missing, left out or superseded by it",
    ),
    "edge without a source": (a_line(synthesized_from=[EDGE | {"source_id": ""}]), "source_id"),
    "edge of no operation": (a_line(synthesized_from=[EDGE | {"operation": "copy"}]), "operation"),
}


@made_once
def with_one_memory(path: Path) -> None:
    take_in(path, a_line(id="filed", embedding=[1.0, 0.0], embedding_model="filed"))


_LINED = a_line(id="lined", embedding=[1.0, 0.0, 0.0], embedding_model="lined")
GOOD_LINES = (_LINED, a_line(id="fine"))


@pytest.mark.parametrize("kind", ["broken JSON", "empty content", "id of the file"])
def test_an_invalid_line_stops_the_import(with_one_memory: Path, kind: str) -> None:
    line, reason = BAD_LINES[kind]
    with unchanged(picture, with_one_memory):
        with pytest.raises(InvalidLine) as raised:
            take_in(with_one_memory, *GOOD_LINES, b"", line, a_line(id="after"))
        assert raised.value.message.startswith("Line 4 is not valid: ")
        assert reason in raised.value.message
        assert raised.value.message.endswith("Nothing was imported.")
        assert "--skip-invalid" in raised.value.hint


def test_invalid_lines_can_be_skipped(with_one_memory: Path) -> None:
    lines = (*GOOD_LINES, *(line for line, _ in BAD_LINES.values()), a_line(id="after"))
    added, skipped = take_in(with_one_memory, *lines, skip_invalid=True)
    assert added == 3
    assert [skip.line for skip in skipped] == [*range(3, 3 + len(BAD_LINES))]
    for skip, (_, reason) in zip(skipped, BAD_LINES.values(), strict=True):
        assert reason in skip.reason
    ids = [memory.id for memory in all_memories(with_one_memory)]
    assert ids == ["after", "filed", "fine", "lined"]


def test_lines_superseded_by_a_skipped_line_are_skipped(memory_file: Path) -> None:
    gone = {"status": "superseded"}
    added, skipped = take_in(
        memory_file,
        a_line(id="m-1", superseded_by="m-2", **gone),
        a_line(id="m-2", superseded_by="m-3", **gone),
        a_line("", id="m-3"),
        a_line(id="m-4", superseded_by="m-5", **gone),
        a_line(id="m-5"),
        a_line(id="m-6", superseded_by="m-7", **gone),
        a_line(id="m-7", superseded_by="m-6", **gone),
        a_line(id="m-8", superseded_by="m-6", **gone),
        skip_invalid=True,
    )
    assert (added, [skip.line for skip in skipped]) == (2, [1, 2, 3, 6, 7, 8])
    successors = [(memory.id, memory.superseded_by) for memory in all_memories(memory_file)]
    assert successors == [("m-4", "m-5"), ("m-5", None)]


def test_a_successor_may_already_be_in_the_file(memory_file: Path) -> None:
    take_in(memory_file, a_line(id="m-2"))
    assert take_in(memory_file, a_line(id="m-1", superseded_by="m-2")) == (1, [])


def test_a_skipped_line_reserves_neither_id_nor_dimensions(memory_file: Path) -> None:
    added, skipped = take_in(
        memory_file,
        a_line(id="m-1", embedding=[0.0], embedding_model="m"),
        a_line(id="m-1", embedding=[1.0, 0.0], embedding_model="m"),
        skip_invalid=True,
    )
    assert (added, [skip.line for skip in skipped]) == (1, [1])


def test_names_that_earlier_versions_found_are_not_imported(memory_file: Path) -> None:
    scan = {"memory_id": "m-1", "content_hash": "h", "run_id": "r"}
    run = {"id": "r", "started_at": timestamp(NOW), "version": "1", "options": "{}"}
    entry = {"run_id": "r", "sequence": 1, "proposal": "", "table_name": "entity_scans"}
    entry |= {"row_key": '{"memory_id":"m-1"}', "before": None, "after": json.dumps(scan)}
    history = {"runs": run, "journal": entry, "entity_scans": scan}
    take_in(
        memory_file,
        a_line(id="m-1"),
        *(json.dumps({"table": name, "row": row}).encode() for name, row in history.items()),
    )
    assert rows(memory_file, "SELECT id FROM runs") == [{"id": "r"}]
    assert whole(memory_file)


def test_a_repeated_edge_is_imported_once(memory_file: Path) -> None:
    take_in(memory_file, a_line(id="m-1", synthesized_from=[EDGE, EDGE | {"run_id": "other"}]))
    (edge,) = rows(memory_file, "SELECT source_id, run_id FROM synthesized_from")
    assert edge == {"source_id": "s", "run_id": "r"}


def test_a_source_that_fails_halfway_changes_nothing(memory_file: Path) -> None:
    def failing() -> Iterator[bytes]:
        yield from (a_line() for _ in range(2_500))
        raise OSError("the pipe broke")

    with open_writing(memory_file) as file, pytest.raises(OSError, match="the pipe broke"):
        import_lines(file, failing(), NOW)
    assert all_memories(memory_file) == []


def test_an_import_streams_its_lines(memory_file: Path) -> None:
    count, text = 10_000, "x" * 2_000
    read = 0
    ahead: list[int] = []

    def lines() -> Iterator[bytes]:
        nonlocal read
        for number in range(count):
            read = number + 1
            yield a_line(f"{number} {text}", id=f"m-{number}")

    with open_writing(memory_file) as file:
        import_lines(file, [a_line()], NOW)  # what is loaded once is not counted
        tracemalloc.start()
        added, _ = import_lines(file, lines(), NOW, progress=lambda done: ahead.append(read - done))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert added == count
    assert len(ahead) >= 10
    assert set(ahead) == {0}
    assert peak < count * len(text) / 2


def test_new_memory_validates_like_a_line() -> None:
    memory = new_memory({"content": "the deploy runs at noon", "tags": ["a"]}, NOW)
    assert (memory.tags, memory.created_at) == (("a",), timestamp(NOW))
    for fields, reason in (
        ({"content": ""}, "content must have at least 1 character"),
        ({"content": "\udcff"}, "a text has half of a surrogate pair"),
        ({"content": "x", "trust": 2}, "trust must be less than or equal to 1"),
        ({"content": "x", "metadata": {"at": {1}}}, "a set cannot be stored"),
    ):
        with pytest.raises(InvalidLine, match=f"This memory is not valid: {reason}"):
            new_memory(fields, NOW)
