"""The screen: the list of what waits, one proposal of it, and the keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static, TextArea

from slowwave.cli.terminal.output import clean, shortened
from slowwave.cli.terminal.wording import counted
from slowwave.store.errors import SlowwaveError, StoreError

from .dialogs import Asking
from .proposal_view import ProposalPane
from .queue_table import QueueTable
from .session import Done, Session
from .texts import LEGEND

# So much of what went wrong is shown.
_MAX_SAID = 500


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

    def __init__(self, session: Session, named: str) -> None:
        """Take what waits, and what the file is called."""
        super().__init__()
        self.session = session
        self.named = named
        # Words that a proposal must have to be listed.
        self.wanted = ""
        # Whether a decision is being applied: one at a time.
        self.busy = False

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Static(id="title")
        yield QueueTable(self.session)
        asked = "words to find; Enter filters, Escape shows all"
        yield Input(id="search", placeholder=asked, compact=True)
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
        listed = "nothing found" if self.wanted else "nothing is pending"
        where = listed if key is None else f"{table.cursor_row + 1} of {table.row_count}"
        state = "" if key is None else f" · {key[:8]} {self.session.state_of(key)}"
        self._tell(f"{self.named} · {where}{state}")
        try:
            self.query_one(ProposalPane).show(None if key is None else self.session.queue[key])
        except StoreError as error:
            self._complain(error)

    def _tell(self, title: str) -> None:
        self.query_one("#title", Static).update(Text(clean(title)))

    # ---- looking ----

    def action_go(self, by: int) -> None:
        """Go to the next proposal, or to the one before."""
        table = self._table
        table.move_cursor(row=min(max(table.cursor_row + by, 0), max(table.row_count - 1, 0)))

    def action_turn(self, pages: int) -> None:
        """Turn a page of what is longer than the screen."""
        self.query_one(ProposalPane).turn(pages)

    def action_lineage(self) -> None:
        """Show where the sources came from, or the texts again."""
        try:
            if not self.query_one(ProposalPane).switch():
                self._table.focus()
        except StoreError as error:
            self._complain(error)

    def action_search(self) -> None:
        """Ask for words to find."""
        search = self.query_one("#search", Input)
        search.add_class("asked")
        search.focus()

    def action_show_all(self) -> None:
        """List everything again."""
        self._searched("")

    @on(Input.Submitted, "#search")
    def _find(self, submitted: Input.Submitted) -> None:
        self._searched(submitted.value)

    def _searched(self, wanted: str) -> None:
        search = self.query_one("#search", Input)
        search.value = wanted
        search.set_class(bool(wanted), "asked")
        if wanted != self.wanted:
            self.wanted = wanted
            self._table.fill(wanted, self._table.current)
            self._show()
        self._table.focus()

    # ---- deciding ----

    def action_approve(self) -> None:
        """Apply the proposal at the cursor."""
        if (key := self._open()) is not None:
            self._decide(partial(self.session.approve, key))

    def action_approve_all(self) -> None:
        """Ask whether to apply all that is listed and not stale, and apply it."""
        keys = [key for key in self._table.keys if self.session.state_of(key) == "waits"]
        if self.busy or not keys:
            return

        def confirmed(answer: str | None) -> None:
            if answer is not None:
                self._decide(partial(self.session.approve_all, keys))

        found = " found" if self.wanted else ""
        count = counted(len(keys), "pending proposal", "pending proposals")
        question = f"Apply {count}{found} as one run?\n\n{self.session.effect_of(keys)}"
        self.push_screen(Asking(Text(question), "Apply all"), confirmed)

    def action_decline(self) -> None:
        """Ask why, and decline it."""
        if (key := self._open()) is None:
            return

        def declined(reason: str | None) -> None:
            if reason is not None:
                self._decide(partial(self.session.decline, key, reason))

        reason = Input(placeholder="reason (optional), stored in the log", compact=True)
        self.push_screen(Asking(Text(f"Decline {key[:8]}?"), "Decline", reason), declined)

    def action_edit(self) -> None:
        """Ask for other words, and apply those."""
        if (key := self._open()) is None:
            return
        proposal = self.session.queue[key].kept.proposal
        if proposal.keeps_text:
            self._warn("It does not write a text: a memory stays unchanged. Approve or decline it.")
            return
        self._ask_words(key, "Its text, which is checked like any draft:", proposal.draft.text)

    def _ask_words(self, key: str, question: str, words: str) -> None:
        def edited(text: str | None) -> None:
            if text:
                # What does not pass is asked again: nobody has to type it twice.
                retry = partial(self._ask_words, key, words=text)
                self._decide(partial(self.session.approve, key, text), retry)

        area = TextArea(words, compact=True)
        self.push_screen(Asking(Text(clean(question)), "Apply ^s", area), edited)

    def action_undo(self) -> None:
        """Take the last decision back."""
        if not self.busy:
            self._decide(self.session.undo)

    def _open(self) -> str | None:
        """Return the proposal at the cursor, if it can be decided about now."""
        key = self._table.current
        if key is None or self.busy:
            return None
        if not self.session.is_open(key):
            state = self.session.state_of(key)
            elsewhere = state == "decided"
            back = f"It is {state}; u undoes the last decision."
            self._warn("It was decided by another program." if elsewhere else back)
            return None
        return key

    def _decide(self, do: Callable[[], Done], retry: Callable[[str], None] | None = None) -> None:
        """Do something to the file while the screen goes on."""
        self.busy = True
        self._tell("Working …")
        self._work(do, retry)

    @work(thread=True)
    def _work(self, do: Callable[[], Done], retry: Callable[[str], None] | None) -> None:
        try:
            done = do()
        except SlowwaveError as error:
            self.call_from_thread(self._complain, error)
            done = None
        self.call_from_thread(self._ended, done, retry)

    def _ended(self, done: Done | None, retry: Callable[[str], None] | None) -> None:
        self.busy = False
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

    def _complain(self, error: SlowwaveError) -> None:
        message = " ".join(filter(None, (error.message, error.hint)))
        self.notify(shortened(message, _MAX_SAID), severity="error", markup=False)
