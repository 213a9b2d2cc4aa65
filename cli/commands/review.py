"""slowwave review: proposals that wait for a person, and what the person decides."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.extension_options import worker_of
from slowwave.cli.arguments.options import (
    ConfigOption,
    EmbedderOption,
    FileArgument,
    JsonOption,
    QuietOption,
)
from slowwave.cli.files.places import on_place
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
from slowwave.cli.results.wiki import WikiOption, refuse_unwritable_wiki, write_after_change
from slowwave.cli.reviewing.chosen_proposals import (
    Choice,
    carry_out_chosen,
    chosen_of,
)
from slowwave.cli.reviewing.chosen_proposals import (
    decline as decline_chosen,
)
from slowwave.cli.reviewing.decided_before import what_became
from slowwave.cli.reviewing.interactive import ask_each, sees_questions
from slowwave.cli.terminal.editor import edited
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.wording import counted
from slowwave.consolidation.proposals import Operation
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.places import Place

if TYPE_CHECKING:
    from rich.text import Text

    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.consolidation.vectors.embedder import Embedder

OperationOption = Annotated[
    Operation | None,
    typer.Option(allow_from_autoenv=False, help="Only proposals of this operation."),
]
EverythingOption = Annotated[
    bool, typer.Option("--all", allow_from_autoenv=False, help="All pending proposals.")
]
WhichArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="PROPOSAL", help="Their ids, or unique prefixes."),
]


@dataclass(frozen=True)
class Chosen:
    """Which proposals a sub-command is about."""

    operation: OperationOption = None
    everything: EverythingOption = False

    def among(self, which: Sequence[str] | None, needed: bool) -> Choice:
        """Return the choice. Raises `typer.BadParameter` if one is needed and none was made."""
        choice = Choice(tuple(which or ()), self.operation, self.everything)
        if needed and choice.is_empty:
            raise typer.BadParameter(
                "Specify proposals by their ids, or pass --operation or --all."
            )
        if choice.everything and choice.ids:
            raise typer.BadParameter("Specify proposals, or pass --all: not both.")
        return choice


@on_place
def list_waiting(
    file: FileArgument,
    place: Place,
    which: WhichArgument = None,
    *,
    chosen: Chosen,
    tui: Annotated[
        bool,
        typer.Option(
            "--tui",
            allow_from_autoenv=False,
            help="Decide on a screen, with keys or the mouse. Needs slowwave[tui].",
        ),
    ] = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    wiki: WikiOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the pending proposals. Same as 'slowwave review FILE'."""
    choice = chosen.among(which, needed=False)
    output = Output(json, quiet)
    if not tui:
        _show(place, choice, "list", output)
        return
    if json or quiet:
        raise typer.BadParameter("--tui cannot be combined with --json or --quiet.")
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, file)
    show_screen = worker_of("tui")
    output.show(clean(show_screen(place, choice, SentenceEmbedder(embedder))))
    raise typer.Exit(write_after_change(wiki, place).tell(output, Code.DONE))


@on_place
def show(
    file: FileArgument,
    place: Place,
    which: WhichArgument = None,
    *,
    chosen: Chosen,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show proposals with their sources and checks."""
    _show(place, chosen.among(which, needed=False), "show", Output(json, quiet))


@on_place
def approve(
    file: FileArgument,
    place: Place,
    which: WhichArgument = None,
    *,
    chosen: Chosen,
    embedder: EmbedderOption = DEFAULT_MODEL,
    wiki: WikiOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Apply proposals exactly as they are shown. To undo one: slowwave undo FILE PROPOSAL."""
    choice = chosen.among(which, needed=True)
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, file)
    _carry_out(place, choice, None, SentenceEmbedder(embedder), wiki, Output(json, quiet))


@on_place
def decline(
    file: FileArgument,
    place: Place,
    which: WhichArgument = None,
    *,
    chosen: Chosen,
    reason: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            allow_from_autoenv=False,
            help="The reason, which 'slowwave log' shows.",
        ),
    ] = None,
    wiki: WikiOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Decline proposals: no later run proposes them again."""
    choice = chosen.among(which, needed=True)
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, file)
    _decline(place, choice, reason, wiki, Output(json, quiet))


@on_place
def edit(
    file: FileArgument,
    place: Place,
    which: Annotated[
        str, typer.Argument(metavar="PROPOSAL", help="The id of a proposal, or a unique prefix.")
    ],
    text: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            allow_from_autoenv=False,
            help="The new text. Without it, opens $EDITOR at a terminal.",
        ),
    ] = None,
    embedder: EmbedderOption = DEFAULT_MODEL,
    wiki: WikiOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Apply a proposal in your own words, which are checked like any draft."""
    choice = Choice((which,), None, False)
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, file)
    output = Output(json, quiet)
    words = text if text is not None else _words_of_an_editor(place, choice, output)
    _carry_out(place, choice, words, SentenceEmbedder(embedder), wiki, output)


@on_place
def ask(
    file: FileArgument,
    place: Place,
    embedder: EmbedderOption = DEFAULT_MODEL,
    wiki: WikiOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask about each proposal at the terminal, then apply all answers together."""
    if json or quiet:
        raise typer.BadParameter("review ask cannot be combined with --json or --quiet.")
    if not sees_questions():
        raise typer.BadParameter("review ask needs a terminal; review approve does not.")
    place.refuse_changes()
    refuse_unwritable_wiki(wiki, file)
    output = Output(json, quiet)
    code = ask_each(place, SentenceEmbedder(embedder), output)
    raise typer.Exit(write_after_change(wiki, place).tell(output, code))


def _show(place: Place, choice: Choice, action: str, output: Output) -> None:
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
        yield clean(f"Decide with: slowwave review {ways} {shlex.quote(str(place.named))} ID")
    if any(one.kept.fault for one in waiting):
        yield (
            "What cannot be read can only be declined; the next night withdraws it, and looks at "
            "its memories anew."
        )


def _decline(
    place: Place, choice: Choice, reason: str | None, wiki: Path | None, output: Output
) -> None:
    declined = decline_chosen(place, choice, reason)
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
    output.note(f"{they} will not be proposed again, unless with: maintain --reconsider")
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
        raise typer.BadParameter(
            "Specify the new text with --text: there is no terminal to open an editor in."
        )
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        (waiting,) = chosen_of(opened, choice)
    words = edited(waiting.kept.proposal.draft.text)
    if not words:
        raise typer.Abort
    return words
