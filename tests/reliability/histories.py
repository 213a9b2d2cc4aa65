"""Random histories of a small memory file: changes of agents, runs and undo."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import night as fixture
from nights import AGENTS_TABLES, NOW, execute, fill, more_of_it, of_one_thing, picture, rows

from slowwave.consolidation.ageing.retention import Retention, Rule
from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.proposals import OPERATIONS
from slowwave.consolidation.running.corrections import Corrector
from slowwave.consolidation.running.run_in_file import NightInputs
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer
from slowwave.store.ageing import restore_memory
from slowwave.store.check import check_file
from slowwave.store.errors import ChangedSince, StoreError
from slowwave.store.file import open_reading, open_writing
from slowwave.store.records import timestamp
from slowwave.store.undo.obstacles import Obstacle
from slowwave.store.undo.undo import undo_proposal, undo_runs

EVERYTHING = (*AGENTS_TABLES, "derivations", "runs", "proposals", "journal")
# The tables that an undo restores; the record of the night itself stays.
GIVEN_BACK = (*AGENTS_TABLES, "derivations")
# What agents write, and a night may change but for undo.
WRITTEN = (
    *("content", "tags", "metadata", "importance", "pinned", "layer", "expires_at"),
    *("access_count", "updated_at", "status", "superseded_by"),
)

KNOWN = fixture.load()
# Of one thing each, so that there is something to merge and to synthesize; then a rule.
THINGS = [
    [*of_one_thing(), *more_of_it()],
    *(fact["wordings"] for fact in KNOWN.facts[:3]),
    KNOWN.rules[0]["voicings"],
]
UPDATES = [
    "The backup of the wiki runs at 02:30 every night.",
    "The backup of the wiki now runs at 03:30 every night.",
    "The backup of the wiki runs at 02:30 every night",
]
TEXTS = [text for thing in (*THINGS, UPDATES) for text in thing]


class Killed(BaseException):
    """An exception that no code of ours catches: the run ends, and writes nothing more."""


class Ending(Progress):
    """An exception of this kind after a number of applied proposals."""

    def __init__(self, end: type[BaseException], after: int) -> None:
        self._end, self._after = end, after

    def stage(self, name: str, done: int, total: int) -> None:
        """End the run."""
        if name == "applying" and done >= self._after:
            raise self._end


@dataclass
class History:
    """A file, and the changes that agents made."""

    path: Path
    embedder: Embedder
    random: random.Random
    day: int = 0
    writer: Writer = field(default_factory=BuiltInWriter)
    # What is spoken of in it: little, so that nights build on each other.
    things: list[list[str]] = field(default_factory=list)
    # Each memory as its agent left it, or a person who restored it.
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Memories and columns that agents or persons changed; a deleted memory has the column "".
    by_hand: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Choose the topics."""
        self.things = self.random.sample([*THINGS, UPDATES], 2)

    @property
    def now(self) -> Any:
        """The time, a day later after each event."""
        return NOW + timedelta(days=self.day)

    def ids(self, where: str = "1") -> list[str]:
        """Return memories' ids."""
        return [
            r["id"] for r in rows(self.path, f"SELECT id FROM memories WHERE {where} ORDER BY 1")
        ]

    @property
    def deleted(self) -> frozenset[str]:
        """The memories that agents deleted."""
        return frozenset(memory for memory, column in self.by_hand if not column)

    def insert(self) -> None:
        """Write memories as agents, two or three of them about one thing."""
        thing = self.random.choice(self.things)
        texts = self.random.sample(thing, min(len(thing), self.random.randint(1, 6)))
        texts += self.random.sample(TEXTS, 1)
        fresh = [
            {
                "id": f"m-{self.day:03d}-{number}",
                "content": text,
                "session": f"s-{self.day}-{number}",
                "observed_at": timestamp(self.now + timedelta(minutes=number)),
                "created_at": timestamp(self.now),
                "tags": self.random.sample(["a", "b", "c"], self.random.randint(0, 2)),
                "importance": self.random.randint(1, 5),
                **self.random.choice(
                    [{}, {"session": None}, {"expires_at": "2031-01-01T00:00:00Z"}]
                ),
                **self.random.choice([{}, {}, {}, {"entities": ["given", "Wiki"]}]),
            }
            for number, text in enumerate(texts)
        ]
        fill(self.path, fresh)
        self._look([item["id"] for item in fresh], [])

    def edit(self) -> None:
        """Change an observed or derived memory as an agent."""
        for memory in self._sample(1):
            change = self.random.choice(
                [
                    {"content": self.random.choice(TEXTS)},
                    {"tags": json.dumps([f"edited-{self.day}"])},
                    {"importance": self.random.randint(1, 5), "updated_at": timestamp(self.now)},
                    {"updated_at": timestamp(self.now)},
                    {"pinned": 1},
                ]
            )
            names = ", ".join(f"{name} = ?" for name in change)
            execute(
                self.path, f"UPDATE memories SET {names} WHERE id = ?", *change.values(), memory
            )
            self._look([memory], change)

    def look_up(self) -> None:
        """Read memories as an agent."""
        for memory in self._sample(3):
            execute(
                self.path,
                "UPDATE memories SET access_count = access_count + 1, accessed_at = ? WHERE id = ?",
                timestamp(self.now),
                memory,
            )
            if memory in self.written:
                self.written[memory]["access_count"] += 1

    def delete(self) -> None:
        """Delete a memory as an agent."""
        for memory in self._sample(1):
            # The memories that it superseded pass to its successor.
            stood_for = rows(self.path, "SELECT id FROM memories WHERE superseded_by = ?", memory)
            self.by_hand |= {(row["id"], "superseded_by") for row in stood_for}
            execute(self.path, "DELETE FROM memories WHERE id = ?", memory)
            self.written.pop(memory, None)
            self.by_hand.add((memory, ""))

    def restore(self) -> None:
        """Restore a memory as a person."""
        for memory in self._sample(1, "status = 'superseded'"):
            with open_writing(self.path) as file:
                restore_memory(file, memory, timestamp(self.now))
            columns = ("status", "superseded_by", "superseded_at", "updated_at")
            self._look([memory], columns)

    def word(self) -> str | None:
        """Correct, keep, pin, unpin or retract memories as a person, and return the run."""
        first, *more = [*self._sample(3, "status = 'active'"), ""]
        with suppress(StoreError), open_writing(self.path) as file:
            corrector = Corrector(file, self.now)
            match self.random.choice(["correct", "keep", "pin", "unpin", "retract"]):
                case "correct":
                    text = self.random.choice(TEXTS)
                    return corrector.correct([first, *filter(None, more)], text).run_id
                case "keep":
                    return corrector.keep(first, more[:1]).run_id
                case "retract":
                    return corrector.retract(first).run_id
                case way:
                    return corrector.pin(first, way == "pin").run_id
        return None

    def night(self) -> str | None:
        """Run a night, whole, interrupted or killed, and return its id."""
        end = self.random.choice([None, None, None, KeyboardInterrupt, Killed])
        progress = Ending(end, self.random.randint(1, 3)) if end else None
        options = CycleOptions(
            only=frozenset(self.random.sample(OPERATIONS, self.random.randint(2, 4))),
            reconsider=self.random.random() < 0.5,
        )
        earlier = set(self.runs("1"))
        with suppress(Killed):
            run_cycle(self._inputs(options, self.writer, progress))
        return next((run_id for run_id in self.runs("1") if run_id not in earlier), None)

    def age(self) -> list[str]:
        """Run the phases of ageing, and return their runs, the latest first."""
        earlier = set(self.runs("1"))
        options = CycleOptions(
            consolidate=False,
            expire=self.random.random() < 0.5,
            retention=Retention((Rule(keep=timedelta(days=self.random.randint(1, 9))),)),
            limit=self.random.choice([None, 2, 5]),
        )
        run_cycle(self._inputs(options, BuiltInWriter()))
        return [run_id for run_id in self.runs("1") if run_id not in earlier]

    def _inputs(
        self, options: CycleOptions, writer: Writer, progress: Progress | None = None
    ) -> NightInputs:
        return NightInputs(
            path=self.path,
            options=options,
            embedder=self.embedder,
            writer=writer,
            now=self.now,
            progress=progress or Progress(),
        )

    def runs(self, where: str = "outcome <> 'undone'") -> list[str]:
        """Return the runs, the latest first."""
        sql = f"SELECT id FROM runs WHERE {where} ORDER BY rowid DESC"
        return [row["id"] for row in rows(self.path, sql)]

    def applied(self, run: str | None = None) -> list[tuple[str, str]]:
        """Return (run, proposal) of the applied proposals, the latest first."""
        sql = (
            "SELECT p.run_id, p.key FROM proposals p JOIN runs r ON r.id = p.run_id "
            "JOIN journal j ON j.run_id = p.run_id AND j.proposal = p.key "
            "WHERE state = 'applied' AND (?1 IS NULL OR p.run_id = ?1) "
            "GROUP BY 1, 2 ORDER BY r.rowid DESC, max(j.sequence) DESC"
        )
        return [(row["run_id"], row["key"]) for row in rows(self.path, sql, run)]

    def _sample(self, most: int, where: str = "1") -> list[str]:
        there = self.ids(where)
        return self.random.sample(there, min(most, len(there)))

    def _look(self, ids: Sequence[str], columns: Iterable[str]) -> None:
        """Record what agents wrote: whole memories, or columns of one."""
        changed = set(columns)
        for row in rows(self.path, "SELECT * FROM memories"):
            if row["id"] in ids and not changed:
                self.written[row["id"]] = {name: row[name] for name in WRITTEN}
            elif row["id"] in ids:
                new = {name: row[name] for name in WRITTEN if name in changed}
                self.written.get(row["id"], {}).update(new)
                self.by_hand |= {(row["id"], name) for name in changed}


