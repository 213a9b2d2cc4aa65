"""Kills and failing writes at any moment: the file stays intact, and the next run completes."""

from __future__ import annotations

import functools
import itertools
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nights import picture
from reliability.disk import Fault, What, linked_library
from reliability.scenes import NAMES, Reference, a_model, contents, scene

pytestmark = pytest.mark.skipif(
    linked_library() is None, reason="SQLite is a part of Python itself here: nothing to listen to"
)
Rounds = Callable[[int, int], int]
# A sentence, and none of: a defect, done though something is lost.
FAILED = (1, 3, 10)
MODES = ("wal", "delete")
_QUICK_IN_WAL = ("undo", "forget", "approve", "import into a new file")
QUICK = [("night", "wal"), ("old file", "delete"), *((name, "wal") for name in _QUICK_IN_WAL)]
NIGHTS = [("night", "wal"), ("night", "delete")]
# How many touches of a slow command are tried in the long run; 6 of the others.
MANY = {"large night": 6, "night": 12, "old file": 8}


References = Callable[[str, str], Reference]


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Iterator[References]:
    """Provide references, by the name of a scene and the journal mode."""
    with a_model() as model:

        @functools.cache
        def reference(name: str, mode: str) -> Reference:
            folder = tmp_path_factory.mktemp(mode)
            return Reference(scene(name, folder, mode, model), folder / "after")

        yield reference


@pytest.fixture(scope="module")
def chosen(references: References, rounds: Rounds) -> list[Reference]:
    """Provide every command in both journal modes, or the quick choice of `make test`."""
    every = list(itertools.product(NAMES, MODES))
    return list(itertools.starmap(references, every if rounds(0, 1) else QUICK))


def at_once(tries: Sequence[Callable[[Path], None]]) -> None:
    """Run tries, two at a time, each in a folder of its own."""

    def run(attempt: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            attempt(Path(folder) / "scene")

    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(run, tries):
            pass


def sample(limit: int, count: int, chance: random.Random) -> list[int]:
    """Return `count` numbers from 1 to `limit`, or all of them."""
    return sorted(chance.sample(range(1, limit + 1), min(limit, count)))


def killed(reference: Reference, what: What, touch: int) -> Callable[[Path], None]:
    def attempt(folder: Path) -> None:
        path = reference.scene.copy(folder)
        ended = reference.scene.run(path, Fault(str(folder), what, touch))
        assert ended.code == -9, ended.err
        reference.find_all(path)

    return attempt


def killed_after(reference: Reference, seconds: float) -> Callable[[Path], None]:
    def attempt(folder: Path) -> None:
        path = reference.scene.copy(folder)
        ended = reference.scene.run(path, kill_after=seconds)
        assert ended.code in (-9, 0), ended.err
        reference.find_all(path)

    return attempt


def failing(reference: Reference, what: What, touch: int, lasting: bool) -> Callable[[Path], None]:
    def attempt(folder: Path) -> None:
        path = reference.scene.copy(folder)
        ended = reference.scene.run(path, Fault(str(folder), what, touch, lasting))
        place = f"{reference.scene.name}, {what} at {touch}, lasting: {lasting}: {ended}"
        if ended.code == 0:
            assert contents(path) == reference.texts_after, place
        else:
            assert ended.code in FAILED, place
            assert ended.err.strip(), place
        assert "Traceback" not in ended.err, place
        # A commit whose sync failed may last after all, unless a later one replaces it.
        if ended.code == 1 and not lasting and reference.before.exists():
            assert picture(path, ["memories"]) == picture(reference.before, ["memories"]), place
        reference.find_all(path)

    return attempt


def test_a_kill_at_any_write_leaves_an_intact_file(chosen: list[Reference], rounds: Rounds) -> None:
    chance = random.Random(1)  # noqa: S311 - moments, not secrets
    tries = []
    for reference in chosen:
        count = rounds(2, MANY.get(reference.scene.name, 6))
        for touch in sample(reference.ended.touches, count, chance):
            tries.append(killed(reference, chance.choice(("kill", "tear")), touch))
    at_once(tries)


def test_a_kill_at_any_moment_leaves_an_intact_file(references: References, rounds: Rounds) -> None:
    chance = random.Random(2)  # noqa: S311 - moments, not secrets
    tries = []
    for name, mode in NIGHTS[: rounds(1, 2)]:
        reference = references(name, mode)
        moments = [chance.uniform(0, reference.ended.seconds) for _ in range(rounds(3, 16))]
        tries += [killed_after(reference, moment) for moment in moments]
    at_once(tries)


def test_a_failing_write_is_reported_and_harms_nothing(
    chosen: list[Reference], rounds: Rounds
) -> None:
    chance = random.Random(3)  # noqa: S311 - moments, not secrets
    tries = []
    for reference in chosen:
        for touch in sample(reference.ended.touches, rounds(1, 6), chance):
            lasting = chance.random() < 0.5
            tries.append(failing(reference, chance.choice(("error", "full")), touch, lasting))
    at_once(tries)
