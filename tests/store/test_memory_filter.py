"""One filter for lists and searches."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nights import execute

from slowwave.store.file import open_reading
from slowwave.store.memories import list_memories
from slowwave.store.memory_filter import Filter

# As other programs write times: with a space, with an offset, on a day's edges.
TIMES = (
    "2026-03-01 09:00:00",
    "2026-03-01T23:59:59.999999+00:00",
    "2026-03-02T00:30:00+02:00",
    "2026-03-02",
)
BOUNDS = ("2026-03-01T00:00:00+00:00", "2026-03-01T23:59:59.999999+00:00")


def chosen(*names: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(names), max_size=2, unique=True).map(tuple)


FILTERS = st.builds(
    Filter,
    chosen("default", "sales"),
    chosen("fact", "preference"),
    chosen("working", "core"),
    chosen("deploy", 'a "quoted" tag'),
    chosen("monday", "it's"),
    st.none() | st.sampled_from(BOUNDS),
    st.none() | st.sampled_from(BOUNDS),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(wanted=FILTERS)
def test_a_list_and_a_search_apply_the_same_filter(wanted: Filter, memory_file: Path) -> None:
    with open_reading(memory_file) as file:
        empty = list_memories(file, Filter(), None, None, 1)[0] == 0
    for number in range(16 if empty else 0):
        execute(
            memory_file,
            "INSERT INTO memories (content, tenant, kind, layer, tags, session, observed_at) "
            "VALUES ('x', ?, ?, ?, ?, ?, ?)",
            ("default", "sales")[number % 2],
            ("fact", "preference")[number // 2 % 2],
            ("working", "core")[number // 4 % 2],
            ('["deploy", "b"]', '["a \\"quoted\\" tag"]', "[]")[number % 3],
            ("monday", "it's", None)[number // 3 % 3],
            TIMES[number // 2 % 4],
        )
    with open_reading(memory_file) as file:
        _, memories = list_memories(file, Filter(), None, None, 100)
        count, listed = list_memories(file, wanted, None, None, 100)
    expected = [memory.id for memory in memories if wanted.matches(memory)]
    assert [memory.id for memory in listed] == expected
    assert count == len(expected)