def try_undo(path: Path, run: str, proposal: str | None) -> tuple[Obstacle, ...]:
    """Undo a run or a proposal, and return the obstacles; with any, not a byte has changed."""
    before = picture(path, EVERYTHING)
    try:
        with open_writing(path) as file:
            if proposal is None:
                undo_runs(file, [run], "2031-01-01T00:00:00+00:00")
            else:
                undo_proposal(file, run, proposal, "2031-01-01T00:00:00+00:00")
    except ChangedSince as error:
        assert picture(path, EVERYTHING) == before
        assert error.obstacles
        return error.obstacles
    return ()


def undo_obstacles(path: Path, run: str, proposal: str | None) -> bool:
    """Undo what the obstacles name; return whether no change by hand remains.

    If two proposals named each other, this would not end.
    """
    while obstacles := try_undo(path, run, proposal):
        if any(obstacle.run is None for obstacle in obstacles):
            return False
        for obstacle in dict.fromkeys((obstacle.run, obstacle.proposal) for obstacle in obstacles):
            still = rows(
                path,
                "SELECT 1 FROM proposals WHERE run_id = ?1 AND key = ?2 AND state = 'applied' "
                "UNION SELECT 1 FROM runs WHERE id = ?1 AND ?2 IS NULL AND outcome <> 'undone'",
                *obstacle,
            )
            assert obstacle[0] is not None
            if still and not undo_obstacles(path, obstacle[0], obstacle[1]):
                return False
    return True


def problems(path: Path, deleted: frozenset[str] = frozenset()) -> list[str]:
    """Return what `check` finds, except for what an agent's deletion of a successor causes."""
    with open_reading(path) as file:
        reported = check_file(file).problems
    excused = {f"lineage names {item}, which is missing" for item in deleted}
    unexcused = [item for item in reported if item.detail not in excused]
    return [
        item.detail
        for item in unexcused
        if not deleted or item.name != "superseded by an inactive memory"
    ]
