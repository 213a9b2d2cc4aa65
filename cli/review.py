"""slowwave review: what waits for a person, and what the person decides."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from slowwave.consolidation.proposals import Operation
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.errors import Ambiguous, NotFound, StoreError

from .blocks import LEGEND
from .editor import edited
from .foreign import FormatOption, Place, StateOption, place_of
from .output import Output, clean
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption
from .telling import Telling, counted
from .waiting import Waiting, decided_as_json, decided_as_text, exit_code, read_queue

if TYPE_CHECKING:
    from slowwave.consolidation.running.decide import Decided
    from slowwave.consolidation.running.kept import Kept
    from slowwave.store.file import MemoryFile

Action = Literal["list", "show", "approve", "decline", "edit"]

# Ids of proposals are hashes: so much of one is soon unique.
_FEWEST = 4


@dataclass(frozen=True)
class _Choice:
    """Which of what waits is meant."""

    ids: tuple[str, ...]
    operation: str | None
    everything: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing is named."""
        return not (self.ids or self.operation or self.everything)

    def of(self, queue: Sequence[Waiting]) -> list[Waiting]:
        """Return those that are meant, each once. Raises `NotFound` and `Ambiguous`."""
        wanted = {_match(one, queue).id for one in self.ids}
        return [
            one
            for one in queue
            if (not self.ids or one.id in wanted)
            and (self.operation is None or one.kept.proposal.operation == self.operation)
        ]


def review(
    file: FileArgument,
    action: Annotated[
        Action, typer.Argument(help="What is to be done with those that are named.")
    ] = "list",
    which: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROPOSAL]...", help="Their ids, or the starts of them."),
    ] = None,
    operation: Annotated[Operation | None, typer.Option(help="Those of one operation.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="With decline: why; it is kept, and shown by the log."),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="With edit: what is to be written; without it $EDITOR is opened at a terminal.",
        ),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(metavar="NAME|PATH", help="A sentence-transformers model on this machine."),
    ] = DEFAULT_MODEL,
    format: FormatOption = None,
    state: StateOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List what waits for a person, or show, approve, decline or edit some of it.

    Approving applies a proposal just as it was kept; editing applies it with your words, which are
    checked like any draft. Both can be undone: slowwave undo FILE PROPOSAL.
    """
    choice = _Choice(tuple(which or ()), operation, everything)
    _refuse_wrong_usage(action, choice, reason, text)
    output = Output(json, quiet)
    place = place_of(file, format, state, writes=action not in ("list", "show"))
    if action in ("list", "show"):
        _show(place, choice, action, output)
    elif action == "decline":
        _decline(place, choice, reason, output)
    elif action == "approve":
        _carry_out(place, choice, None, SentenceEmbedder(embedder), output)
    else:
        words = text if text is not None else _words_of_an_editor(place, choice, output)
        _carry_out(place, choice, words, SentenceEmbedder(embedder), output)


def _refuse_wrong_usage(
    action: Action, choice: _Choice, reason: str | None, text: str | None
) -> None:
    if reason is not None and action != "decline":
        raise typer.BadParameter("--reason goes with decline.")
    if text is not None and action != "edit":
        raise typer.BadParameter("--text goes with edit.")
    if action == "edit" and (len(choice.ids) != 1 or choice.operation or choice.everything):
        raise typer.BadParameter("Name the one proposal that is to be edited.")
    if action not in ("list", "show") and choice.is_empty:
        raise typer.BadParameter("Name proposals by their ids, by --operation, or say --all.")
    if choice.everything and choice.ids:
        raise typer.BadParameter("Name proposals, or say --all.")


def _show(place: Place, choice: _Choice, action: Action, output: Output) -> None:
    from slowwave.store.file import open_reading

    with place.reading() as memory_file:
        with open_reading(memory_file) as opened:
            # By its id one is shown whatever was decided about it.
            chosen = choice.of(read_queue(opened, decided=bool(choice.ids)))
        output.result(
            {
                "command": "review",
                "file": str(place.named),
                "action": action,
                "proposals": [one.as_json() for one in chosen],
            }
        )
        telling = Telling(memory_file)
        memories = telling.memories(id_ for one in chosen for id_ in one.kept.proposal.sources)
    if not chosen:
        output.show(clean(f"{place.named}: nothing waits for review."))
        return
    lines = [f"{counted(len(chosen), 'proposal', 'proposals')}. {LEGEND}"]
    for one in chosen:
        lines += one.block(memories).lines()
        lines += one.details(memories) if action == "show" else ()
    named = shlex.quote(str(place.named))
    lines += ["", clean(f"Decide with: slowwave review {named} approve|decline|edit ID")]
    output.show("\n".join(lines))


def _decline(place: Place, choice: _Choice, reason: str | None, output: Output) -> None:
    from slowwave.store.check import refuse_damaged
    from slowwave.store.file import maintenance_lock, open_writing
    from slowwave.store.ledger import decide_waiting
    from slowwave.store.records import timestamp

    now = timestamp(datetime.now(UTC))
    why = f"declined by a person: {reason}" if reason else "declined by a person"

    def decline(memory_file: Path) -> list[Waiting]:
        with maintenance_lock(memory_file), open_writing(memory_file) as opened:
            refuse_damaged(opened)
            chosen = _chosen(opened, choice)
            with opened.transaction():
                for one in chosen:
                    decide_waiting(opened, one.id, "declined", now, why)
            return chosen

    declined = place.change(decline)
    output.result(
        {
            "command": "review",
            "file": str(place.named),
            "action": "decline",
            "run": None,
            "proposals": [one.as_json() | {"state": "declined", "why": why} for one in declined],
        }
    )
    output.show(f"Declined {counted(len(declined), 'proposal', 'proposals')}.")
    output.note("They will not be proposed again, unless with: maintain --consolidate --reconsider")


def _carry_out(
    place: Place,
    choice: _Choice,
    words: str | None,
    embedder: SentenceEmbedder,
    output: Output,
) -> None:
    """Apply what is chosen, with a person's words if there are any, and tell it."""
    from slowwave.consolidation.running.decide import carry_out
    from slowwave.store.file import open_reading

    now = datetime.now(UTC)
    action = "approve" if words is None else "edit"

    def do(memory_file: Path) -> Decided:
        with open_reading(memory_file) as opened:
            chosen = [_worded(opened, one, words) for one in _chosen(opened, choice)]
        return carry_out(memory_file, chosen, embedder, now, action)

    decided = place.change(do)
    output.result(decided_as_json("review", place.named, decided) | {"action": action})
    output.show(decided_as_text(place.named, decided))
    raise typer.Exit(exit_code(decided))


