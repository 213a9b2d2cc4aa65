"""The cache of findings about texts: rows, their sweep, and the version of the code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from shutil import copytree

import pytest
from msgspec.json import Decoder

from slowwave import consolidation
from slowwave.consolidation.snapshot.cache import LIBRARIES, Cache, Row, code_version, hash_of_code

PACKAGE = Path(consolidation.__path__[0])
LENGTH = Decoder(int)


@pytest.mark.parametrize("module", ["thresholds.py", "text/tokens.py", "comparison/rivals.py"])
def test_changed_code_changes_the_keys(module: str, tmp_path: Path) -> None:
    copy = copytree(PACKAGE, tmp_path / "package")
    assert code_version().endswith(hash_of_code(copy))
    (copy / module).write_text(f"{(copy / module).read_text('utf-8')}\n", "utf-8")
    assert not code_version().endswith(hash_of_code(copy))


@pytest.mark.parametrize("library", LIBRARIES)
def test_another_library_version_changes_the_keys(library: str) -> None:
    assert f"{library} {version(library)}" in code_version()


def ask(cache: Cache, texts: Iterable[str]) -> list[str]:
    """Look up the length of each text, and return the texts whose length was computed."""
    worked_out = []

    def length(text: str) -> int:
        worked_out.append(text)
        return len(text)

    for text in texts:
        lengths = cache.compute_unknown(
            "length", [[text]], LENGTH, lambda _, text=text: [length(text)]
        )
        assert lengths == [len(text)]
    return worked_out


def kept(*texts: str) -> list[Row]:
    """Return the rows of a file in which the lengths of these texts were kept."""
    cache = Cache()
    ask(cache, texts)
    return cache.take_new()


def swept(rows: list[Row], cache: Cache) -> list[Row]:
    """Return the rows of a file as they are once a cache has swept it."""
    outdated = cache.sweep()
    return [row for row in rows if row[:2] not in outdated]


def test_a_finding_is_computed_once_and_taken_once() -> None:
    first = Cache()
    assert ask(first, ["one", "three"]) == ["one", "three"]
    rows = first.take_new()
    assert (len(rows), first.take_new()) == (2, [])
    later = Cache(rows)
    assert ask(later, ["three", "one", "seven"]) == ["seven"]
    assert len(later.take_new()) == 1


def test_findings_that_were_not_requested_are_deleted() -> None:
    rows = kept("one", "three", "seven")
    later = Cache(rows)
    ask(later, ["one", "seven"])
    rows = swept(rows, later)
    again = Cache(rows)
    assert ask(again, ["one", "seven", "three"]) == ["three"]
    assert again.sweep() == []
    assert swept(rows, Cache(rows)) == []


def test_a_damaged_finding_is_computed_again_and_replaced() -> None:
    ((kind, key, text),) = kept("three")
    later = Cache([(kind, key, f"[{text}")])
    assert ask(later, ["three"]) == ["three"]
    assert later.take_new() == [(kind, key, text)]
    assert later.sweep() == []


def test_equal_groups_are_computed_once() -> None:
    seen: list[int] = []

    def lengths(places: Sequence[int]) -> list[int]:
        seen.extend(places)
        return [4 for _ in places]

    computed = Cache().compute_unknown("length", [["four"], ["four"]], LENGTH, lengths)
    assert (computed, len(seen)) == ([4, 4], 1)
