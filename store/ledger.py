"""The ledger: runs and their decisions, in `runs` and `proposals`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

from .ageing import PHASE
from .errors import StoreError
from .file import MemoryFile
from .lock import is_held
from .memories import tenants
from .prefixes import find_by_prefix
from .purge import OPTION
from .records import json_text, parse_list, parse_object, parse_time

# A proposal in one of these states is not made again until its sources change.
REMEMBERED = ("pending", "rejected", "declined", "undone")
# The key in the options of a run that applied a person's decisions.
DECIDED = "decided"

# Runs of 'maintain' have one of these options; reviews and ingests do not.
_OF_MAINTAIN = " OR ".join(
    f"json_extract(options, '$.{name}') IS NOT NULL" for name in ("only", OPTION, PHASE)
)
_IS_INGEST = "(json_extract(options, '$.ingest') IS NOT NULL)"

# The latest decision that counts, by key: SQLite returns the row of each key that has the maximum,
# and ids of runs sort by time.
_LATEST = (
    "SELECT *, max(decided_at || run_id) AS latest FROM proposals "
    "WHERE state NOT IN ('failed', 'skipped', 'stale') GROUP BY key"
)

# Each run with each of its tenants: all tenants, unless its options have some.
_RUNS_WITH_TENANTS = (
    "(SELECT runs.id, named.value AS tenant FROM runs, json_each(options, '$.tenant') named "
    "UNION SELECT run_id, tenant FROM proposals "
    "UNION SELECT id, tenant FROM runs, (SELECT DISTINCT tenant FROM memories) "
    "WHERE NOT EXISTS (SELECT 1 FROM json_each(options, '$.tenant') WHERE value IS NOT NULL))"
)


@dataclass(frozen=True)
class Run:
    """A row of `runs`; `report` has "before", "after" and "model", or is None if interrupted."""

    id: str
    started_at: str
    finished_at: str | None
    version: str
    options: dict[str, Any]
    # The digest of the plan; None if the run was interrupted.
    plan: str | None
    outcome: str
    report: dict[str, Any] | None


@dataclass(frozen=True)
class Decision:
    """A row of `proposals`: the decision of a run about a proposal."""

    run_id: str
    key: str
    operation: str
    tenant: str
    sources: tuple[str, ...]
    survivor: str | None
    derived: str | None
    state: str
    draft: str | None
    reason: str
    why: str | None
    numbers: dict[str, Any]
    decided_at: str


_COLUMNS = tuple(field.name for field in fields(Decision))


def begin_run(
    file: MemoryFile, run_id: str, now: str, version: str, options: dict[str, Any]
) -> None:
    """Record the start of a run, and mark killed runs as interrupted."""
    with file.transaction():
        file.conn.execute("UPDATE runs SET outcome = 'interrupted' WHERE outcome = 'running'")
        file.conn.execute(
            "INSERT INTO runs (id, started_at, version, options) VALUES (?, ?, ?, ?)",
            [run_id, now, version, json_text(options)],
        )


def end_run(
    file: MemoryFile,
    run_id: str,
    *,
    now: str,
    outcome: str,
    plan: str | None,
    report: dict[str, Any],
) -> None:
    """Record the end of a run; `plan` is the digest of its plan, if it has one."""
    with file.transaction():
        file.conn.execute(
            "UPDATE runs SET finished_at = ?, outcome = ?, plan = ?, report = ? WHERE id = ?",
            [now, outcome, plan, json_text(report), run_id],
        )


def record_decision(file: MemoryFile, decision: Decision) -> None:
    """Record a decision in the caller's transaction."""
    row = vars(decision) | {
        "sources": json_text(decision.sources),
        "numbers": json_text(decision.numbers),
    }
    marks = ", ".join(f":{name}" for name in _COLUMNS)
    file.change_rows(
        f"INSERT OR REPLACE INTO proposals ({', '.join(_COLUMNS)}) VALUES ({marks})", [row]
    )


def remembered_keys(file: MemoryFile) -> set[str]:
    """Return the keys of the proposals that must not be made again."""
    rows = file.tuples(f"SELECT key, state FROM ({_LATEST})")
    return {key for key, state in rows if state in REMEMBERED}


def read_pending(file: MemoryFile) -> list[Decision]:
    """Return the pending proposals, ordered by run.

    The latest decision of a key counts. Damaged proposals are included, although they cannot be
    applied.
    """
    pending = _read_latest(file, "state = 'pending'")
    return sorted(pending, key=attrgetter("run_id", "key"))


