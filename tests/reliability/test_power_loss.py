"""Power losses: the file is in the state of a commit, and no commit is lost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from nights import picture, rows
from reliability.disk import Fault, linked_library
from reliability.scenes import Scene, a_model, find_problems, scene

pytestmark = pytest.mark.skipif(
    linked_library() is None, reason="SQLite is a part of Python itself here: nothing to listen to"
)
Rounds = Callable[[int, int], int]
SCENES = ("large night", "old file", "undo", "import")
MODES = ("wal", "delete")
_SECTOR = 512
# What else the file's names could be.
_FILES = ("memory.db", "memory.db-wal", "memory.db-journal")


@dataclass
class Content:
    """The content of a file: what is synced, and what is pending."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes] | int] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.pending:
            _change(self.safe, change)
        self.pending.clear()

    def after_loss(self, chance: random.Random) -> bytes:
        """Return a possible content: any part of what was pending, in any order."""
        content = bytearray(self.safe)
        for change in chance.sample(self.pending, len(self.pending)):
            arrived = chance.choice(("all", "none", "torn"))
            if arrived == "all" or (arrived == "torn" and isinstance(change, int)):
                _change(content, change)
            elif arrived == "torn" and not isinstance(change, int):
                offset, data = change
                for start in range(0, len(data), _SECTOR):
                    if chance.random() < 0.5:
                        _change(content, (offset + start, data[start : start + _SECTOR]))
        return bytes(content)


def _change(content: bytearray, change: tuple[int, bytes] | int) -> None:
    """Write into a file, or set its length."""
    size = change if isinstance(change, int) else change[0] + len(change[1])
    content.extend(bytes(max(0, size - len(content))))
    if isinstance(change, int):
        del content[change:]
    else:
        content[change[0] : size] = change[1]


class Machine:
    """The disk of a machine that may lose its power."""

    def __init__(self, folder: Path) -> None:
        self.now = {
            path.name: Content(bytearray(path.read_bytes()))
            for path in folder.iterdir()
            if path.name in _FILES
        }
        self.safe = dict(self.now)
        # Names given and taken since the folder was synced, which arrive in this order.
        self.names: list[dict[str, Content]] = []
        self.begun = self.returned = 0

    def play(self, kind: str, name: str, *more: object) -> None:
        """Replay the recorded touches."""
        match kind, more:
            case "commits", _:
                self.begun += 1
            case "committed", _:
                self.returned += 1
            case _ if name not in _FILES:
                pass
            case "create", _:
                self._name({**self.now, name: Content()})
            case "delete", (synced,):
                self._name({item: content for item, content in self.now.items() if item != name})
                if synced:
                    self._sync_names()
            case "write", (int(offset), str(data)):
                self.now[name].pending.append((offset, bytes.fromhex(data)))
            case "truncate", (int(size),):
                self.now[name].pending.append(size)
            case "sync", _:
                self.now[name].sync()
                self._sync_names()  # SQLite syncs the folder with the first sync of a new log
            case _:
                raise AssertionError(f"{kind} is not known")

    def _name(self, names: dict[str, Content]) -> None:
        self.now = names
        self.names.append(names)

    def _sync_names(self) -> None:
        self.safe = self.now
        self.names.clear()

    def after_loss(self, folder: Path, chance: random.Random) -> Path:
        """Write the files as they may be after the power loss."""
        _empty(folder)
        names = chance.choice([self.safe, *self.names])
        for name, content in names.items():
            (folder / name).write_bytes(content.after_loss(chance))
        return folder / "memory.db"

    def as_it_is(self, folder: Path) -> Path:
        """Write the files as programs see them without a power loss."""
        _empty(folder)
        for name, content in self.now.items():
            written = bytearray(content.safe)
            for change in content.pending:
                _change(written, change)
            (folder / name).write_bytes(written)
        return folder / "memory.db"


def _empty(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()


def recorded(scene: Scene, folder: Path) -> list[tuple[str, str]]:
    """Run a command and return its touches."""
    path = scene.copy(folder)
    log = folder.with_name("touches.jsonl")
    ended = scene.run(path, Fault(str(folder), "record", path=str(log)))
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in log.read_text().splitlines()]


def everything(path: Path) -> object:
    """Return all that an agent finds in a file."""
    assert rows(path, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    tables = rows(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return picture(path, [table["name"] for table in tables])


def after_each_commit(touches: list[tuple[str, str]], before: Path, folder: Path) -> list[object]:
    """Return the content of the file at first, and after each commit."""
    machine = Machine(before)
    states = [everything(machine.as_it_is(folder))]
    for touch in touches:
        machine.play(*touch)
        if touch[0] == "committed":
            states.append(everything(machine.as_it_is(folder)))
    return states


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[str, ...]]:
    with a_model() as options:
        yield options


@pytest.mark.parametrize("mode", MODES)
def test_a_power_loss_leaves_the_state_of_a_commit_and_loses_none(
    mode: str, model: tuple[str, ...], tmp_path: Path, rounds: Rounds
) -> None:
    chance = random.Random(4)  # noqa: S311 - losses, not secrets
    names = SCENES if rounds(0, 1) else (SCENES[1],)
    for name in names:
        played = scene(name, tmp_path / name, mode, model)
        touches = recorded(played, tmp_path / name / "recorded")
        states = after_each_commit(touches, played.before, tmp_path / name / "states")
        assert len(states) > 1
        machine = Machine(played.before)
        for number, touch in enumerate(touches):
            machine.play(*touch)
            for _ in range(rounds(number % 60 == 0, 1)):
                path = machine.after_loss(tmp_path / name / "lost", chance)
                state = everything(path)
                allowed = states[machine.returned : machine.begun + 1]
                assert state in allowed, (name, mode, number, touch[:2])
        find_problems(path)


def test_a_disk_without_syncs_is_detected(tmp_path: Path, model: tuple[str, ...]) -> None:
    """The harness can fail: without syncs, commits are lost or files are damaged."""
    played = scene("old file", tmp_path / "scene", "delete", model)
    touches = recorded(played, tmp_path / "recorded")
    states = after_each_commit(touches, played.before, tmp_path / "states")
    chance = random.Random(5)  # noqa: S311 - losses, not secrets
    machine = Machine(played.before)
    harmed = 0
    for number, touch in enumerate(item for item in touches if item[0] != "sync"):
        machine.play(*touch)
        if number % 10 == 0:
            try:
                state = everything(machine.after_loss(tmp_path / "lost", chance))
            except Exception:  # noqa: BLE001 - any error of SQLite on a damaged file
                harmed += 1
            else:
                harmed += state not in states[machine.returned : machine.begun + 1]
    assert harmed > 0
