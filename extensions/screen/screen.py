"""The screen: the list of pending proposals, a proposal, the keys, and dialogs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, DataTable, Footer, Input, Static, TextArea

from slowwave.cli.terminal.output import clean, shortened
from slowwave.cli.terminal.wording import counted
from slowwave.store.errors import SlowwaveError, StoreError

from .proposal_view import ProposalPane
from .queue_table import QueueTable
from .session import KeyResult, Session
from .texts import LEGEND

# How many characters of an error are shown.
_MAX_ERROR = 500


class QuestionDialog(ModalScreen[str | None]):
    """A question above the screen, with buttons to confirm and to cancel, which answers None."""

    CSS = """
    QuestionDialog { align: center middle; }
    #question { width: 90%; height: auto; max-height: 90%; border: solid $primary; padding: 0 1; }
    #question Input { margin: 1 0; }
    #question TextArea { height: 8; margin: 1 0; }
    #question Horizontal { height: 1; }
    #question Button { margin-right: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+s", "answer", "Apply"),
    ]

    def __init__(
        self, question: Text, yes: str, text_input: Input | TextArea | None = None
    ) -> None:
        """yes: the label of the button that confirms. text_input: for the answer, if any."""
        super().__init__()
        self.question = question
        self.yes = yes
        self.text_input = text_input

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="question"):
            yield Static(self.question)
            if self.text_input is not None:
                yield self.text_input
            with Horizontal():
                yield Button(self.yes, id="yes", variant="primary", compact=True)
                yield Button("Cancel", id="no", compact=True)

    @on(Input.Submitted)
    @on(Button.Pressed, "#yes")
    def action_answer(self) -> None:
        """Answer with the text, on one line, or with the label of the button."""
        if isinstance(self.text_input, TextArea):
            self.dismiss(" ".join(self.text_input.text.split()))
        else:
            self.dismiss(self.yes if self.text_input is None else self.text_input.value)

    @on(Button.Pressed, "#no")
    def action_cancel(self) -> None:
        """Answer None."""
        self.dismiss(None)