def _worded(opened: MemoryFile, waiting: Waiting, words: str | None) -> Kept:
    from slowwave.consolidation.running.decide import reworded
    from slowwave.store.memories import read_memories

    if words is None:
        return waiting.kept
    memories = list(read_memories(opened, waiting.kept.proposal.sources))
    return reworded(waiting.kept, words, memories)


def _words_of_an_editor(place: Place, choice: _Choice, output: Output) -> str:
    """Let a person change the draft in an editor."""
    from slowwave.store.file import open_reading

    if not sys.stdin.isatty() or output.json or output.quiet:
        raise typer.BadParameter("Say the new text with --text: no terminal is there to ask at.")
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        (waiting,) = _chosen(opened, choice)
    words = edited(waiting.kept.proposal.draft.text)
    if not words:
        raise typer.Abort
    return words


def _chosen(opened: MemoryFile, choice: _Choice) -> list[Waiting]:
    chosen = choice.of(read_queue(opened))
    if not chosen:
        raise StoreError("Nothing of that kind waits for review.", "'slowwave review' lists all.")
    return chosen


def _match(prefix: str, queue: Sequence[Waiting]) -> Waiting:
    exact = {one.id: one for one in queue if one.id == prefix}
    found = exact or {
        one.id: one for one in queue if len(prefix) >= _FEWEST and one.id.startswith(prefix)
    }
    if not found:
        raise NotFound(
            f"No proposal '{prefix}' waits for review.",
            f"'slowwave review' lists all; give at least {_FEWEST} characters of an id.",
        )
    if len(found) > 1:
        raise Ambiguous(f"More than one proposal begins with '{prefix}'.", "Give more of the id.")
    return next(iter(found.values()))
