"""A tenant that does not fit into memory is refused before it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.consolidation.running.memory_limit import (
    MEMORIES_WITH_ROOM,
    NoRoom,
    free_in_group,
    free_memory,
    refuse_too_many,
    refuse_without_room,
)
from slowwave.store.errors import StoreError
from slowwave.store.file import open_writing


def test_a_tenant_that_does_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(StoreError, match=r"10,000,000 active .* GB is free") as refused:
        refuse_too_many({"everyone": 10_000_000, "a": 1}, 16_000_000_000)
    assert "Split it into tenants" in refused.value.hint
    with pytest.raises(StoreError, match=r"3 tenants have 1,500,000 active") as refused:
        refuse_too_many(dict.fromkeys("abc", 500_000), 16_000_000_000)
    assert "Process some of the tenants at a time" in refused.value.hint
    refuse_too_many(dict.fromkeys("abc", 100_000), 16_000_000_000)
    free = free_memory()
    assert free is None or free > 0


def test_only_tenants_that_are_read_need_memory(memory_file: Path) -> None:
    with open_writing(memory_file) as file, file.transaction():
        file.conn.execute(
            "INSERT INTO memories (content, tenant) WITH RECURSIVE n(i) AS "
            "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= ?) "
            "SELECT i || hex(zeroblob(500)), 'large' FROM n",
            [MEMORIES_WITH_ROOM],
        )
    # Shared with so many that nothing is left.
    crowd = 10**9
    with pytest.raises(NoRoom, match="The tenant 'large' has 20,001 active"):
        refuse_without_room(memory_file, (), (), crowd)
    refuse_without_room(memory_file, ["default"], (), crowd)
    refuse_without_room(memory_file, (), {"large"}, crowd)


def test_the_file_cache_of_a_container_is_free(tmp_path: Path) -> None:
    (tmp_path / "memory.current").write_text("950\n")
    (tmp_path / "memory.stat").write_text("anon 150\ninactive_file 800\n")
    (tmp_path / "memory.max").write_text("1000\n")
    assert free_in_group(tmp_path) == 850
    (tmp_path / "memory.max").write_text("max\n")
    assert free_in_group(tmp_path) is None