def read_pending_keys(file: MemoryFile, tenants: Sequence[str]) -> frozenset[str]:
    """Return the keys of the pending proposals of these tenants; () means all."""
    rows = file.tuples(
        f"SELECT key FROM ({_LATEST}) WHERE state = 'pending' "
        "AND (?1 = '[]' OR tenant IN (SELECT value FROM json_each(?1)))",
        [json_text(list(tenants))],
    )
    return frozenset(key for (key,) in rows)


def read_latest(file: MemoryFile, key: str) -> Decision | None:
    """Return the latest decision that counts about a proposal; None if there is none."""
    return next(iter(_read_latest(file, "key = ?", key)), None)


def read_latest_by_prefix(file: MemoryFile, prefix: str) -> list[Decision]:
    """Return the latest decisions that count about the proposals whose keys have a prefix."""
    return _read_latest(file, "key >= ?1 AND substr(key, 1, length(?1)) = ?1", prefix)


def _read_latest(file: MemoryFile, where: str, *parameters: object) -> list[Decision]:
    names = ", ".join(_COLUMNS)
    return _read(file, f"SELECT {names} FROM ({_LATEST}) WHERE {where} ORDER BY key", *parameters)


def read_applied_approvals(file: MemoryFile, run_id: str) -> dict[str, Decision]:
    """Return the applied decisions, by key, about the approved proposals of a run."""
    decisions = _read(
        file,
        "SELECT later.* FROM proposals approved JOIN proposals later USING (key) "
        "WHERE approved.run_id = ? AND approved.state = 'approved' AND later.state = 'applied' "
        "ORDER BY later.decided_at, later.run_id",
        run_id,
    )
    return {decision.key: decision for decision in decisions}


def read_reviewed(file: MemoryFile) -> list[Decision]:
    """Return the decisions about formerly pending proposals, in the order of the proposals.

    A person decided about them, or their sources changed.
    """
    return _read(
        file,
        "SELECT * FROM proposals WHERE json_extract(numbers, '$.kept') IS NOT NULL "
        "AND state IN ('approved', 'declined', 'stale') ORDER BY run_id, operation, key",
    )


def decide_pending(
    file: MemoryFile, key: str, state: str, now: str, why: str | None = None
) -> None:
    """Record a person's decision in the caller's transaction.

    why: None keeps the reason of the proposal.
    """
    file.conn.execute(
        "UPDATE proposals SET state = ?, decided_at = ?, why = coalesce(?, why) "
        "WHERE key = ? AND state = 'pending'",
        [state, now, why, key],
    )


def make_pending(file: MemoryFile, decision: Decision, now: str) -> None:
    """Make a proposal pending again in the caller's transaction.

    decision: as it was while pending. now: later than the decisions about it since.
    """
    file.conn.execute(
        "UPDATE proposals SET state = 'pending', decided_at = ?, why = ? "
        "WHERE run_id = ? AND key = ?",
        [now, decision.why, decision.run_id, decision.key],
    )


def read_runs(file: MemoryFile, after: str = "") -> list[Run]:
    """Return all runs, or those after the run with this id, in the order in which they began.

    This is the order of their rows, because the clock may have been set back.
    """
    rows = file.rows("SELECT * FROM runs WHERE id > ? ORDER BY rowid", [after])
    return [to_run(file, row) for row in rows]


def count_states(file: MemoryFile, after: str = "") -> dict[str, dict[str, int]]:
    """Count the proposals of each run by state; `after` is as in `read_runs`."""
    counts: dict[str, dict[str, int]] = {}
    sql = "SELECT run_id, state, count(*) AS n FROM proposals WHERE run_id > ? GROUP BY 1, 2"
    for row in file.rows(sql, [after]):
        counts.setdefault(row["run_id"], {})[row["state"]] = row["n"]
    return counts


def read_run(file: MemoryFile, prefix: str, tenant: str | None = None) -> Run:
    """Return the run whose id is, or starts with, `prefix`.

    tenant: only runs for this tenant; None means all. Raises `NotFound` or `Ambiguous`.
    """
    runs = "runs" if tenant is None else _RUNS_WITH_TENANTS
    run_id = find_by_prefix(file, runs, "id", prefix, kind="run", tenant=tenant)
    return to_run(file, next(file.rows("SELECT * FROM runs WHERE id = ?", [run_id])))


