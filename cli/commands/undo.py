"""slowwave undo: runs, or one proposal, taken back."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.files.foreign import FormatOption, StateOption, place_of
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import counted
from slowwave.cli.wiki.writing import WikiOption, refuse_unwritable_wiki, write_after_change
from slowwave.store.errors import StoreError
from slowwave.store.intake import DROPPED
from slowwave.store.undo.undoable import FEWEST, Undoable, find_undoable, find_undoable_since

if TYPE_CHECKING:
    from slowwave.store.file import MemoryFile

# From so many proposals on, a person at a terminal is asked first.
_MANY = 20


def undo(
    file: FileArgument,
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|PROPOSAL]", help=f"Its id, or at least {FEWEST} characters of its start."
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
    wiki: WikiOption = None,
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Take back a run or a proposal.

    The memories are then, to the bit, what they were before.
    """
    from slowwave.consolidation.running.review_queue import read_earlier
    from slowwave.store.file import open_writing
    from slowwave.store.ledger import read_waiting
    from slowwave.store.records import timestamp

    if (which is None) == (since_run is None):
        raise typer.BadParameter("Name a run or a proposal, or say --since RUN.")
    if not rehearse:
        refuse_unwritable_wiki(wiki, file)
    output = Output(json, quiet)
    place = place_of(file, format, state, writes=not rehearse)

    def take_back(opened: MemoryFile) -> tuple[Undoable, list[str], list[str], list[str]]:
        chosen = _choose(opened, which, since_run)
        keys = chosen.undo(opened, timestamp(datetime.now(UTC)))
        waiting = {one.key for one in read_waiting(opened)}
        again = [one for one in keys if one in waiting]
        outdated = {one.id for one in read_earlier(opened, ()).outdated} if again else set()
        return chosen, keys, again, [one for one in again if one in outdated]

    if not (rehearse or yes) and _sees_questions(output):
        # Before the lock is taken: a question may wait for long.
        with place.reading() as memory_file, open_writing(memory_file) as opened:
            _ask_first(_choose(opened, which, since_run), output)
    dead_links = place.dead_links()
    chosen, keys, waiting, stale = (
        place.rehearse(take_back) if rehearse else place.change(take_back)
    )
    pages = write_after_change(None if rehearse else wiki, place)
    output.result(
        {
            "command": "undo",
            "file": str(file),
            "dry_run": rehearse,
            "run": chosen.run_id,
            "runs": [one.id for one in chosen.runs],
            "proposals": keys,
            "waiting": waiting,
            "stale": stale,
            **pages.as_json(),
        }
    )
    if rehearse:
        output.show(clean(f"Dry run: nothing stands in the way of taking back {_named(chosen)}."))
        return
    output.show(clean(f"Took back {_named(chosen)}."))
    if (too_full := place.too_full()) is not None:
        output.note(clean(too_full))
    for name in sorted(place.dead_links() - dead_links):
        output.note(clean(f"A link in {file} leads nowhere now: {name}"))
    for remark in _what_follows(chosen, file, len(waiting), len(stale)):
        output.note(remark)
    raise typer.Exit(pages.tell(output, Code.DONE))


def _what_follows(chosen: Undoable, file: Path, waiting: int, stale: int) -> Iterator[str]:
    """Say what becomes of what was taken back; so much of it waits for a person again.

    stale: how much of that cannot be applied any more, since what came later changed its memories.
    """
    if stale:
        count = counted(stale, "proposal is stale", "proposals are stale")
        yield f"{count}: other changes stand in the way. The next night looks at the memories anew."
    if waiting > stale:
        count = counted(waiting - stale, "proposal waits", "proposals wait")
        yield clean(f"{count} for review again: slowwave review {shlex.quote(str(file))}")
    if chosen.messages and not any(DROPPED in run.options for run in chosen.runs):
        yield "The next ingest of these conversations reads them again."
    if any({"taken_up", DROPPED} & run.options.keys() for run in chosen.runs):
        yield (
            "What had waited for a model waits again: the next night with one reads it, unless it "
            f"is thrown away: slowwave ingest {shlex.quote(str(file))} --drop PART"
        )
    if any("experience" in run.options for run in chosen.runs):
        yield "What was learned is not made again of the same traces."
    elif sum(one.operation != "ingest" for one in chosen.applied) > waiting:
        they = "The others" if waiting else "They"
        yield f"{they} will not be proposed again, unless with: maintain --consolidate --reconsider"
    if chosen.aged:
        yield (
            "The next run with the same rules takes them out again, but for what is pinned or "
            "restored: slowwave archive restore"
        )


def _sees_questions(output: Output) -> bool:
    """Whether a person sits there."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not output.json and not output.quiet


def _ask_first(chosen: Undoable, output: Output) -> None:
    """Ask a person before much is taken back; a program means what it says."""
    if len(chosen.applied) + chosen.aged > _MANY:
        typer.confirm(f"Take back {_named(chosen)}?", abort=True, err=True)


def _choose(file: MemoryFile, which: str | None, since: str | None) -> Undoable:
    find = find_undoable_since if which is None else find_undoable
    chosen = find(file, which or since or "")
    if chosen.is_nothing:
        raise StoreError(f"Run {chosen.run_id} applied nothing: nothing to take back.")
    return chosen


def _named(chosen: Undoable) -> str:
    """Say in words what is to be taken back."""
    of = "run" if len(chosen.runs) <= 1 else f"{len(chosen.runs)} runs since"
    parts = []
    if chosen.applied:
        parts.append(counted(len(chosen.applied), "proposal", "proposals"))
    if chosen.aged:
        parts.append(f"what became of {counted(chosen.aged, 'memory', 'memories')}")
    if not parts:
        parts.append(f"that {counted(chosen.messages, 'message', 'messages')} count as read,")
    return f"{' and '.join(parts)} of {of} {chosen.run_id}"
