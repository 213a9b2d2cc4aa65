"""The list of pending proposals, one per line."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import DataTable

from .session import Session
from .texts import first_words, searchable_text

_STATE, _OPERATION, _ALIKE, _TEXT = "state", "operation", "alike", "text"
_WIDTHS = {_STATE: 8, _OPERATION: 10, _ALIKE: 5}
# How many characters of a draft are listed: what a wide terminal shows.
_MAX_LISTED = 160


class QueueTable(DataTable[Text]):
    """The pending proposals and those decided since, with a cursor."""

    DEFAULT_CSS = """
    QueueTable { height: 30%; min-height: 5; scrollbar-size: 0 1; overflow-x: hidden; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(cursor_type="row", show_header=False)
        self.session = session
        for name, width in _WIDTHS.items():
            self.add_column(name, key=name, width=width)
        self.add_column(_TEXT, key=_TEXT, width=_MAX_LISTED)

    @property
    def current(self) -> str | None:
        """The proposal at the cursor; None if the list is empty."""
        if not self.row_count:
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value

    @property
    def keys(self) -> list[str]:
        """The listed proposals, in their order."""
        return [row.value or "" for row in self.rows]

    def fill(self, search: str, current: str | None = None) -> None:
        """List the proposals with all search words. current: the proposal for the cursor."""
        self.clear()
        words = search.lower().split()
        for key, pending in self.session.queue.items():
            text = searchable_text(pending)
            if all(word in text for word in words):
                operation = pending.proposal.operation
                similarity = f"{pending.proposal.mean_similarity:.2f}"
                beginning = first_words(pending, _MAX_LISTED)
                cells = self.session.state_of(key), operation, similarity, beginning
                self.add_row(*map(Text, cells), key=key)
        self.move_to(current)

    def refresh_states(self) -> None:
        """Show the current states."""
        for row in list(self.rows):
            state = self.session.state_of(row.value or "")
            if self.get_cell(row, _STATE).plain != state:
                self.update_cell(row, _STATE, Text(state))

    def move_to(self, key: str | None) -> None:
        """Move the cursor to a proposal, if it is listed."""
        if key in self.keys:
            self.move_cursor(row=self.keys.index(key))

    def move_to_open(self) -> None:
        """Move the cursor to the next open proposal, unless it is at an open one."""
        keys = self.keys
        behind = [*keys[self.cursor_row :], *keys[: self.cursor_row]]
        self.move_to(next((key for key in behind if self.session.is_open(key)), None))
