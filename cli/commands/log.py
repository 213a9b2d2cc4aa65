"""slowwave log: the runs, or one run with its proposals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.option_rules import refuse_missing
from slowwave.cli.arguments.options import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.files.places import on_place
from slowwave.cli.results.blocks import (
    LEGEND,
    NOT_WANTED,
    ProposalBlock,
    joined,
    result_of,
    source_lines,
)
from slowwave.cli.results.memory_texts import MemoryTexts, ShownMemory, memories_of
from slowwave.cli.results.runs import headline, outcome_now, started, went, writer_of
from slowwave.cli.results.waiting import why_it_waited
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.running.kept_proposal import VECTOR, kept_from_decision
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.store.ageing import PHASE, STATUS_AFTER
from slowwave.store.intake import DROPPED, UNREAD
from slowwave.store.kept_form import KEPT
from slowwave.store.places import Place
from slowwave.store.purge import OPTION

from .log_diff import show_diff
from .log_report import ReportOptions, write_reports
from .log_stats import StatsOptions, show_stats

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from slowwave.store.changes import TextChange
    from slowwave.store.ledger import Decision, Run
    from slowwave.store.lineage import KeptClaim

# So much of an id names a run that did not begin in the same millisecond as another.
_SHORT = 13


@on_place
def log(
    context: typer.Context,
    file: FileArgument,
    place: Place,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The id of a run, or a unique prefix.")
    ] = None,
    *,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            allow_from_autoenv=False,
            help="Show the texts that a run removed (-) and wrote (+).",
        ),
    ] = False,
    report: ReportOptions,
    stats: StatsOptions,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the runs, or show one run with its proposals.

    --diff, --html and --md show the last run unless you specify one.
    """
    refuse_missing(context, (("tenant", ("stats", "prometheus")),))
    output = Output(json, quiet)
    forms = {"--diff": diff, "--html or --md": bool(report.paths), "--stats": stats.wanted}
    if len(named := [name for name, chosen in forms.items() if chosen]) > 1:
        raise typer.BadParameter(f"Pass only one of {', '.join(named)}.")
    if diff:
        show_diff(place, run, output)
        return
    if report.paths:
        write_reports(place, run, report, output)
        return
    if stats.wanted:
        stats.refuse_run(run)
        show_stats(place, stats, output)
        return
    from slowwave.store.changes import read_changes
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import (
        count_states,
        read_applied_approvals,
        read_decisions,
        read_run,
        read_runs,
    )
    from slowwave.store.lineage import read_run_claims

    with place.reading() as memory_file:
        with open_reading(memory_file) as opened:
            if run is None:
                runs, states = read_runs(opened), count_states(opened)
                output.result(
                    {
                        "command": "log",
                        "file": str(file),
                        "runs": [asdict(one) | {"states": states.get(one.id, {})} for one in runs],
                    }
                )
                output.show(
                    _runs_table(runs, states) if runs else "No run has changed this file yet."
                )
                return
            found = read_run(opened, run)
            decisions = read_decisions(opened, found.id)
            carried_out = read_applied_approvals(opened, found.id)
            changes, claims = read_changes(opened, found.id), read_run_claims(opened, found.id)
        output.result(
            {
                "command": "log",
                "file": str(file),
                "run": asdict(found),
                "proposals": [_as_json(one) for one in decisions],
            }
        )
        memories = MemoryTexts(memory_file).memories(
            memories_of([one.sources for one in decisions])
        )
        became = Counter(one.state for one in decisions)
        lines: list[str | Text] = [headline(found, became), _what_it_did(found, decisions)]
        for one in decisions:
            done = carried_out.get(one.key)
            lines += _block(one, changes, claims.get(one.key, ()), memories, done).lines()
        output.show(joined(lines))


