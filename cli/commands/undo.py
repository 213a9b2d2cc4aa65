"""slowwave undo: undo a run or a proposal, or make a memory active again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

from slowwave.cli.arguments.options import DryRunOption, OutputOptions, per_call
from slowwave.cli.terminal.output import clean, sees_questions
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.run import describe_forgotten
from slowwave.store.ageing import restore_memory
from slowwave.store.errors import Ambiguous, NotFound, StoreError
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.ledger import Decision, read_pending
from slowwave.store.places import Place
from slowwave.store.records import Memory, timestamp
from slowwave.store.undo.undoable import (
    MIN_PREFIX,
    Undoable,
    find_last_undoable,
    find_undoable,
)

# With more proposals and memories, a person at a terminal is asked first.
_MAX_UNASKED = 20


@dataclass(frozen=True)
class _Undone:
    """What was undone, and which of its proposals are pending again."""

    chosen: Undoable
    keys: list[str]
    pending: list[str]
    # The pending ones that cannot be applied, since their memories have changed.
    stale: list[str]


def undo(
    place: Place,
    prefix: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|PROPOSAL|MEMORY",
            help=f"An id, or at least its first {MIN_PREFIX} characters. Default: the last run "
            "that changed anything.",
        ),
    ] = None,
    last: Annotated[
        bool,
        per_call(
            "--last",
            help="Undo the last run that changed anything, without asking unless it applied many "
            "proposals.",
        ),
    ] = False,
    dry_run: DryRunOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    *,
    output: OutputOptions,
) -> None:
    """Undo a run or a proposal, or make an inactive memory active again.

    Restores the memories exactly as they were before the run. A reactivated memory keeps its
    lineage. At a terminal, asks for confirmation if you do not name a run or if it applied many
    proposals.
    """
    if last and prefix is not None:
        raise typer.BadParameter("Pass only one of an id and --last.")
    if not dry_run:
        place.refuse_changes()
    confirmed: Undoable | None = None
    if not (dry_run or yes) and sees_questions(output):
        # Before the lock is taken: a question may stay open for long. Memories need no question.
        with (
            suppress(NotFound),
            place.reading() as memory_file,
            open_reading(memory_file) as opened,
        ):
            chosen = _choose(opened, prefix)
            is_named = last or prefix is not None
            # Before much is undone, or a run that nobody has named.
            if not is_named or len(chosen.applied) + chosen.aged > _MAX_UNASKED:
                typer.confirm(f"Undo {_named(chosen)}?", abort=True, err=True)
                confirmed = chosen
    dead_links = place.dead_links()

    def do(opened: MemoryFile) -> _Undone | Memory:
        if confirmed is not None and _choose(opened, prefix) != confirmed:
            raise StoreError(
                f"{place.named} has changed since.", "Nothing was changed. Run it again."
            )
        return _undo(opened, prefix)

    undone = place.dry_run(do) if dry_run else place.change(do)
    if isinstance(undone, Memory):
        _report_restored(undone, place, dry_run, output)
        return
    chosen = undone.chosen
    verdict = "Dry run: nothing prevents undoing" if dry_run else "Undid"
    output.show(clean(f"{verdict} {_named(chosen)}."))
    output.result(
        "undo",
        file=str(place.named),
        dry_run=dry_run,
        run=chosen.run_id,
        runs=[] if chosen.run is None else [chosen.run_id],
        proposals=undone.keys,
        waiting=undone.pending,
        stale=undone.stale,
        forgotten_at=chosen.forgotten_at,
    )
    if dry_run:
        return
    notes = [
        f"A link in {place.named} is broken now: {name}" for name in place.dead_links() - dead_links
    ]
    for note in (*sorted(notes), *_next_steps(undone)):
        output.note(note)


def _undo(opened: MemoryFile, prefix: str | None) -> _Undone | Memory:
    """Undo the choice, or make the memory active again whose id it is."""
    from slowwave.consolidation.running.review_queue import read_earlier

    now = timestamp(datetime.now(UTC))
    try:
        chosen = _choose(opened, prefix)
    except NotFound as error:
        if prefix is None:
            raise
        try:
            return restore_memory(opened, prefix, now)
        except (NotFound, Ambiguous) as unfound:
            if len(prefix) < MIN_PREFIX:
                raise error from None
            if isinstance(unfound, Ambiguous):
                raise
            sentence = f"There is no run, proposal or memory '{prefix}' in {opened.path}."
            raise NotFound(sentence, error.hint) from None
    keys = chosen.undo(opened, now)
    pending_keys = {proposal.key for proposal in read_pending(opened)}
    pending = [key for key in keys if key in pending_keys]
    outdated = {proposal.id for proposal in read_earlier(opened, ()).outdated} if pending else ()
    return _Undone(chosen, keys, pending, [key for key in pending if key in outdated])


def _report_restored(memory: Memory, place: Place, dry_run: bool, output: OutputOptions) -> None:
    fields = {"id": memory.id} | ({"dry_run": True} if dry_run else {})
    verdict = "Dry run: would make active again" if dry_run else "Active again"
    output.show(clean(f"{verdict}: {memory.id} {memory.content}"))
    output.result("restore", file=str(place.named), **fields)


def _next_steps(undone: _Undone) -> Iterator[str]:
    """Yield what the next run or ingest does with what was undone."""
    chosen, pending, stale = undone.chosen, len(undone.pending), len(undone.stale)
    options = {} if chosen.run is None else chosen.run.options
    if chosen.forgotten_at is not None:
        yield describe_forgotten(chosen.forgotten_at)
    if stale:
        count = counted(stale, "proposal is stale", "proposals are stale")
        yield f"{count}: other changes conflict with it. The next run plans these memories again."
    if pending > stale:
        count = counted(pending - stale, "proposal is", "proposals are")
        yield f"{count} pending again: slowwave review FILE"
    if chosen.messages:
        yield "The next ingest of these conversations reads them again."
    if "taken_up" in options:
        yield "Parts of conversations are queued for a model again."
    if "experience" in options:
        yield "The same traces are not compressed again."
    elif (planned := len(_planned(chosen))) > pending:
        they = "The rest" if pending else "It" if planned == 1 else "They"
        yield (
            f"{they} will not be proposed again, unless you run: "
            "slowwave maintain FILE --reconsider"
        )
    if chosen.aged:
        yield (
            "The next run with the same rules archives or expires them again, except memories "
            "that you pin: slowwave correct FILE MEMORY --pin"
        )


def _choose(file: MemoryFile, prefix: str | None) -> Undoable:
    chosen = find_last_undoable(file) if prefix is None else find_undoable(file, prefix)
    if chosen.is_empty:
        hint = describe_forgotten(chosen.forgotten_at) if chosen.forgotten_at else ""
        raise StoreError(f"Run {chosen.run_id} applied nothing: there is nothing to undo.", hint)
    return chosen


def _planned(chosen: Undoable) -> list[Decision]:
    """Return its proposals; what was learned, ingested or corrected compares no memories."""
    return [decision for decision in chosen.applied if "mean_similarity" in decision.numbers]


def _named(chosen: Undoable) -> str:
    parts = []
    if planned := len(_planned(chosen)):
        parts.append(counted(planned, "proposal"))
    if changes := len(chosen.applied) - planned:
        parts.append(counted(changes, "change"))
    if chosen.aged:
        parts.append(f"the expiry or archiving of {counted(chosen.aged, 'memory', 'memories')}")
    if not parts:
        read = counted(chosen.messages, "message")
        queued = counted(chosen.parts, "conversation part")
        parts.append(f"the reading of {read}" if chosen.messages else f"the queuing of {queued}")
    return f"{' and '.join(parts)} of run {chosen.run_id}"
