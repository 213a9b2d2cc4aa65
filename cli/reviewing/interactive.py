"""Proposal by proposal at a terminal: a person is asked what is to be done."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from slowwave.cli.results.memory_texts import ShownMemory, in_time
from slowwave.cli.results.waiting import decided_as_text, exit_code
from slowwave.cli.terminal.editor import edited
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted, day_of
from slowwave.store.errors import StoreError

from .chosen_proposals import Choice, carry_out_worded, check_words, decline

if TYPE_CHECKING:
    from slowwave.consolidation.running.approval import ReviewResult
    from slowwave.consolidation.running.review_queue import WaitingProposal
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.store.places import Place

# What each key does; `e` is offered where a text is written.
_KEYS = {
    "y": "apply it",
    "n": "do not apply it, and do not propose it again",
    "e": "apply it with other words, in $VISUAL or $EDITOR; they are checked like any draft",
    "q": "quit; this one and those behind it wait: see 'slowwave review'",
    "?": "show this help",
}
_AT_THE_END = "These words are accepted. They are written at the end, with all that you say yes to."
# An operation as a noun, where that is another word.
_NOUNS = {"synthesize": "synthesis", "extract": "extraction"}
_LEGEND = "[-only a source says it-] {+only the result says it+}"
_WORD = re.compile(r"\w(?:[\w'’:./@-]*\w)?")


def sees_questions() -> bool:
    """Whether a person sits there who can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def refuse_to_ask(given: Collection[str], files: int, log_format: str) -> None:
    """Refuse questions where nobody can answer them, or nothing would come of the answers."""
    for one in ("dry_run", "json", "quiet", "guard"):
        if one in given:
            raise typer.BadParameter(f"--interactive does not go with --{one.replace('_', '-')}.")
    if log_format == "json":
        raise typer.BadParameter("--interactive does not go with --log-format json.")
    if "consolidate" not in given or files > 1:
        raise typer.BadParameter("--interactive goes with --consolidate and one file.")
    if not sees_questions():
        raise typer.BadParameter("--interactive needs a terminal: 'slowwave review' needs none.")


def ask_each(place: Place, embedder: Embedder, output: Output) -> Code:
    """Ask about all that waits, carry out what the person says, and give the exit code.

    What is said is carried out together at the end, so that Ctrl-C before it changes nothing. Other
    words are checked at once, and written then. Raises `StoreError`.
    """
    # A question may be interrupted, as a night may.
    signals_of_this_command().open()
    answers = _Answers(place, embedder, output)
    waiting = _waiting(place)
    count = counted(len(waiting), "proposal", "proposals")
    output.show(clean(f"{place.named}: {count}. {_LEGEND}"))
    for number, one in enumerate(waiting, start=1):
        if not answers.ask(one, f"({number}/{len(waiting)})"):
            break
    return answers.ended(answers.carry_out())


@dataclass
class _Answers:
    """What a person has said so far."""

    place: Place
    embedder: Embedder
    output: Output
    # The ids of what is to be applied, with the person's words where there are any.
    yes: dict[str, str | None] = field(default_factory=dict)
    no: list[str] = field(default_factory=list)

    def ask(self, waiting: WaitingProposal, place: str) -> bool:
        """Ask about one proposal; say whether to go on."""
        self.output.show("\n".join(_shown(waiting)))
        proposal = waiting.kept.proposal
        noun = _NOUNS.get(proposal.operation, proposal.operation)
        keys = [one for one in _KEYS if one != "e" or not proposal.keeps_text]
        while True:
            answer = _answer(f"{place} Apply this {noun} [{','.join(keys)}]? ")
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
                self.output.show("\n".join(f"{one} - {_KEYS[one]}" for one in keys))

    def _edit(self, waiting: WaitingProposal) -> bool:
        """Let the person change the draft; say whether what they wrote can be applied."""
        from slowwave.consolidation.proposals import Result
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
            self._tell(ReviewResult(None, (Result(checked.proposal, checked.state, checked.why),)))
            return False
        self.yes[waiting.id] = words
        self.output.show(_AT_THE_END)
        return True

    def carry_out(self) -> Code:
        """Do what was said, and give the exit code."""
        code = Code.DONE
        if self.no:
            decline(self.place, Choice(tuple(self.no), None, False), None)
        if self.yes:
            with shown_progress(self.output.quiet) as progress:
                decided = carry_out_worded(self.place, self.yes, self.embedder, progress)
            self._tell(decided)
            code = exit_code(decided)
        if self.no:
            self.output.show(f"{counted(len(self.no), 'proposal', 'proposals')} declined.")
        return code

    def _tell(self, decided: ReviewResult) -> None:
        self.output.show(decided_as_text(self.place.named, decided))

    def ended(self, code: Code) -> Code:
        """Say what waits still, and give the exit code."""
        left = len(_waiting(self.place))
        if left:
            named = shlex.quote(str(self.place.named))
            count = counted(left, "proposal waits", "proposals wait")
            self.output.show(clean(f"{count}. Decide with: slowwave review {named}"))
        return code


def _waiting(place: Place) -> list[WaitingProposal]:
    """Return what waits and can still be applied."""
    from slowwave.consolidation.running.review_queue import read_queue
    from slowwave.store.file import open_reading

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        return [one for one in read_queue(opened) if one.stale is None]


def _answer(question: str) -> str:
    """Return the first letter of what a person says; the end of all input is a wish to quit."""
    try:
        said = input(question).strip().lower()
    except EOFError:
        return "q"
    return said[:1]


def _shown(waiting: WaitingProposal) -> Iterator[str]:
    """Yield a proposal with what its sources and its result have that the others have not."""
    proposal = waiting.kept.proposal
    texts = {one: memory.content for one, memory in waiting.memories.items()}
    result = texts[proposal.survivor or ""] if proposal.keeps_text else proposal.draft.text
    shown = {one.id: ShownMemory(one.content, one.observed_at) for one in waiting.memories.values()}
    yield ""
    yield clean(f"{proposal.operation} {proposal.id[:8]}: {proposal.reason}")
    for one in in_time(proposal.sources, shown):
        if one != proposal.survivor:
            mark = "-" if one in proposal.leaving else "*"
            text = _marked(texts[one], [result], "[-", "-]")
            yield clean(f"  {mark} {day_of(shown[one].observed_at)}  {text}")
    if waiting.decision.why:
        yield clean(f"  ! {waiting.decision.why}")
    others = [texts[one] for one in proposal.sources if one != proposal.survivor]
    yield clean(f"  = {_marked(result, others, '{+', '+}')}")


def _marked(text: str, others: Sequence[str], begin: str, end: str) -> str:
    """Mark the words of a text that none of some others has, those in a row together."""
    known = {word.casefold() for other in others for word in _WORD.findall(other)}

    def mark(found: re.Match[str]) -> str:
        word = found.group()
        return word if word.casefold() in known else f"{begin}{word}{end}"

    return _WORD.sub(mark, text).replace(f"{end} {begin}", " ")
