"""slowwave undo: a run, or one proposal, taken back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.store.errors import NotFound, StoreError

from .output import Output, clean
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption

if TYPE_CHECKING:
    from slowwave.store.file import MemoryFile
    from slowwave.store.ledger import Decision, Run


def undo(
    file: FileArgument,
    which: Annotated[
        str, typer.Argument(metavar="RUN|PROPOSAL", help="Its id, or the start of it.")
    ],
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Take a run, or one proposal, back: the memories are to the bit what they were before."""
    from slowwave.store.check import refuse_damaged
    from slowwave.store.file import maintenance_lock, open_writing
    from slowwave.store.records import timestamp
    from slowwave.store.undo import undo_proposal, undo_run

    now = timestamp(datetime.now(UTC))
    with maintenance_lock(file), open_writing(file) as opened:
        refuse_damaged(opened)
        run = _find_run(opened, which)
        if run is None:
            decision = _find_proposal(opened, which)
            undo_proposal(opened, decision.run_id, decision.key, now)
            run_id, keys = decision.run_id, [decision.key]
        else:
            run_id, keys = run.id, undo_run(opened, run.id, now)
    output = Output(json, quiet)
    output.result({"command": "undo", "file": str(file), "run": run_id, "proposals": keys})
    count = "1 proposal" if len(keys) == 1 else f"{len(keys)} proposals"
    output.show(clean(f"Took back {count} of run {run_id}."))
    output.note("They will not be proposed again, unless with: maintain --consolidate --reconsider")


def _find_proposal(file: MemoryFile, which: str) -> Decision:
    from slowwave.store.ledger import find_applied

    try:
        return find_applied(file, which)
    except NotFound as error:
        message = f"There is no run or proposal '{which}' in {file.path}."
        raise NotFound(message, error.hint) from None


def _find_run(file: MemoryFile, which: str) -> Run | None:
    from slowwave.store.ledger import read_run
    from slowwave.store.purge import OPTION

    try:
        run = read_run(file, which)
    except NotFound:
        return None
    if run.options.get(OPTION):
        raise StoreError(
            f"Run {run.id} was a purge, and a purge cannot be taken back.",
            "'slowwave trace' shows what the purged memories said; a backup has their rows.",
        )
    if run.outcome == "undone":
        raise StoreError(f"Run {run.id} is taken back already.", "There is nothing left to undo.")
    return run
