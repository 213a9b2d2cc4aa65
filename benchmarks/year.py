"""A year of an agent's memory: every night all phases, with a clock that is passed in.

python -m benchmarks.year [--nights 365] [--seed 1] [--folder build/year]

Each day some 30 memories come: notes of the moment, contexts with a rule or an end of their own,
facts that nobody asks for again, facts told twice, and facts that must live, since a person wrote
them, they are pinned, looked up each week, or tell what others said. After each night it is checked
that the tenants are within their limits, that what should have gone has gone, and that each fact
that should live stands in an active memory; each month a second night must do nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slowwave.consolidation.ageing.retention import Retention, Rule
from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.consolidation.writing.writer import BuiltInWriter
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing
from slowwave.store.records import timestamp

FIRST = datetime(2027, 1, 1, 3, 40, tzinfo=UTC)
TENANTS = ("agent", "ops")
RULES = (
    Rule(kind="context", keep=timedelta(days=30)),
    Rule(tenant="ops", kind="context", keep=timedelta(days=7)),
    Rule(tenant="ops", layer="working", kind="preference", keep=timedelta(days=14)),
)
_WHO = ("Ada", "Bruno", "Chidi", "Dagny", "Emre", "Freya", "Goro", "Hana", "Imre", "Jonas", "Kaya")
_WHAT = (
    *("archive", "bakery", "boiler", "bridge", "cellar", "chapel", "choir", "depot", "ferry"),
    *("garage", "garden", "gallery", "harbour", "hostel", "kitchen", "laundry", "library", "mill"),
    *("museum", "nursery", "orchard", "pier", "quarry", "sawmill", "school", "stable", "studio"),
    *("theatre", "tower", "tram", "vineyard", "warehouse", "windmill", "workshop"),
)
_DOES = (
    "keeps the spare key of the {what} in locker {code}",
    "ordered the new lamp for the {what} under number {code}",
    "renews the licence of the {what}, which is filed as {code}",
    "has the {what} inspected by the office in room {code}",
    "wrote the plan of the {what} down as sheet {code}",
    "pays the insurance of the {what} by contract {code}",
)
_RETOLD = ("User said that {text}", "{text}")


@dataclass
class Fact:
    """A memory that was planted, and what must become of it."""

    id: str
    code: str
    # From this moment on it must not be active any more; None: it has to live.
    ends: datetime | None
    # Looked up each week: that is why it lives.
    used: bool = False


@dataclass
class Year:
    """A file that grows day by day, and what was planted in it."""

    path: Path
    embedder: Embedder
    seed: int = 1
    # How many memories come a day, at the least.
    a_day: int = 30
    limit: int = 1_000
    planted: list[Fact] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Make the file."""
        self._dice = random.Random(self.seed)  # noqa: S311 - a life, not a secret
        self._codes = iter(self._dice.sample(range(10_000, 99_999), 80_000))
        create_file(self.path)

    def live(self, night: int) -> Outcome:
        """Let a day pass and a night follow, and check what must be so then."""
        now = FIRST + timedelta(days=night)
        self._store(list(self._day(now - timedelta(hours=12))))
        # Each week, also where only every second night is lived.
        if night % 7 < 2:
            self._look_up(now)
        outcome = self.night(now)
        self.check(now)
        return outcome

    def night(self, now: datetime) -> Outcome:
        """Run all phases."""
        options = CycleOptions(
            expire=True, retention=Retention(RULES), decay=True, limit=self.limit, purge=True
        )
        return run_cycle(self.path, options, self.embedder, BuiltInWriter(), now)

    def _day(self, now: datetime) -> Iterator[dict[str, Any]]:
        """Yield what is told on one day."""
        share = self.a_day / 30
        for _ in range(round(10 * share)):
            ends = now + timedelta(days=1)
            yield self._memory(now, ends, layer="ephemeral", kind="context")
        for _ in range(round(6 * share)):
            yield self._memory(now, now + timedelta(days=30), kind="context")
        for _ in range(round(3 * share)):
            yield self._memory(now, now + timedelta(days=7), kind="context", tenant="ops")
        ends = now + timedelta(days=self._dice.choice((3, 10, 60)))
        yield self._memory(now, ends, expires_at=timestamp(ends))
        yield self._memory(now, now + timedelta(days=14), kind="preference", tenant="ops")
        # Nobody asks for these again: they may go, or stay.
        for _ in range(round(5 * share)):
            yield self._memory(now, None, planted=False)
        yield from self._lasting(now)

    def _lasting(self, now: datetime) -> Iterator[dict[str, Any]]:
        """Yield facts that have to live."""
        told = self._memory(now, None)
        yield told
        again = _RETOLD[self._dice.randrange(2)].format(text=told["content"])
        yield {**told, "id": f"{told['id']}-again", "content": again, "session": "second"}
        kind = self._dice.randrange(3)
        if kind == 0:
            yield self._memory(now, None, origin="human")
        elif kind == 1:
            yield self._memory(now, None, pinned=True, kind="preference", tenant="ops")
        else:
            yield self._memory(now, None, used=True)

    def _memory(
        self,
        now: datetime,
        ends: datetime | None,
        planted: bool = True,
        used: bool = False,
        **fields: Any,
    ) -> dict[str, Any]:
        code = str(next(self._codes))
        text = self._dice.choice(_DOES).format(what=self._dice.choice(_WHAT), code=code)
        moment = now + timedelta(minutes=self._dice.randrange(600))
        memory = {
            "id": f"m-{code}",
            "tenant": TENANTS[0],
            "content": f"{self._dice.choice(_WHO)} {text}.",
            "session": moment.strftime("%F-%H"),
            "observed_at": timestamp(moment),
            "created_at": timestamp(moment),
            **fields,
        }
        if planted:
            # What is kept for so long is kept from when it came.
            self.planted.append(
                Fact(memory["id"], code, None if ends is None else ends + (moment - now), used)
            )
        return memory

    def _store(self, memories: list[dict[str, Any]]) -> None:
        with open_writing(self.path) as file:
            lines = [json.dumps(memory).encode() for memory in memories]
            import_lines(file, lines, FIRST)
        self.seen["stored"] += len(memories)

    def _look_up(self, now: datetime) -> None:
        """Use what is used each week, as an agent does: the memory that tells it by now."""
        with closing(sqlite3.connect(self.path)) as db, db:
            db.executemany(
                "UPDATE memories SET accessed_at = ?, access_count = access_count + 1 "
                "WHERE status = 'active' AND id = ?",
                [(timestamp(now), item.id) for item in self.planted if item.used],
            )

    def check(self, now: datetime) -> None:
        """Raise AssertionError if something that must be so is not."""
        with closing(sqlite3.connect(self.path)) as db:
            active = dict(db.execute("SELECT id, content FROM memories WHERE status = 'active'"))
            by_tenant = dict(
                db.execute(
                    "SELECT tenant, count(*) FROM memories WHERE status = 'active' GROUP BY 1"
                )
            )
        above = {item: count for item, count in by_tenant.items() if count > self.limit}
        if above:
            raise AssertionError(f"{now:%F}: above the limit of {self.limit}: {above}")
        told = "\n".join(active.values())
        for item in self.planted:
            if item.ends is None and item.code not in told:
                raise AssertionError(f"{now:%F}: {item.id} is lost")
            if item.ends is not None and item.ends <= now and item.code in told:
                raise AssertionError(
                    f"{now:%F}: {item.id} should have gone at {item.ends:%F %H:%M}"
                )
        self.seen["checked"] += len(self.planted)

    def count(self) -> dict[str, int]:
        """Return how many memories are in which state, and how many were purged."""
        with closing(sqlite3.connect(self.path)) as db:
            counts = dict(db.execute("SELECT status, count(*) FROM memories GROUP BY 1"))
            purged = db.execute("SELECT count(*) FROM witnesses").fetchone()[0]
        return counts | {"purged": purged}


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("build/year"))
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    path = chosen.folder / f"{chosen.seed}.db"
    for old in chosen.folder.glob(f"{path.name}*"):
        old.unlink()
    year = Year(path, SentenceEmbedder(), chosen.seed)
    states = ("active", "superseded", "archived", "expired", "purged")
    _say("night  " + "".join(f"{name:>11}" for name in states) + "   file MB  seconds a night")
    began = month = time.perf_counter()
    for night in range(1, chosen.nights + 1):
        year.live(night)
        if night % 30 == 0 or night == chosen.nights:
            _refuse_a_second_change(year, night)
            counts, now = year.count(), time.perf_counter()
            size = path.stat().st_size / 1e6
            row = "".join(f"{counts.get(name, 0):>11,}" for name in states)
            _say(f"{night:>5}  {row}  {size:>8.1f}  {(now - month) / 30:>8.2f}")
            month = now
    planted = Counter("live" if item.ends is None else "go" for item in year.planted)
    _say(
        f"{year.seen['stored']:,} memories came in {chosen.nights} nights; of those planted "
        f"{planted['live']:,} had to live and {planted['go']:,} to go: none was lost, none is left "
        f"of those whose time was over. {(time.perf_counter() - began) / 60:.1f} minutes."
    )


def _refuse_a_second_change(year: Year, night: int) -> None:
    again = year.night(FIRST + timedelta(days=night))
    if again.has_work or again.last_run:
        raise AssertionError(f"night {night}: a second night changed something")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
