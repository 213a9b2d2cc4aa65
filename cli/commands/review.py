"""slowwave review: what waits for a person, and what the person decides."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from slowwave.cli.arguments.options import (
    ConfigOption,
    EmbedderOption,
    FileArgument,
    JsonOption,
    QuietOption,
)
from slowwave.cli.files.foreign import FormatOption, Place, StateOption, place_of
from slowwave.cli.results.blocks import LEGEND, joined
from slowwave.cli.results.memory_texts import MemoryTexts
from slowwave.cli.results.waiting import (
    decided_as_json,
    decided_as_text,
    exit_code,
    waiting_as_json,
    waiting_block,
    waiting_details,
)
from slowwave.cli.reviewing.chosen_proposals import Choice, carry_out_chosen, chosen_of, decline
from slowwave.cli.reviewing.decided_before import what_became
from slowwave.cli.terminal.editor import edited
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import counted
from slowwave.cli.wiki.writing import WikiOption, refuse_unwritable_wiki, write_after_change
from slowwave.consolidation.proposals import Operation
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

if TYPE_CHECKING:
    from rich.text import Text

    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.consolidation.vectors.embedder import Embedder

Action = Literal["list", "show", "approve", "decline", "edit"]


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
    tui: Annotated[
        bool,
        typer.Option(
            "--tui", help="Decide at a screen, with keys or the mouse; it comes with slowwave[tui]."
        ),
    ] = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    wiki: WikiOption = None,
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
    choice = Choice(tuple(which or ()), operation, everything)
    _refuse_wrong_usage(action, choice, reason, text)
    if tui and (action != "list" or json or quiet):
        raise typer.BadParameter("--tui goes with no action, and not with --json or --quiet.")
    writes = tui or action not in ("list", "show")
    if writes:
        refuse_unwritable_wiki(wiki, file)
    output = Output(json, quiet)
    place = place_of(file, format, state, writes=writes)
    if tui:
        from slowwave.cli.tui.start import show_screen

        output.show(clean(show_screen(place, choice, SentenceEmbedder(embedder))))
        raise typer.Exit(write_after_change(wiki, place).tell(output, Code.DONE))
    if action in ("list", "show"):
        _show(place, choice, action, output)
    elif action == "decline":
        _decline(place, choice, reason, wiki, output)
    elif action == "approve":
        _carry_out(place, choice, None, SentenceEmbedder(embedder), wiki, output)
    else:
        words = text if text is not None else _words_of_an_editor(place, choice, output)
        _carry_out(place, choice, words, SentenceEmbedder(embedder), wiki, output)


def _refuse_wrong_usage(
    action: Action, choice: Choice, reason: str | None, text: str | None
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


def _show(place: Place, choice: Choice, action: Action, output: Output) -> None:
    from slowwave.consolidation.running.review_queue import read_queue
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import read_applied_approvals

    with place.reading() as memory_file:
        with open_reading(memory_file) as opened:
            # By its id one is shown whatever was decided about it.
            chosen = choice.of(read_queue(opened, decided=bool(choice.ids)))
            carried_out = {
                one.id: found
                for one in chosen
                if one.decision.state == "approved"
                and (found := read_applied_approvals(opened, one.decision.run_id).get(one.id))
            }
        output.result(
            {
                "command": "review",
                "file": str(place.named),
                "action": action,
                "proposals": list(map(waiting_as_json, chosen)),
            }
        )
        memory_texts = MemoryTexts(memory_file)
        memories = memory_texts.memories(id_ for one in chosen for id_ in one.kept.proposal.sources)
    if not chosen:
        output.show(clean(f"{place.named}: nothing waits for review."))
        return
    lines: list[str | Text] = [f"{counted(len(chosen), 'proposal', 'proposals')}. {LEGEND}"]
    for one in chosen:
        done = carried_out.get(one.id)
        lines += waiting_block(one, memories, done).lines()
        lines += waiting_details(one, memories, done) if action == "show" else ()
    output.show(joined([*lines, "", *_what_can_be_done(place, chosen)]))


def _what_can_be_done(place: Place, chosen: Sequence[WaitingProposal]) -> Iterator[str]:
    """Say how what waits is decided about, and of the rest that it is."""
    for one in chosen:
        if one.decision.state != "pending":
            yield clean(" ".join(what_became(one.decision)))
    waiting = [one for one in chosen if one.decision.state == "pending"]
    if waiting:
        ways = "decline" if all(one.stale for one in waiting) else "approve|decline|edit"
        yield clean(f"Decide with: slowwave review {shlex.quote(str(place.named))} {ways} ID")
    if any(one.kept.fault for one in waiting):
        yield (
            "What cannot be read can only be declined; the next night withdraws it, and looks at "
            "its memories anew."
        )


def _decline(
    place: Place, choice: Choice, reason: str | None, wiki: Path | None, output: Output
) -> None:
    declined = decline(place, choice, reason)
    pages = write_after_change(wiki, place)
    output.result(
        {
            "command": "review",
            "file": str(place.named),
            "action": "decline",
            "run": None,
            "proposals": list(map(waiting_as_json, declined)),
            **pages.as_json(),
        }
    )
    output.show(f"Declined {counted(len(declined), 'proposal', 'proposals')}.")
    they = "It" if len(declined) == 1 else "They"
    output.note(
        f"{they} will not be proposed again, unless with: maintain --consolidate --reconsider"
    )
    raise typer.Exit(pages.tell(output, Code.DONE))


def _carry_out(
    place: Place,
    choice: Choice,
    words: str | None,
    embedder: Embedder,
    wiki: Path | None,
    output: Output,
) -> None:
    with shown_progress(output.quiet) as progress:
        decided = carry_out_chosen(place, choice, words, embedder, progress)
    pages = write_after_change(wiki, place)
    action = "approve" if words is None else "edit"
    result = decided_as_json("review", place.named, decided) | {"action": action}
    output.result(result | pages.as_json())
    output.show(decided_as_text(place.named, decided))
    raise typer.Exit(pages.tell(output, exit_code(decided)))


def _words_of_an_editor(place: Place, choice: Choice, output: Output) -> str:
    """Let a person change the draft in an editor."""
    from slowwave.store.file import open_reading

    if not sys.stdin.isatty() or output.json or output.quiet:
        raise typer.BadParameter("Say the new text with --text: no terminal is there to ask at.")
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        (waiting,) = chosen_of(opened, choice)
    words = edited(waiting.kept.proposal.draft.text)
    if not words:
        raise typer.Abort
    return words
