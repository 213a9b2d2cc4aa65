"""Simulate a year of an agent's memory: each night runs all phases, at a simulated time.

python -m benchmarks.year [--nights 365] [--seed 1] [--folder build/year]

Each day adds some 30 memories: short-lived notes, contexts with a retention rule or an expiry,
facts that are never used again, and facts that must survive because they are stated twice, written
by a person, pinned, or used each week. Each night checks that tenants are within
their limits, that expired memories are gone, and that an active memory has each fact that must
survive. Once a month, a second night must change nothing.
"""

from __future__ import annotations

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

from benchmarks.quality.bench import make_parser
from slowwave.consolidation.ageing.retention import Retention, Rule
from slowwave.consolidation.cycle import run_cycle
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.running.outcome import Outcome
from slowwave.consolidation.running.run_in_file import NightInputs
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
_RESTATED = ("{text}!", "{text}")


@dataclass
class Fact:
    """A planted memory, and when it must be gone."""

    id: str
    code: str
    # From this time on, it must not be active; None if it must survive.
    ends: datetime | None
    # Used each week, which is why it must survive.
    used: bool = False


@dataclass
class Year:
    """A file that grows each day, and the memories planted in it."""

    path: Path
    embedder: Embedder
    seed: int = 1
    # The approximate number of new memories per day.
    a_day: int = 30
    limit: int = 1_000
    planted: list[Fact] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Create the file."""
        self._dice = random.Random(self.seed)  # noqa: S311 - a simulation, not a secret
        self._codes = iter(self._dice.sample(range(10_000, 99_999), 80_000))
        create_file(self.path)

    def live(self, night: int) -> Outcome:
        """Simulate a day and its night, and check the result."""
        now = FIRST + timedelta(days=night)
        self._store(list(self._day(now - timedelta(hours=12))))
        # Once a week, even if only every second night is simulated.
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
        writer = BuiltInWriter()
        return run_cycle(
            NightInputs(
                path=self.path, options=options, embedder=self.embedder, writer=writer, now=now
            )
        )

    def _day(self, now: datetime) -> Iterator[dict[str, Any]]:
        """Yield the memories of a day."""
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
        # These are never used again, so they may be archived or not.
        for _ in range(round(5 * share)):
            yield self._memory(now, None, planted=False)
        yield from self._lasting(now)

    def _lasting(self, now: datetime) -> Iterator[dict[str, Any]]:
        """Yield facts that must survive."""
        memory = self._memory(now, None)
        yield memory
        text = _RESTATED[self._dice.randrange(2)].format(text=memory["content"])
        yield {**memory, "id": f"{memory['id']}-again", "content": text, "session": "second"}
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
            # Retention counts from the time of the memory.
            self.planted.append(
                Fact(memory["id"], code, None if ends is None else ends + (moment - now), used)
            )
        return memory

    def _store(self, memories: list[dict[str, Any]]) -> None:
        with open_writing(self.path) as file:
            lines = [json.dumps(memory).encode() for memory in memories]
            import_lines(file, lines, FIRST)
        self.counts["stored"] += len(memories)

    def _look_up(self, now: datetime) -> None:
        """Mark the memories that an agent uses each week as used."""
        with closing(sqlite3.connect(self.path)) as db, db:
            db.executemany(
                "UPDATE memories SET accessed_at = ?, access_count = access_count + 1 "
                "WHERE status = 'active' AND id = ?",
                [(timestamp(now), fact.id) for fact in self.planted if fact.used],
            )

    def check(self, now: datetime) -> None:
        """Raise `AssertionError` if a limit is exceeded, or a fact is lost or not gone in time."""
        with closing(sqlite3.connect(self.path)) as db:
            active = dict(db.execute("SELECT id, content FROM memories WHERE status = 'active'"))
            by_tenant = dict(
                db.execute(
                    "SELECT tenant, count(*) FROM memories WHERE status = 'active' GROUP BY 1"
                )
            )
        above = {tenant: count for tenant, count in by_tenant.items() if count > self.limit}
        if above:
            raise AssertionError(f"{now:%F}: above the limit of {self.limit}: {above}")
        text = "\n".join(active.values())
        for fact in self.planted:
            if fact.ends is None and fact.code not in text:
                raise AssertionError(f"{now:%F}: {fact.id} is lost")
            if fact.ends is not None and fact.ends <= now and fact.code in text:
                raise AssertionError(
                    f"{now:%F}: {fact.id} should have gone at {fact.ends:%F %H:%M}"
                )
        self.counts["checked"] += len(self.planted)

    def count(self) -> dict[str, int]:
        """Return the number of memories per status, and of purged ones."""
        with closing(sqlite3.connect(self.path)) as db:
            counts = dict(db.execute("SELECT status, count(*) FROM memories GROUP BY 1"))
            purged = db.execute("SELECT count(*) FROM witnesses").fetchone()[0]
        return counts | {"purged": purged}


def _main() -> None:
    parser = make_parser("benchmarks.year", __doc__)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("build/year"))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    path = args.folder / f"{args.seed}.db"
    for old in args.folder.glob(f"{path.name}*"):
        old.unlink()
    year = Year(path, SentenceEmbedder(), args.seed)
    states = ("active", "superseded", "archived", "expired", "purged")
    _print("night  " + "".join(f"{name:>11}" for name in states) + "   file MB  seconds per night")
    start = month = time.perf_counter()
    for night in range(1, args.nights + 1):
        year.live(night)
        if night % 30 == 0 or night == args.nights:
            _require_no_change(year, night)
            counts, now = year.count(), time.perf_counter()
            size = path.stat().st_size / 1e6
            row = "".join(f"{counts.get(name, 0):>11,}" for name in states)
            _print(f"{night:>5}  {row}  {size:>8.1f}  {(now - month) / 30:>8.2f}")
            month = now
    planted = Counter("kept" if fact.ends is None else "gone" for fact in year.planted)
    _print(
        f"{year.counts['stored']:,} memories in {args.nights} nights. Of those planted, "
        f"{planted['kept']:,} had to survive and {planted['gone']:,} had to go: none was lost, and "
        f"none is active after its end. {(time.perf_counter() - start) / 60:.1f} minutes."
    )


def _require_no_change(year: Year, night: int) -> None:
    second = year.night(FIRST + timedelta(days=night))
    if second.has_work or second.last_run:
        raise AssertionError(f"night {night}: a second night changed something")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