class ReviewScreen(App[None]):
    """The pending proposals, at a terminal of 80 by 24 or more."""

    TITLE = "slowwave review"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #title { height: 1; text-style: bold; }
    #search { display: none; }
    #search.asked { display: block; }
    #legend { height: 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "approve", "Approve"),
        Binding("A", "approve_all", "All"),
        Binding("d", "decline", "Decline"),
        Binding("e", "edit", "Edit"),
        Binding("u", "undo", "Undo"),
        Binding("n,j", "go(1)", "Next", key_display="n"),
        Binding("p,k", "go(-1)", "Prev", key_display="p"),
        Binding("slash", "search", "Find", key_display="/"),
        Binding("l", "lineage", "Lineage"),
        Binding("q", "quit", "Quit"),
        Binding("escape", "show_all", show=False),
        Binding("pagedown", "turn(1)", show=False, priority=True),
        Binding("pageup", "turn(-1)", show=False, priority=True),
    ]

    def __init__(self, session: Session, file_name: str) -> None:
        """file_name: how the user named the file."""
        super().__init__()
        self.session = session
        self.file_name = file_name
        # Words that a proposal must have to be listed.
        self.search_words = ""
        # Whether a decision is being applied: one at a time.
        self.is_busy = False

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Static(id="title")
        yield QueueTable(self.session)
        placeholder = "words to find; Enter filters, Escape shows all"
        yield Input(id="search", placeholder=placeholder, compact=True)
        yield ProposalPane(self.session.place)
        yield Static(LEGEND, id="legend")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Fill the list."""
        self._table.fill("")
        self._table.focus()
        self._show()

    @property
    def _table(self) -> QueueTable:
        return self.query_one(QueueTable)

    @on(DataTable.RowHighlighted)
    def _show(self) -> None:
        table, key = self._table, self._table.current
        listed = "nothing found" if self.search_words else "nothing is pending"
        where = listed if key is None else f"{table.cursor_row + 1} of {table.row_count}"
        state = "" if key is None else f" · {key[:8]} {self.session.state_of(key)}"
        self._set_title(f"{self.file_name} · {where}{state}")
        try:
            self.query_one(ProposalPane).show(None if key is None else self.session.queue[key])
        except StoreError as error:
            self._notify_error(error)

    def _set_title(self, title: str) -> None:
        self.query_one("#title", Static).update(Text(clean(title)))

    # ---- looking ----

    def action_go(self, by: int) -> None:
        """Go to the next proposal, or to the one before."""
        table = self._table
        table.move_cursor(row=min(max(table.cursor_row + by, 0), max(table.row_count - 1, 0)))

    def action_turn(self, pages: int) -> None:
        """Turn a page of what is longer than the screen."""
        self.query_one(ProposalPane).scroll_pages(pages)

    def action_lineage(self) -> None:
        """Show where the sources came from, or the texts again."""
        try:
            if not self.query_one(ProposalPane).switch():
                self._table.focus()
        except StoreError as error:
            self._notify_error(error)

    def action_search(self) -> None:
        """Ask for words to find."""
        search = self.query_one("#search", Input)
        search.add_class("asked")
        search.focus()

    def action_show_all(self) -> None:
        """Show all proposals."""
        self._apply_search("")

    @on(Input.Submitted, "#search")
    def _find(self, submitted: Input.Submitted) -> None:
        self._apply_search(submitted.value)

    def _apply_search(self, words: str) -> None:
        search = self.query_one("#search", Input)
        search.value = words
        search.set_class(bool(words), "asked")
        if words != self.search_words:
            self.search_words = words
            self._table.fill(words, self._table.current)
            self._show()
        self._table.focus()

    # ---- deciding ----

    def action_approve(self) -> None:
        """Apply the proposal at the cursor."""
        if (key := self._open()) is not None:
            self._decide(partial(self.session.approve, [key]))

    def action_approve_all(self) -> None:
        """Apply all listed proposals that are not stale, after a confirmation."""
        keys = [key for key in self._table.keys if self.session.state_of(key) == "pending"]
        if self.is_busy or not keys:
            return

        def confirmed(answer: str | None) -> None:
            if answer is not None:
                self._decide(partial(self.session.approve, keys))

        kind = " found" if self.search_words else ""
        count = counted(len(keys), "pending proposal", "pending proposals")
        question = f"Apply {count}{kind} as one run?\n\n{self.session.describe_effect(keys)}"
        self.push_screen(QuestionDialog(Text(question), "Apply all"), confirmed)

    def action_decline(self) -> None:
        """Ask for a reason, and decline the proposal at the cursor."""
        if (key := self._open()) is None:
            return

        def declined(reason: str | None) -> None:
            if reason is not None:
                self._decide(partial(self.session.decline, key, reason))

        reason = Input(placeholder="reason (optional), stored in the log", compact=True)
        self.push_screen(QuestionDialog(Text(f"Decline {key[:8]}?"), "Decline", reason), declined)

    def action_edit(self) -> None:
        """Ask for another text, and apply it."""
        if (key := self._open()) is None:
            return
        proposal = self.session.queue[key].proposal
        if proposal.keeps_text:
            self._warn(
                "This proposal writes no new text; it keeps a memory unchanged. Approve or "
                "decline it."
            )
            return
        self._ask_words(key, "New text (checked like any draft):", proposal.draft.text)

    def _ask_words(self, key: str, question: str, words: str) -> None:
        def edited(text: str | None) -> None:
            if text:
                # A text that does not pass the check is shown again, to be corrected.
                retry = partial(self._ask_words, key, words=text)
                self._decide(partial(self.session.approve, [key], text), retry)

        area = TextArea(words, compact=True)
        self.push_screen(QuestionDialog(Text(clean(question)), "Apply ^s", area), edited)

    def action_undo(self) -> None:
        """Undo the last decision."""
        if not self.is_busy:
            self._decide(self.session.undo)

    def _open(self) -> str | None:
        """Return the proposal at the cursor, if it can be decided now."""
        key = self._table.current
        if key is None or self.is_busy:
            return None
        if not self.session.is_open(key):
            state = self.session.state_of(key)
            self._warn(
                "It was decided by another program."
                if state == "decided"
                else f"It is {state}; u undoes the last decision."
            )
            return None
        return key

    def _decide(
        self, do: Callable[[], KeyResult], retry: Callable[[str], None] | None = None
    ) -> None:
        """Change the file in a thread, so that the screen goes on."""
        self.is_busy = True
        self._set_title("Working …")
        self._work(do, retry)

    @work(thread=True)
    def _work(self, do: Callable[[], KeyResult], retry: Callable[[str], None] | None) -> None:
        try:
            done = do()
        except SlowwaveError as error:
            self.call_from_thread(self._notify_error, error)
            done = None
        self.call_from_thread(self._finish, done, retry)

    def _finish(self, done: KeyResult | None, retry: Callable[[str], None] | None) -> None:
        self.is_busy = False
        self._table.refresh_states()
        if done is not None and done.key is not None:
            self.notify(done.message, markup=False)
            self._table.move_to(done.key)
            self._table.move_to_open()
        elif done is not None:
            (retry or self._warn)(done.message)
        self._show()

    def _warn(self, message: str) -> None:
        self.notify(clean(message), severity="warning", markup=False)

    def _notify_error(self, error: SlowwaveError) -> None:
        message = " ".join(filter(None, (error.message, error.hint)))
        self.notify(shortened(message, _MAX_ERROR), severity="error", markup=False)
