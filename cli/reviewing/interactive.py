"""Review at a terminal: a person is asked about each pending proposal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from slowwave.cli.terminal.editor import edited
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean, with_file
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.proposal import LEGEND, join_lines, view_waiting
from slowwave.cli.views.review import decided_as_text, exit_code
from slowwave.store.errors import StoreError

from .chosen_proposals import Choice, carry_out_chosen, check_words, decline

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.places import Place

# What each key does; `e` is offered if a text is written.
_KEYS = {
    "y": "apply it",
    "n": "do not apply it, and do not propose it again",
    "e": "apply it in your own words, in $VISUAL or $EDITOR; they are checked like any draft",
    "q": "quit; this proposal and the next ones stay pending: see 'slowwave review FILE'",
    "?": "show this help",
}
_ACCEPTED = "These words are accepted. They are written at the end, with all that you say yes to."
# Operations as nouns, if that is another word.
_NOUNS = {"synthesize": "synthesis", "extract": "extraction"}


def sees_questions() -> bool:
    """Whether a person is at the terminal and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def refuse_to_ask(given: Collection[str], files: int, log_format: str) -> None:
    """Refuse questions that nobody can answer, or whose answers would have no effect."""
    for name in ("dry_run", "json", "quiet", "guard"):
        if name in given:
            option = name.replace("_", "-")
            raise typer.BadParameter(f"--interactive cannot be combined with --{option}.")
    if log_format == "json":
        raise typer.BadParameter("--interactive cannot be combined with --log-format json.")
    if "consolidate" not in given or files > 1:
        raise typer.BadParameter("--interactive requires --consolidate and one file.")
    if not sees_questions():
        raise typer.BadParameter("--interactive needs a terminal; review approve does not.")


def ask_each(place: Place, embedder: Embedder, output: Output) -> Code:
    """Ask about each pending proposal, carry out the answers, and return the exit code.

    Answers are carried out together at the end: Ctrl-C before that changes nothing. A person's
    words are checked at once. Raises `StoreError`.
    """
    # A question may be interrupted, as a night may.
    signals_of_this_command().open()
    answers = _Answers(place, embedder, output)
    pending = _applicable(place)
    count = counted(len(pending), "proposal", "proposals")
    output.show(clean(f"{place.named}: {count}. {LEGEND}"))
    for number, waiting in enumerate(pending, start=1):
        if not answers.ask(waiting, f"({number}/{len(pending)})"):
            break
    code = answers.carry_out()
    left = len(_applicable(place))
    if left:
        count = counted(left, "proposal waits", "proposals wait")
        named = shlex.quote(str(place.named))
        output.show(clean(f"{count}. Decide with: slowwave review {named}"))
    return code


@dataclass
class _Answers:
    """A person's answers so far."""

    place: Place
    embedder: Embedder
    output: Output
    # The ids of what is approved, with the person's words if there are any.
    yes: dict[str, str | None] = field(default_factory=dict)
    no: list[str] = field(default_factory=list)

    def ask(self, waiting: WaitingProposal, position: str) -> bool:
        """Ask about a proposal; return whether to go on."""
        self.output.show(join_lines(view_waiting(waiting).lines()))
        proposal = waiting.kept.proposal
        noun = _NOUNS.get(proposal.operation, proposal.operation)
        keys = [key for key in _KEYS if key != "e" or not proposal.keeps_text]
        while True:
            answer = _answer(f"{position} Apply this {noun} [{','.join(keys)}]? ")
            if answer == "q":
                return False
            if answer == "n":
                self.no.append(waiting.id)
                return True
            if answer == "y":
                self.yes[waiting.id] = None
                return True
            if answer == "e" and answer in keys:
                if self._edit(waiting):
                    return True
            else:
                self.output.show(with_file("\n".join(f"{key} - {_KEYS[key]}" for key in keys)))

    def _edit(self, waiting: WaitingProposal) -> bool:
        """Let the person change the draft; return whether the new text can be applied."""
        from slowwave.consolidation.running.approval import ReviewResult

        try:
            words = edited(waiting.kept.proposal.draft.text)
            if not words:
                return False
            with shown_progress(self.output.quiet) as progress:
                checked = check_words(self.place, waiting.id, words, self.embedder, progress)
        except StoreError as error:
            self.output.show(clean(error.message), clean(error.hint))
            return False
        if checked.state != "planned":
            self._show(ReviewResult(None, (checked,)))
            return False
        self.yes[waiting.id] = words
        self.output.show(_ACCEPTED)
        return True

    def carry_out(self) -> Code:
        """Carry out the answers, and return the exit code."""
        code = Code.DONE
        if self.no:
            decline(self.place, Choice(tuple(self.no)), None)
        if self.yes:
            with shown_progress(self.output.quiet) as progress:
                choice = Choice(tuple(self.yes))
                decided = carry_out_chosen(self.place, choice, self.yes, self.embedder, progress)
            self._show(decided)
            code = exit_code(decided)
        if self.no:
            self.output.show(f"{counted(len(self.no), 'proposal', 'proposals')} declined.")
        return code

    def _show(self, decided: ReviewResult) -> None:
        self.output.show(decided_as_text(self.place.named, decided))


def _applicable(place: Place) -> list[WaitingProposal]:
    """Return the pending proposals that can still be applied."""
    from slowwave.consolidation.running.review_queue import read_queue
    from slowwave.store.file import open_reading

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        return [waiting for waiting in read_queue(opened) if waiting.stale is None]


def _answer(question: str) -> str:
    """Return the first letter of an answer; the end of the input quits."""
    try:
        return input(question).strip().lower()[:1]
    except EOFError:
        return "q"
