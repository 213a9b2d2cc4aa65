"""Full disks, missing permissions and other file systems."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nights import rows
from reliability.crashing import Ended, Job, run
from reliability.disk import Fault, linked_library
from reliability.scenes import (
    MAINTAIN,
    Reference,
    Scene,
    a_model,
    contents,
    few_memories,
    filled,
    find_problems,
)

pytestmark = pytest.mark.skipif(
    linked_library() is None or os.geteuid() != 0,
    reason="it takes a SQLite to listen to, and root to lay permissions down",
)
Rounds = Callable[[int, int], int]
MODES = ("wal", "delete")
READS = (
    *((name,) for name in ("check", "export", "list", "log")),
    ("log", "--stats"),
    ("maintain", "--consolidate", "--dry-run", "--quiet"),
)
WRITES = (("add", "Tea is at four."), ("maintain", "--consolidate", "--quiet"))


def command(path: Path, name: str, *arguments: str, unprivileged: bool = True) -> Ended:
    """Run a command that respects permissions."""
    job = Job((name, str(path), *arguments), Fault(str(path.parent)), unprivileged=unprivileged)
    return run(job)


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".db"}


def is_reported(ended: Ended, *codes: int) -> None:
    """Require a sentence on stderr, one of these exit codes, and no traceback."""
    assert ended.code in codes, ended
    assert ended.err.startswith(("Error: ", '{"format": 1, "error": ')), ended
    assert "Traceback" not in ended.err
    assert "defect" not in ended.err


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Provide a function that mounts another file system of a size in kilobytes."""
    folders: list[Path] = []

    def mount(kilobytes: int) -> Path:
        folder = tmp_path / f"mounted-{len(folders)}"
        folder.mkdir()
        line = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
        try:
            subprocess.run(line, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("a file system cannot be mounted here")
        folders.append(folder)
        return folder

    yield mount
    for folder in folders:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607 - of the system


@pytest.fixture(scope="module", params=MODES)
def reference(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reference]:
    """Provide a night on a disk with free space."""
    folder = tmp_path_factory.mktemp(request.param)
    before = filled(folder / "before", few_memories(), request.param)
    with a_model() as model:
        yield Reference(Scene("night", before, (*MAINTAIN, *model)), folder / "after")


def test_a_full_disk_is_reported_and_the_next_run_completes(
    reference: Reference, mounted: Callable[[int], Path], rounds: Rounds
) -> None:
    size = reference.before.stat().st_size // 1024
    rooms = random.Random(6).sample(range(0, 700, 4), rounds(2, 20))  # noqa: S311 - sizes
    failed = 0
    for room in rooms:
        folder = mounted(size + 8 + room)
        path = folder / "memory.db"
        path.write_bytes(reference.before.read_bytes())
        ended = reference.scene.run(path)
        if ended.code:
            is_reported(ended, 1, 3, 10)
            failed += 1
        else:
            assert contents(path) == reference.texts_after
        # Reading needs some room, too: for the -shm.
        subprocess.run(["mount", "-o", "remount,size=9000k", str(folder)], check=True)  # noqa: S607
        reference.find_all(path)
    assert failed > 0


def test_a_file_size_limit_is_reported_and_the_next_run_completes(
    reference: Reference, tmp_path: Path, rounds: Rounds
) -> None:
    size = reference.before.stat().st_size
    for number in range(rounds(2, 15)):
        path = reference.scene.copy(tmp_path / str(number))
        ended = reference.scene.run(path, largest_file=size // 8 + number * size // 8)
        if ended.code:
            is_reported(ended, 1, 3, 10)
        else:
            assert contents(path) == reference.texts_after
        log = command(path, "log", "--json")
        assert '"outcome": "running"' not in log.out
        reference.find_all(path)


def test_a_run_without_a_recorded_end_is_interrupted(reference: Reference, tmp_path: Path) -> None:
    touches = reference.ended.touches
    # Its end is among the last touches: the first one found that leaves it running is enough.
    for number in range(touches - 1, touches // 2, -max(1, touches // 20)):
        path = reference.scene.copy(tmp_path / str(number))
        ended = reference.scene.run(path, Fault(str(path.parent), "full", number, lasting=True))
        outcomes = rows(path, "SELECT outcome FROM runs")
        log = command(path, "log", "--json")
        assert log.code == 0, (ended, log)
        assert '"outcome": "running"' not in log.out
        if {"outcome": "running"} in outcomes:
            return
    pytest.fail("no run was left running")


def test_a_disk_without_room_for_the_log_changes_nothing(
    reference: Reference, mounted: Callable[[int], Path]
) -> None:
    folder = mounted(reference.before.stat().st_size // 1024 + 40)
    path = folder / "memory.db"
    path.write_bytes(reference.before.read_bytes())
    rest = os.statvfs(folder)
    (folder / "filler").write_bytes(bytes(rest.f_bavail * rest.f_bsize))
    before = bytes_in(folder)
    for item in WRITES:
        is_reported(command(path, *item), 1, 10)
        assert bytes_in(folder) == before
    (folder / "filler").unlink()
    find_problems(path)
    assert contents(path) == contents(reference.before)


def test_a_read_only_file_can_be_read(reference: Reference, tmp_path: Path) -> None:
    path = reference.scene.copy(tmp_path / "scene")
    path.chmod(0o444)
    before = bytes_in(path.parent)
    for item in READS:
        ended = command(path, *item)
        assert ended.code == 0, ended
    for item in WRITES:
        is_reported(command(path, *item), 1)
    assert bytes_in(path.parent) == before


def test_writing_in_a_read_only_folder_is_an_error(reference: Reference, tmp_path: Path) -> None:
    path = reference.scene.copy(tmp_path / "scene")
    before = bytes_in(path.parent)
    path.parent.chmod(0o555)
    try:
        for item in WRITES:
            is_reported(command(path, *item), 1, 10)
        for item in READS:
            ended = command(path, *item)
            assert ended.code == 0, ended
        is_reported(command(path.with_name("new.db"), "import", "--empty"), 1, 10)
    finally:
        path.parent.chmod(0o755)
    assert bytes_in(path.parent) == before


def test_an_unreadable_file_exits_10(reference: Reference, tmp_path: Path) -> None:
    path = reference.scene.copy(tmp_path / "scene")
    before = bytes_in(path.parent)
    path.chmod(0)
    for item in (*READS, *WRITES):
        is_reported(command(path, *item), 10)
    assert bytes_in(path.parent) == before


def test_a_file_that_becomes_unreadable_ends_the_run(
    reference: Reference, tmp_path: Path, rounds: Rounds
) -> None:
    chance = random.Random(7)  # noqa: S311 - moments
    touches = reference.ended.touches
    reported = 0
    for number in sorted(chance.sample(range(1, touches), rounds(1, 15))):
        path = reference.scene.copy(tmp_path / str(number))
        fault = Fault(str(path.parent), "unreadable", number, path=str(path))
        ended = reference.scene.run(path, fault, unprivileged=True)
        path.chmod(0o644)
        for suffix in ("-wal", "-shm", "-journal"):  # SQLite gives them the mode of the file
            beside = Path(f"{path}{suffix}")
            if beside.exists():
                beside.chmod(0o644)
        if ended.code:
            is_reported(ended, 1, 3, 10)
            reported += 1
        reference.find_all(path)
    assert reported > 0


def test_log_and_lock_are_on_the_file_system_of_the_target(
    reference: Reference, mounted: Callable[[int], Path], tmp_path: Path
) -> None:
    folder = mounted(9000)
    real = folder / "memory.db"
    real.write_bytes(reference.before.read_bytes())
    here = tmp_path / "here"
    here.mkdir()
    link = here / "memory.db"
    link.symlink_to(real)
    ended = reference.scene.run(link)
    assert ended.code == 0, ended.err
    assert link.is_symlink()
    assert contents(real) == reference.texts_after
    assert [path.name for path in here.iterdir()] == ["memory.db"]
    assert "memory.db.maintenance.lock" in {path.name for path in folder.iterdir()}


def test_commands_of_these_tests_obey_permissions(tmp_path: Path) -> None:
    filled(tmp_path / "scene", [], "wal")
    path = tmp_path / "scene" / "memory.db"
    path.chmod(0)
    assert command(path, "check", unprivileged=False).code == 0
    assert command(path, "check").code == 10
    path.chmod(0o644)
    assert rows(path, "SELECT 1 FROM memories") == []
