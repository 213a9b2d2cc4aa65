"""slowwave review: the pending proposals, and what a person decides about them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.configured import VerbGroup, group_of
from slowwave.cli.arguments.options import (
    EmbedderOption,
    IncludeProtectedOption,
    OutputOptions,
    per_call,
    worker_of,
)
from slowwave.cli.nights.chosen_proposals import apply_chosen
from slowwave.cli.nights.chosen_proposals import approve as approve_at
from slowwave.cli.nights.chosen_proposals import decline as decline_chosen
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean, with_file
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.memory import ids_in, read_views
from slowwave.cli.views.proposal import LEGEND, view_pending
from slowwave.cli.views.review import pending_as_json, pending_details, report_decided
from slowwave.consolidation.proposals import Operation
from slowwave.consolidation.running.review_queue import (
    Choice,
    PendingProposal,
    describe_decision,
    find_pending,
    read_queue,
)
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.ledger import read_applied_approvals
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import Approval, ReviewResult


@dataclass(frozen=True)
class Chosen:
    """Which proposals a sub-command refers to."""

    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROPOSAL", help="Ids of proposals, or unique prefixes."),
    ] = None
    operation: Annotated[Operation | None, per_call(help="Only proposals of this operation.")] = (
        None
    )
    everything: Annotated[bool, per_call("--all", help="Select all pending proposals.")] = False

    def choice(self) -> Choice:
        """Return the choice; by default, all. Raises wrong usage."""
        if self.everything and self.ids:
            raise typer.BadParameter("Pass only one of ids and --all.")
        return Choice(tuple(self.ids or ()), self.operation)

    def explicit_choice(self) -> Choice:
        """Return the choice. Raises wrong usage if none was made."""
        if not (self.ids or self.operation or self.everything):
            raise typer.BadParameter(
                "Specify proposals by their ids, or pass --operation or --all."
            )
        return self.choice()


def list_pending(
    place: Place,
    chosen: Chosen,
    *,
    tui: Annotated[
        bool,
        per_call(
            "--tui",
            help="Open a full-screen interface (keyboard or mouse). Requires the extra 'tui'.",
        ),
    ] = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    output: OutputOptions,
) -> None:
    """List the pending proposals. Same as 'slowwave review FILE'."""
    choice = chosen.choice()
    if not tui:
        _show(place, choice, "list", output)
        return
    if output.json or output.quiet:
        raise typer.BadParameter("--tui cannot be combined with --json or --quiet.")
    place.refuse_changes()
    show_screen = worker_of("tui")
    output.show(clean(show_screen(place, choice, SentenceEmbedder(embedder))))


def show(
    place: Place,
    chosen: Chosen,
    *,
    output: OutputOptions,
) -> None:
    """Show proposals with their sources and checks."""
    _show(place, chosen.choice(), "show", output)


def approve(
    place: Place,
    chosen: Chosen,
    *,
    embedder: EmbedderOption = DEFAULT_MODEL,
    output: OutputOptions,
) -> None:
    """Apply proposals exactly as they are shown. To undo one: slowwave undo FILE PROPOSAL."""
    choice = chosen.explicit_choice()
    place.refuse_changes()
    decided = _approve(place, "approve", partial(apply_chosen, choice, None), embedder, output)
    raise typer.Exit(report_decided("review", place, decided, output, action="approve"))


def decline(
    place: Place,
    chosen: Chosen,
    *,
    reason: Annotated[
        str | None, per_call(metavar="TEXT", help="The reason, which 'slowwave log' shows.")
    ] = None,
    output: OutputOptions,
) -> None:
    """Decline proposals: no later run proposes them again."""
    choice = chosen.explicit_choice()
    place.refuse_changes()
    declined = decline_chosen(place, choice, reason)
    output.show(f"Declined {counted(len(declined), 'proposal')}.")
    proposals = list(map(pending_as_json, declined))
    output.result("review", file=str(place.named), action="decline", run=None, proposals=proposals)
    they = "It" if len(declined) == 1 else "They"
    output.note(
        f"{they} will not be proposed again, unless you run: slowwave maintain FILE --reconsider"
    )


def edit(
    place: Place,
    prefix: Annotated[
        str, typer.Argument(metavar="PROPOSAL", help="The id of a proposal, or a unique prefix.")
    ],
    text: Annotated[
        str | None,
        per_call(metavar="TEXT", help="The new text. Without it, opens $EDITOR at a terminal."),
    ] = None,
    embedder: EmbedderOption = DEFAULT_MODEL,
    *,
    output: OutputOptions,
) -> None:
    """Apply a proposal in your own words, which are checked like any draft."""
    choice = Choice((prefix,))
    place.refuse_changes()
    words = text if text is not None else _words_of_an_editor(place, choice, output)
    code: int = Code.FAILED
    try:
        decided = _approve(place, "edit", partial(apply_chosen, choice, words), embedder, output)
        code = report_decided("review", place, decided, output, action="edit")
    finally:
        if text is None and code != Code.DONE:
            output.note("The text from the editor:", *words.splitlines())
    raise typer.Exit(code)


def apply(
    place: Place,
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A plan of 'maintain --dry-run --plan-out', from which you may delete proposals.",
        ),
    ],
    include_protected: IncludeProtectedOption = False,
    reconsider: Annotated[
        bool, typer.Option("--reconsider", help="Also apply proposals that were declined since.")
    ] = False,
    embedder: EmbedderOption = DEFAULT_MODEL,
    *,
    output: OutputOptions,
) -> None:
    """Apply the proposals that are left in a plan.

    Skip, as stale, any proposal that a run would no longer make. Reject what a model wrote.
    """
    from slowwave.consolidation.running.plan_file import apply_plan, read_plan

    place.refuse_changes()
    entries = read_plan(plan)
    apply_entries = partial(apply_plan, entries, include_protected, reconsider)
    decided = _approve(place, "plan", apply_entries, embedder, output)
    raise typer.Exit(report_decided("apply", place, decided, output))


def _show(place: Place, choice: Choice, action: str, output: Output) -> None:
    with place.reading() as memory_file:
        with open_reading(memory_file) as opened:
            # A proposal that is named is shown even if it was decided.
            chosen = choice.of(read_queue(opened, decided=bool(choice.ids)))
            approved = {
                pending.decision.run_id
                for pending in chosen
                if pending.decision.state == "approved"
            }
            applied = {run_id: read_applied_approvals(opened, run_id) for run_id in approved}
        proposals = list(map(pending_as_json, chosen))
        output.result("review", file=str(place.named), action=action, proposals=proposals)
        ids = ids_in(pending.proposal.sources for pending in chosen)
        memories = read_views(memory_file, ids)
    if not chosen:
        output.show(clean(f"{place.named}: no pending proposals."))
        return
    lines = [f"{counted(len(chosen), 'proposal')}. {LEGEND}"]
    for pending in chosen:
        approval = applied.get(pending.decision.run_id, {}).get(pending.id)
        view, is_shown = view_pending(pending, memories, approval), action == "show"
        lines += view.lines(is_shown, whole=is_shown or bool(choice.ids))
        lines += pending_details(pending, memories, approval) if is_shown else ()
    output.show("\n".join([*lines, "", *_what_can_be_done(chosen)]))


def _what_can_be_done(chosen: Sequence[PendingProposal]) -> Iterator[str]:
    """Yield how to decide the pending proposals, and what was decided on the rest."""
    for pending in chosen:
        if pending.decision.state != "pending":
            yield clean(with_file(" ".join(describe_decision(pending.decision))))
    still_pending = [pending for pending in chosen if pending.decision.state == "pending"]
    if still_pending:
        is_stale = all(pending.stale for pending in still_pending)
        ways = "decline" if is_stale else "approve|decline|edit"
        together = "" if is_stale else ", or apply all: slowwave review approve FILE --all"
        yield with_file(f"Decide with: slowwave review {ways} FILE ID{together}")
    if any(pending.result.fault for pending in still_pending):
        yield (
            "A damaged proposal can only be declined; the next run withdraws it, and considers "
            "its memories again."
        )


def _approve(
    place: Place,
    way: str,
    apply: Callable[[Approval], ReviewResult],
    embedder: str,
    output: OutputOptions,
) -> ReviewResult:
    """Apply proposals as one run. way, apply: as in `approve`."""
    with shown_progress(output.quiet) as progress:
        model, signals = SentenceEmbedder(embedder), signals_of_this_command()
        return approve_at(place, way, apply, model, progress, signals)


def _words_of_an_editor(place: Place, choice: Choice, output: Output) -> str:
    from slowwave.consolidation.running.approval import with_text

    if not sys.stdin.isatty() or output.json or output.quiet:
        raise typer.BadParameter(
            "Specify the new text with --text: there is no terminal to open an editor in."
        )
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        (pending,) = find_pending(opened, choice)
    draft = pending.proposal.draft.text
    with_text(pending.result, draft, ())  # refuses a proposal that writes no text
    words = _edited(draft)
    if not words:
        raise typer.Abort
    return words


def _edited(text: str) -> str | None:
    """Open a text in $VISUAL, $EDITOR or vi, and return the saved text; None if unchanged.

    Raises `StoreError` if the editor does not run, or fails.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    # Only its owner can read the folder: memories are private.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draft.txt"
        path.write_text(f"{text}\n", "utf-8")
        try:
            # It is the user's own program.
            subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603
            saved_text = path.read_text("utf-8").strip()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise StoreError(
                f"The editor '{editor}' failed: {error}.", "Specify the text with --text."
            ) from error
    return None if saved_text == text.strip() else saved_text


app = group_of(
    "review",
    "Review pending proposals.",
    {
        "list": list_pending,
        "show": show,
        "approve": approve,
        "decline": decline,
        "edit": edit,
        "apply": apply,
    },
    VerbGroup,
)