def _what_it_did(run: Run, decisions: Sequence[Decision]) -> str:
    if run.options.get(OPTION):
        purged = (run.report or {}).get("purged")
        return "" if purged is None else f"{counted(purged, 'memory', 'memories')} purged."
    if PHASE in run.options:
        return _what_left(run)
    if DROPPED in run.options:
        parts = counted((run.report or {}).get(DROPPED, 0), "part", "parts")
        return f"{parts} of conversations that waited for a model, thrown away: {_named(run)}."
    proposals = f"{counted(len(decisions), 'proposal', 'proposals')}. {LEGEND}"
    return "\n".join([*_unread(run), proposals])


def _named(run: Run) -> str:
    return clean(", ".join(map(str, run.options[DROPPED])))


def _unread(run: Run) -> Iterator[str]:
    """Say what of conversations nobody could read, and why the first of it."""
    unread = (run.report or {}).get(UNREAD) or []
    if unread:
        waits = counted(len(unread), "conversation part waits", "conversation parts wait")
        yield clean(f"{waits} for a model: {unread[0]['why']}")


def _what_left(run: Run) -> str:
    """Say how many memories a phase took out of the active ones."""
    report = run.report or {}
    what = next((one for one in STATUS_AFTER.values() if one in report), None)
    return "" if what is None else f"{counted(report[what], 'memory', 'memories')} {what}."


def _as_json(decision: Decision) -> dict[str, Any]:
    row = asdict(decision)
    row["id"] = row.pop("key")
    # The vector of a draft that waits: hundreds of numbers that say nothing to a reader.
    kept = row["numbers"].get(KEPT)
    if isinstance(kept, dict):
        kept.pop(VECTOR, None)
    return row


def _runs_table(runs: Sequence[Run], states: Mapping[str, Mapping[str, int]]) -> Table:
    from rich.table import Table

    short = {one.id[:_SHORT] for one in runs}
    most = _SHORT if len(short) == len(runs) else None
    # So narrow that it fits 80 columns.
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("run", "started"):
        table.add_column(title, no_wrap=True)
    for title in ("outcome", "memories", "tokens", "writer"):
        table.add_column(title)
    for one in runs:
        numbers = (went(one, "active") or "?", went(one, "tokens") or "?")
        outcome = outcome_now(one.outcome, states.get(one.id, {}))
        cells = (one.id[:most], started(one), outcome, *numbers, str(writer_of(one)))
        table.add_row(*map(clean, cells))
    return table


def _block(
    one: Decision,
    changes: Sequence[TextChange],
    claims: Sequence[KeptClaim],
    memories: dict[str, ShownMemory],
    carried_out: Decision | None,
) -> ProposalBlock:
    gone = {each.memory for each in changes if each.proposal == one.key and each.after is None}
    why = why_it_waited(one, carried_out)
    # Its own run changed nothing, but another one did, or will.
    was_kept = one.state in ("pending", "approved")
    if was_kept:
        kept = kept_from_decision(one)
        gone = set(kept.proposal.leaving)
        why = kept.fault if kept.fault and one.state == "pending" else why
    draft = one.draft if carried_out is None else carried_out.draft
    stands = result_of(one.survivor, memories) if one.operation == "merge" else draft
    return ProposalBlock(
        one.operation,
        one.key,
        one.state,
        f"{one.reason}{_tokens(one, changes, memories)}",
        source_lines(one.sources, one.survivor, gone, memories),
        why,
        # What was not applied, or was taken back, does not stand.
        stands if was_kept or one.state == "applied" else None,
        claims,
        stands if one.state in NOT_WANTED else None,
    )


def _tokens(one: Decision, changes: Sequence[TextChange], memories: dict[str, ShownMemory]) -> str:
    """Return the tokens of an applied proposal's texts, before and after."""
    if one.state != "applied":
        return ""
    changed = [each for each in changes if each.proposal == one.key]
    same = set(one.sources) - {each.memory for each in changed}
    rest = sum(count_tokens(memories[each].content) for each in same & memories.keys())
    before = rest + sum(count_tokens(each.before or "") for each in changed)
    after = rest + sum(count_tokens(each.after or "") for each in changed)
    return f"; {before:,} -> {after:,} tokens"