def read_last_run(file: MemoryFile, tenant: str) -> Run | None:
    """Return the last run for a tenant; None if there is none.

    The report is None if it also counts memories of other tenants.
    """
    rows = file.rows(
        f"SELECT * FROM runs WHERE id IN (SELECT id FROM {_RUNS_WITH_TENANTS} WHERE tenant = ?) "
        "ORDER BY rowid DESC LIMIT 1",
        [tenant],
    )
    run = next((to_run(file, row) for row in rows), None)
    if run is None or (run.options.get("tenant") or tenants(file)) == [tenant]:
        return run
    return replace(run, report=None)


def read_last_start(file: MemoryFile, chosen: Sequence[str]) -> str | None:
    """Return the start time of the last run of 'maintain' for the chosen tenants; None without one.

    Failed, interrupted and idle runs do not count, nor do runs for only some of the tenants.
    """
    has_rows = "EXISTS (SELECT 1 FROM {} WHERE run_id = runs.id)".format
    started_at = file.value(
        "SELECT max(started_at) FROM runs WHERE (outcome IN ('partial', 'undone') OR "
        f"outcome = 'done' AND ({has_rows('journal')} OR {has_rows('proposals')})) "
        f"AND ({_OF_MAINTAIN}) AND (coalesce(json_array_length(options, '$.tenant'), 0) = 0 "
        "OR NOT EXISTS (SELECT 1 FROM json_each(?) WHERE value NOT IN "
        "(SELECT value FROM json_each(options, '$.tenant'))))",
        [json_text(chosen)],
    )
    return None if started_at is None else parse_time(started_at, "started_at", "a row of runs")


def count_new(file: MemoryFile, chosen: Sequence[str]) -> int:
    """Return how many active memories of the chosen tenants no consolidation run has read yet.

    A run computes a vector for each memory. A memory that was stored with one is new until a later
    consolidation run has written something, or found nothing to do.
    """
    last_start = file.value(
        "SELECT max(julianday(started_at)) FROM runs "
        f"WHERE json_extract(options, '$.only') IS NOT NULL AND NOT {_IS_INGEST}"
    )
    return int(
        file.value(
            "SELECT count(*) FROM memories m WHERE status = 'active' AND generation = 0 "
            "AND origin <> 'consolidation' AND tenant IN (SELECT value FROM json_each(?)) "
            "AND (coalesce(julianday(created_at), 0) > ? "
            "OR NOT EXISTS (SELECT 1 FROM embeddings WHERE memory_id = m.id)) "
            "AND NOT EXISTS (SELECT 1 FROM standing JOIN changes c USING (tenant) "
            "WHERE tenant = m.tenant AND standing.changes = c.count)",
            [json_text(chosen), last_start or 0],
        )
    )


def read_decisions(file: MemoryFile, run_id: str) -> list[Decision]:
    """Return the decisions of a run, in a fixed order."""
    return _read(file, "SELECT * FROM proposals WHERE run_id = ? ORDER BY operation, key", run_id)


def find_applied(file: MemoryFile, prefix: str, tenant: str | None = None) -> Decision:
    """Return the applied proposal whose key is, or starts with, `prefix`.

    tenant: only proposals for this tenant; None means all. Raises `NotFound`, `Ambiguous`, or
    `StoreError` if it is not applied.
    """
    sql = "SELECT * FROM proposals WHERE key = ? ORDER BY decided_at DESC, run_id"
    key = find_by_prefix(file, "proposals", "key", prefix, kind="proposal", tenant=tenant)
    decisions = _read(file, sql, key)
    for decision in decisions:
        if decision.state == "applied":
            return decision
    why, hint = decisions[0].state, "See 'slowwave review show FILE PROPOSAL'."
    raise StoreError(f"Proposal {prefix} is not applied: its state is {why}.", hint)


def to_run(file: MemoryFile, row: dict[str, Any]) -> Run:
    """Return the run of a row. Raises `UnusableFile` if a value is invalid."""
    where = f"run {row['id']}"
    if row["outcome"] == "running" and not is_held(file.path):
        row["outcome"] = "interrupted"  # killed, or the disk was full when it ended
    row["started_at"] = parse_time(row["started_at"], "started_at", where)
    row["options"] = parse_object(row["options"], "the options", where)
    report = row["report"]
    row["report"] = None if report is None else parse_object(report, "the report", where)
    return Run(**row)


def _read(file: MemoryFile, sql: str, *parameters: object) -> list[Decision]:
    return [_decision(row) for row in file.rows(sql, parameters)]


def _decision(row: dict[str, Any]) -> Decision:
    where = f"proposal {row['key']}"
    sources = map(str, parse_list(row["sources"], "the sources", where))
    numbers = parse_object(row["numbers"], "the numbers", where)
    return Decision(**row | {"sources": tuple(sources), "numbers": numbers})
