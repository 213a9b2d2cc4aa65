"""Memories, vectors and names: writing and reading them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from builders import LATER, NOW, a_memory, all_memories, changing, put
from hypothesis import given
from hypothesis import strategies as st
from nights import execute, rows

from slowwave.store.ageing import restore_memory
from slowwave.store.check import check_file
from slowwave.store.entities import read_entities, read_memory_entities, store_entities
from slowwave.store.errors import Ambiguous, NotFound
from slowwave.store.file import open_reading, open_writing
from slowwave.store.memories import (
    Counts,
    count_memories,
    find_id,
    read_derived,
    read_memories,
    read_memory,
    read_observed,
    tenants,
)
from slowwave.store.records import new_id, timestamp
from slowwave.store.vectors import (
    from_blob,
    read_dimensions,
    read_memory_vectors,
    read_vectors,
    store_vectors,
    to_blob,
)

# ---- the values ----


@given(moments=st.tuples(*[st.datetimes(timezones=st.just(UTC))] * 2))
def test_times_sort_as_texts(moments: tuple[datetime, datetime]) -> None:
    first, second = moments
    assert (first < second) == (timestamp(first) < timestamp(second))


def test_new_ids_are_uuids_of_version_7_in_order_of_creation() -> None:
    ids = [new_id() for _ in range(1_000)]
    assert ids == sorted(set(ids))
    assert {UUID(item).version for item in ids} == {7}


# ---- memories ----


def test_memories_are_read_unchanged_and_ordered_by_id(memory_file: Path) -> None:
    memories = [a_memory(f"m-{number:04d}", f"text {number}") for number in range(1_200)]
    put(memory_file, *reversed(memories))
    assert all_memories(memory_file) == memories
    wanted = [memory.id for memory in memories[::-2]]
    with open_reading(memory_file) as file:
        assert list(read_memories(file, wanted)) == memories[1::2]
        assert list(read_memories(file, ["nobody"])) == []
        assert list(read_memories(file, [])) == []


def test_a_memory_is_found_by_a_unique_prefix_of_its_id(memory_file: Path) -> None:
    put(memory_file, a_memory("0193-aaaa"), a_memory("0193-aabb"), a_memory("0193"), a_memory("x"))
    with open_reading(memory_file) as file:
        assert read_memory(file, "0193-aaa").id == "0193-aaaa"
        assert find_id(file, "0193") == "0193"
        assert find_id(file, "x") == "x"
        with pytest.raises(Ambiguous, match="More than one memory"):
            find_id(file, "0193-")
        for unknown in ("0193-c", "019", "", "0193-%"):
            with pytest.raises(NotFound, match="There is no memory"):
                read_memory(file, unknown)


def test_observed_memories_are_neither_derived_nor_expired(memory_file: Path) -> None:
    put(
        memory_file,
        a_memory("active"),
        a_memory("gone", status="superseded", expires_at="2026-01-01T00:00:00+00:00"),
        a_memory("archived", status="archived"),
        a_memory("derived", generation=1),
        a_memory("gone too", generation=1, status="superseded"),
        a_memory("written by a run", origin="consolidation"),
        a_memory("other", tenant="other"),
        a_memory("ends later", expires_at=LATER),
        a_memory("ends now", expires_at=timestamp(NOW)),
    )
    with open_reading(memory_file) as file:
        observed = [memory.id for memory in read_observed(file, "default", timestamp(NOW))]
        assert observed == ["active", "ends later", "gone"]
        assert [memory.id for memory in read_derived(file, "default")] == ["derived"]
        archived = [memory.id for memory in read_memories(file, status="archived")]
        assert archived == ["archived"]


def test_memories_and_their_texts_are_counted_by_layer_and_tenant(memory_file: Path) -> None:
    put(
        memory_file,
        a_memory("a"),
        a_memory("b", layer="core"),
        a_memory("c", layer="core", status="superseded"),
        a_memory("d", status="expired"),
        a_memory("e", tenant="other", layer="stable"),
        a_memory("f", tenant="third"),
    )
    with open_reading(memory_file) as file:
        assert tenants(file) == ["default", "other", "third"]
        assert count_memories(file, ["default", "other"], lambda text: len(text.split())) == Counts(
            active=3,
            superseded=1,
            layers={"ephemeral": 0, "working": 1, "stable": 1, "core": 1},
            characters=3 * len("the deploy runs at noon"),
            tokens=3 * 5,
        )
        assert count_memories(file, [], len).active == 0


@pytest.mark.parametrize("status", ["superseded", "archived", "expired"])
@pytest.mark.parametrize(
    ("ends", "then"),
    [(None, None), ("2026-03-10 12:00:00", None), ("2099-01-01", "2099-01-01T00:00:00+00:00")],
)
def test_a_restored_memory_is_active_and_not_expired(
    memory_file: Path, status: str, ends: str | None, then: str | None
) -> None:
    old = a_memory("m-1", status=status, superseded_by="m-2", superseded_at=timestamp(NOW))
    put(memory_file, old, a_memory("m-2"))
    execute(memory_file, "UPDATE memories SET expires_at = ? WHERE id = 'm-1'", ends)
    with open_writing(memory_file) as file:
        restored = restore_memory(file, "m-1", LATER)
        assert read_memory(file, "m-1") == restored
        assert check_file(file).problems == ()
    assert restored == replace(a_memory("m-1"), status="active", expires_at=then, updated_at=LATER)


# ---- vectors ----

numbers = st.lists(
    st.floats(-(2.0**60), 2.0**60, width=32, allow_subnormal=False), min_size=1, max_size=8
).filter(lambda values: float(np.linalg.norm(np.array(values, np.float64))) > 1e-18)


@given(values=numbers)
def test_a_vector_is_kept_with_unit_length_and_its_direction(values: list[float]) -> None:
    stored = from_blob(to_blob(values)).astype(np.float64)
    exact = np.array(values, np.float64)
    assert float(np.linalg.norm(stored)) == pytest.approx(1.0, abs=1e-6)
    assert float(stored @ exact / np.linalg.norm(exact)) == pytest.approx(1.0, abs=1e-6)


@given(values=numbers)
def test_storing_a_vector_again_changes_no_bit(values: list[float]) -> None:
    blob = to_blob(values)
    assert to_blob(from_blob(blob)) == blob
    assert to_blob([float(value) for value in from_blob(blob)]) == blob


@pytest.mark.parametrize(
    "values",
    [[], [0.0], [0.0, -0.0], [float("nan"), 1.0], [float("inf")], [1e39], [1e-60, 0.0]],
    ids=str,
)
def test_a_vector_must_be_finite_and_not_zero(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite and not zero"):
        to_blob(values)


def test_a_vector_replaces_only_that_of_the_same_model(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"), a_memory("m-2", tenant="other"))
    with changing(memory_file) as file:
        store_vectors(file, "b", [("m-1", "h", to_blob([1, 0]))], None)
        store_vectors(file, "a", [("m-1", "h", to_blob([0, 1, 0]))], None)
        store_vectors(file, "b", [("m-1", "h2", to_blob([0, 1])), ("m-2", "h", b"\0" * 8)], None)
        vectors = [("a", "h", to_blob([0, 1, 0])), ("b", "h2", to_blob([0, 1]))]
        assert read_memory_vectors(file, "m-1") == vectors
        assert read_dimensions(file) == {"a": 3, "b": 2}
        assert list(read_vectors(file, "b", "default")) == [("m-1", "h2", to_blob([0, 1]))]


def test_a_deleted_memory_gets_no_vector(memory_file: Path) -> None:
    with changing(memory_file) as file:
        store_vectors(file, "m", [("nobody", "h", to_blob([1.0]))], "run-1")
        assert read_dimensions(file) == {}


# ---- names ----


def test_names_are_kept_by_memory_and_tenant(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"), a_memory("m-2"), a_memory("m-3", tenant="other"))
    with changing(memory_file) as file:
        store_entities(file, "default", "m-1", ["Bo", "Ada", "Bo"])
        store_entities(file, "default", "m-2", [])
        store_entities(file, "other", "m-3", ["Ada"])
        assert read_entities(file, "default") == {"m-1": ["Ada", "Bo"]}
        assert read_entities(file, "other") == {"m-3": ["Ada"]}
        assert read_memory_entities(file, "m-1") == ["Ada", "Bo"]
    assert len(rows(memory_file, "SELECT * FROM entities WHERE name = 'Ada'")) == 2
