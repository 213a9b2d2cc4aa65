"""slowwave undo: runs, or one proposal, taken back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.store.errors import Ambiguous, NotFound, StoreError

from .foreign import FormatOption, StateOption, place_of
from .memory_texts import counted
from .output import Output, clean
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption

if TYPE_CHECKING:
    from slowwave.store.file import MemoryFile
    from slowwave.store.ledger import Decision, Run

# Ids of runs begin with the time: fewer characters of one are soon those of another.
_FEWEST = 8
# From so many proposals on, a person at a terminal is asked first.
_MANY = 20


@dataclass(frozen=True)
class _Chosen:
    """What is to be taken back."""

    # The latest first.
    runs: tuple[Run, ...]
    # Of one run only this; None for all of them.
    proposal: Decision | None
    # How many proposals that is.
    count: int

    def undo(self, file: MemoryFile) -> list[str]:
        """Take it back, and return the proposals' keys."""
        from slowwave.store.records import timestamp
        from slowwave.store.undo.undo import undo_proposal, undo_runs

        now = timestamp(datetime.now(UTC))
        if self.proposal is None:
            return undo_runs(file, [one.id for one in self.runs], now)
        undo_proposal(file, self.proposal.run_id, self.proposal.key, now)
        return [self.proposal.key]

    @property
    def named(self) -> str:
        """What it is, in words."""
        of = "run" if len(self.runs) <= 1 else f"{len(self.runs)} runs since"
        run = self.proposal.run_id if self.proposal else self.runs[-1].id
        return f"{counted(self.count, 'proposal', 'proposals')} of {of} {run}"


def undo(
    file: FileArgument,
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|PROPOSAL]", help=f"Its id, or at least {_FEWEST} characters of its start."
        ),
    ] = None,
    since_run: Annotated[
        str | None,
        typer.Option("--since", metavar="RUN", help="This run and all later ones, latest first."),
    ] = None,
    rehearse: Annotated[
        bool, typer.Option("--dry-run", help="Say whether it can be done, and change nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help=f"Do not ask, however many; above {_MANY} it is asked.")
    ] = False,
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Take back a run or a proposal.

    The memories are then, to the bit, what they were before.
    """
    from slowwave.store.file import open_writing

    if (which is None) == (since_run is None):
        raise typer.BadParameter("Name a run or a proposal, or say --since RUN.")
    output = Output(json, quiet)
    place = place_of(file, format, state, writes=not rehearse)

    def take_back(opened: MemoryFile) -> tuple[_Chosen, list[str]]:
        chosen = _choose(opened, which, since_run)
        return chosen, chosen.undo(opened)

    if not (rehearse or yes) and _sees_questions(output):
        # Before the lock is taken: a question may wait for long.
        with place.reading() as memory_file, open_writing(memory_file) as opened:
            _ask_first(_choose(opened, which, since_run), output)
    chosen, keys = place.rehearse(take_back) if rehearse else place.change(take_back)
    output.result(
        {
            "command": "undo",
            "file": str(file),
            "dry_run": rehearse,
            "run": chosen.proposal.run_id if chosen.proposal else chosen.runs[-1].id,
            "runs": [one.id for one in chosen.runs],
            "proposals": keys,
        }
    )
    if rehearse:
        output.show(clean(f"Dry run: nothing stands in the way of taking back {chosen.named}."))
        return
    output.show(clean(f"Took back {chosen.named}."))
    output.note("They will not be proposed again, unless with: maintain --consolidate --reconsider")


def _sees_questions(output: Output) -> bool:
    """Whether a person sits there."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not output.json and not output.quiet


def _ask_first(chosen: _Chosen, output: Output) -> None:
    """Ask a person before much is taken back; a program means what it says."""
    if chosen.count > _MANY:
        typer.confirm(f"Take back {chosen.named}?", abort=True, err=True)


def _choose(file: MemoryFile, which: str | None, since: str | None) -> _Chosen:
    chosen = _find(file, which) if which is not None else _find_since(file, since or "")
    if not chosen.count:
        raise StoreError(f"Run {chosen.runs[-1].id} applied nothing: nothing to take back.")
    return chosen


def _find(file: MemoryFile, which: str) -> _Chosen:
    run, proposal = _find_run(file, which), _find_proposal(file, which)
    if run is not None and proposal is not None:
        raise Ambiguous(f"Both a run and a proposal begin with '{which}'.", "Give more of the id.")
    if run is not None:
        return _Chosen((run,), None, _count(file, [run]))
    if proposal is not None:
        return _Chosen((), proposal, 1)
    raise NotFound(f"There is no run or proposal '{which}' in {file.path}.", _hint(which))


def _hint(which: str) -> str:
    if len(which) < _FEWEST:
        return f"Give the whole id, or at least its first {_FEWEST} characters."
    return "'slowwave log' lists the runs, 'slowwave log FILE RUN' the proposals of one."


def _find_since(file: MemoryFile, which: str) -> _Chosen:
    from slowwave.store.ledger import read_runs

    first = _find_run(file, which)
    if first is None:
        raise NotFound(f"There is no run '{which}' in {file.path}.", _hint(which))
    runs = read_runs(file)
    later = [one for one in runs if (one.started_at, one.id) >= (first.started_at, first.id)]
    standing = [one for one in later if one.outcome != "undone" and not _is_purge(one)]
    if not standing:
        raise StoreError(f"What runs did since {first.id} is taken back already.")
    return _Chosen(tuple(reversed(standing)), None, _count(file, standing))


def _count(file: MemoryFile, runs: list[Run]) -> int:
    from slowwave.store.ledger import read_decisions

    decided = (one for run in runs for one in read_decisions(file, run.id))
    return sum(one.state == "applied" for one in decided)


def _find_proposal(file: MemoryFile, which: str) -> Decision | None:
    from slowwave.store.ledger import find_applied

    if len(which) < _FEWEST:
        return None
    try:
        return find_applied(file, which)
    except NotFound:
        return None


def _find_run(file: MemoryFile, which: str) -> Run | None:
    from slowwave.store.ledger import read_run

    if len(which) < _FEWEST:
        return None
    try:
        run = read_run(file, which)
    except NotFound:
        return None
    if _is_purge(run):
        raise StoreError(
            f"Run {run.id} was a purge, and a purge cannot be taken back.",
            "'slowwave trace' shows what the purged memories said; a backup has their rows.",
        )
    if run.outcome == "undone":
        raise StoreError(f"Run {run.id} is taken back already.", "There is nothing left to undo.")
    return run


def _is_purge(run: Run) -> bool:
    from slowwave.store.purge import OPTION

    return bool(run.options.get(OPTION))
