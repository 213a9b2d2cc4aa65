"""One night for a report: read from the file, or from what a dry run planned."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.results.authors import Signed, author_of
from slowwave.cli.results.memory_texts import MemoryTexts, ShownMemory, in_time, memories_of
from slowwave.cli.results.night_report import remarks
from slowwave.cli.results.waiting import why_it_waited
from slowwave.cli.terminal.wording import counted, day_of
from slowwave.consolidation.running.kept_proposal import kept_from_decision
from slowwave.store.errors import NotFound
from slowwave.store.records import LAYERS

from .account import (
    EFFECTIVE,
    Account,
    Pair,
    Pairs,
    Point,
    ShownProposal,
    ShownSource,
    approve_command,
    undo_command,
)

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Conflict, Result
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.store.changes import TextChange
    from slowwave.store.file import MemoryFile
    from slowwave.store.ledger import Decision, Run
    from slowwave.store.lineage import KeptClaim

# So many proposals, and pairs of each kind, are shown; a browser has trouble with many more.
MOST_ITEMS = 1_000
MOST_PAIRS = 200
# Of so many active memories conflicts are looked for.
MOST_COMPARED = 2_000
# So much of a proposal's id names it wherever it is to be taken back.
_SHORT = 12
_GONE = "(no longer in the file)"


def account_of_run(memory_file: Path, named: Path, prefix: str | None) -> Account:
    """Return what the file says of one run, the last one if none is named.

    named: what the user calls the file. Raises `StoreError`.
    """
    from slowwave.store.changes import read_changes
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import read_applied_approvals, read_decisions
    from slowwave.store.lineage import read_run_claims

    with open_reading(memory_file) as file:
        run = named_or_last_run(file, prefix)
        decisions = read_decisions(file, run.id)
        carried_out = read_applied_approvals(file, run.id)
        changes, claims = read_changes(file, run.id), read_run_claims(file, run.id)
        history = _history(file, run, run.id)
    shown = decisions[:MOST_ITEMS]
    of_each: dict[str, list[TextChange]] = defaultdict(list)
    for change in changes:
        of_each[change.proposal].append(change)
    memories = MemoryTexts(memory_file).memories(memories_of([one.sources for one in shown]))
    items = (
        _decided(
            one,
            of_each[one.key],
            claims.get(one.key, ()),
            memories,
            str(named),
            carried_out.get(one.key),
        )
        for one in shown
    )
    report = run.report or {}
    return Account(
        file=str(named),
        run=run.id,
        dry_run=False,
        started=run.started_at[:16].replace("T", " "),
        outcome=run.outcome,
        writer=str(run.options.get("model") or "extractive"),
        embedder=str(run.options.get("embedder") or ""),
        before=_counts(report.get("before")),
        after=_counts(report.get("after")),
        usage=_usage(report.get("model")),
        items=tuple(items),
        states=Counter(one.state for one in decisions),
        history=history,
    )


def _account_of_plan(
    outcome: Outcome, memory_file: Path, named: Path, dry_run: bool, writer: str, embedder: str
) -> Account:
    """Return what a dry run would do, or that a night wrote nothing."""
    from slowwave.store.file import open_reading

    with open_reading(memory_file) as file:
        history = _history(file, None, None)
    shown = outcome.results[:MOST_ITEMS]
    memories = MemoryTexts(memory_file).memories(
        memories_of([one.proposal.sources for one in shown])
    )
    return Account(
        file=str(named),
        run=None,
        dry_run=dry_run,
        started="",
        outcome="planned" if outcome.results else _of_nothing_planned(outcome),
        writer=writer,
        embedder=embedder,
        before=asdict(outcome.before),
        after=asdict(outcome.after),
        usage=asdict(outcome.usage),
        items=tuple(_planned(one, memories) for one in shown),
        states=outcome.states,
        history=history,
    )


def _of_nothing_planned(outcome: Outcome) -> str:
    return "nothing to do" if outcome.last_run is None else "nothing more to do"


def account_of_night(
    outcome: Outcome, memory_file: Path, named: Path, dry_run: bool, writer: str, embedder: str
) -> Account:
    """Return what a night did or, dry, would do, with what it left as it is. Raises `StoreError`.

    What it left the file does not keep.
    """
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import read_run

    if outcome.run_id is None:
        account = _account_of_plan(outcome, memory_file, named, dry_run, writer, embedder)
    else:
        account = account_of_run(memory_file, named, outcome.run_id)
    apart = [(f"{one.guard}: {one.why}", one.sources) for one in outcome.plan.refused]
    history = account.history
    # A purge names all tenants, and changes no number of active memories.
    run = next(filter(None, (outcome.run_id, *(one.run_id for one in outcome.aged))), None)
    if run is not None:
        with open_reading(memory_file) as file:
            history = _history(file, read_run(file, run), outcome.last_run)
    return replace(
        account,
        conflicts=_pairs(_disagreements(outcome.conflicts), memory_file),
        apart=_pairs(apart, memory_file),
        remarks=tuple(remarks(outcome, dry_run, named, MemoryTexts(memory_file))),
        # Of the whole night: each of its phases is a run of its own, and counts itself only.
        before=asdict(outcome.before),
        after=asdict(outcome.after),
        history=history,
        is_whole=outcome.last_run == outcome.run_id and not _has_earlier(outcome),
    )


def _has_earlier(outcome: Outcome) -> bool:
    """Whether a run came before the one that consolidated."""
    expired = outcome.expired is not None and outcome.expired.run_id is not None
    return expired or bool(outcome.waiting_parts.runs)


def with_current_conflicts(account: Account, memory_file: Path, now: str) -> Account:
    """Return an account with the conflicts that stand in the file now. Raises `StoreError`.

    To look for them takes a millisecond or two a memory: of very many it is left to who wants it.
    """
    if (account.after or {}).get("active", 0) > MOST_COMPARED:
        return account
    from slowwave.consolidation.planning.conflicts import current_conflicts

    found = current_conflicts(memory_file, (), now)
    return replace(account, conflicts=_pairs(_disagreements(found), memory_file))


def named_or_last_run(file: MemoryFile, prefix: str | None) -> Run:
    """Return the run of an id, or the last one. Raises `NotFound` and `Ambiguous`."""
    from slowwave.store.ledger import read_run, read_runs

    if prefix is not None:
        return read_run(file, prefix)
    runs = read_runs(file)
    if not runs:
        raise NotFound(
            f"No run has changed {file.path} yet.",
            "To see what one would do: slowwave maintain FILE --dry-run",
        )
    return runs[-1]


def _history(file: MemoryFile, like: Run | None, until: str | None) -> tuple[Point, ...]:
    """Return what runs on the same tenants as one made of the file, up to one of them."""
    from slowwave.store.ledger import read_runs

    tenants = [] if like is None else like.options.get("tenant") or []
    points = []
    for run in read_runs(file):
        counts = [(run.report or {}).get(when) for when in ("before", "after")]
        numbers = [one.get("active") for one in counts if isinstance(one, dict)]
        known = [one for one in numbers if isinstance(one, int)]
        if (run.options.get("tenant") or []) == tenants and len(known) == len(counts):
            points.append(Point(day_of(run.started_at), *known))
        if run.id == until:
            break
    return tuple(points)


def _counts(kept: Any) -> dict[str, Any] | None:
    """Return what a run counted; None where it was cut off, or did not count all of it yet."""
    if not isinstance(kept, dict):
        return None
    counts = {name: kept.get(name) for name in ("active", "superseded", "tokens")}
    layers = kept.get("layers")
    found = layers if isinstance(layers, dict) else {}
    of_each = {layer: found.get(layer, 0) for layer in LAYERS}
    # Somebody else may have written what an import brought along.
    if not all(isinstance(one, int) for one in (*counts.values(), *of_each.values())):
        return None
    return {**counts, "layers": of_each}


def _usage(kept: Any) -> dict[str, Any]:
    """Return what a model was asked, as far as a run says so in numbers."""
    from slowwave.consolidation.proposals import Usage

    found = kept if isinstance(kept, dict) else {}
    return {
        name: found[name] if isinstance(found.get(name), (int, float)) else none
        for name, none in asdict(Usage(cost_usd=None)).items()
    }


def _decided(
    one: Decision,
    changes: Sequence[TextChange],
    claims: Sequence[KeptClaim],
    memories: dict[str, ShownMemory],
    file: str,
    carried_out: Decision | None,
) -> ShownProposal:
    before = {each.memory: each.before for each in changes if each.before is not None}
    gone = {each.memory for each in changes if each.after is None}
    if one.state == "approved":
        # Another run did what this one let wait.
        gone = set(kept_from_decision(one).proposal.leaving)
    done = carried_out or one
    survivor = memories.get(one.survivor or "")
    result = done.draft or (None if survivor is None else survivor.content)
    is_merge = one.operation == "merge"
    return ShownProposal(
        one.key,
        one.operation,
        one.tenant,
        one.state,
        one.reason,
        why_it_waited(one, carried_out),
        tuple(
            _said(each, memories, each in gone, before.get(each))
            for each in in_time(one.sources, memories)
            # Of a merge the one that stays is the result.
            if not (is_merge and each == one.survivor)
        ),
        result,
        done.derived or one.survivor,
        _wording(claims),
        undo_command(file, one.key[:_SHORT]) if done.state == "applied" else None,
        approve_command(file, one.key[:_SHORT]) if one.state == "pending" else None,
    )


def _planned(result: Result, memories: dict[str, ShownMemory]) -> ShownProposal:
    proposal = result.proposal
    stays = memories.get(proposal.survivor or "")
    text = proposal.draft.text or (None if stays is None else stays.content)
    return ShownProposal(
        proposal.id,
        proposal.operation,
        proposal.tenant,
        result.state,
        proposal.reason,
        result.why,
        tuple(
            _said(each, memories, result.state in EFFECTIVE and each in proposal.leaving)
            for each in in_time(proposal.sources, memories)
            if not (proposal.keeps_text and each == proposal.survivor)
        ),
        text or None,
        proposal.survivor,
        () if proposal.keeps_text else _wording(proposal.draft.claims),
        None,
    )


def _said(
    memory: str, memories: Mapping[str, ShownMemory], goes: bool, before: str | None = None
) -> ShownSource:
    """Return a memory as it was; what lineage alone remembers has no day."""
    shown = memories.get(memory)
    if shown is None:
        return ShownSource(memory, "", before or _GONE, goes)
    return ShownSource(memory, day_of(shown.observed_at), before or shown.content, goes)


def _wording(claims: Iterable[Signed]) -> tuple[str, ...]:
    worded = Counter(author_of(one) for one in claims if one.written_by)
    return tuple(
        f"{counted(count, 'sentence', 'sentences')} {whose}" for whose, count in worded.items()
    )


def _pairs(found: Sequence[tuple[str, Sequence[str]]], memory_file: Path) -> Pairs:
    """Return pairs, each as why it is one and its memories, with what those say."""
    shown = found[:MOST_PAIRS]
    memories = MemoryTexts(memory_file).memories(memories_of([sources for _, sources in shown]))
    pairs = (
        Pair(why, tuple(_said(each, memories, goes=False) for each in sources))
        for why, sources in shown
    )
    return Pairs(tuple(pairs), len(found))


def _disagreements(conflicts: Iterable[Conflict]) -> list[tuple[str, Sequence[str]]]:
    return [
        (f"{one.slot}: {one.values[0]} against {one.values[1]}; {one.why}", one.sources)
        for one in conflicts
    ]
