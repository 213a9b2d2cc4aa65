"""Hermes Agent's MEMORY.md and USER.md: entries with a line of "§" between them.

hermes-agent 0.19.0. The file must be what its entries give when they are joined again, without a
line's end behind the last one: else its tool takes each change for "external drift" and refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.places import Budget

from .base import New, Unreadable
from .document import Block, Document, Entry
from .text_file import TextFormat, text_of

_SEPARATOR = "\n§\n"
# As the agent's own default has them; a larger one is a setting of the user's.
_BUDGETS = {"MEMORY.md": 2_200, "USER.md": 1_375}
_SECONDS = 10.0


class Hermes(TextFormat):
    """A memory file of Hermes Agent."""

    name = "hermes"
    about = "Hermes Agent's MEMORY.md and USER.md"
    holds = "an entry; entries stand between lines with a § alone"

    def recognises(self, path: Path) -> bool:
        """Whether it has such lines, or holds one plain entry and is where Hermes keeps it."""
        if path.name not in _BUDGETS:
            return False
        text = text_of(path)
        if text is None or not text.strip():
            return False
        if _SEPARATOR in text:
            return True
        plain = not any(line.startswith(("#", "- ", "* ")) for line in text.splitlines())
        return plain and path.resolve().parent.name == "memories"

    def parse(self, text: str, path: Path) -> Document:
        """Take the entries apart; refuse what the agent would not write that way."""
        block = Block(path.resolve().name, _SEPARATOR)
        if text:
            block.entries = [Entry(one, one) for one in text.split(_SEPARATOR)]
        if any(one.text != one.text.strip() or not one.text for one in block.entries):
            raise Unreadable(
                f"{path} is not as Hermes writes it: blank lines or blanks around an entry.",
                "Let the agent change an entry, or take the blanks out.",
            )
        return Document([block])

    def spell(self, new: New, document: Document) -> str:
        """Return the text; a line with a § alone would make two entries of it."""
        if _SEPARATOR in f"\n{new.text}\n":
            raise Unreadable("A line with a § alone cannot stand in an entry.")
        return new.text.strip()

    def budget(self, path: Path) -> Budget | None:
        """Count characters, as the agent's tool does."""
        most = _BUDGETS.get(path.name)
        return (
            None
            if most is None
            else Budget(len(text_of(path) or ""), most, "characters", is_hard=True)
        )

    @contextmanager
    def locked(self, path: Path) -> Iterator[None]:
        """Hold the lock that the agent's own tool takes around each change."""
        import filelock

        lock = path.resolve().with_name(f"{path.name}.lock")
        try:
            held = filelock.FileLock(lock, timeout=_SECONDS).acquire()
        except filelock.Timeout:
            raise FileHeld(f"{path} is held by its agent.", "Try again in a moment.") from None
        except PermissionError:
            raise StoreError(
                f"Cannot create {lock}, by which its agent is kept out.",
                "The folder of the file must be writable.",
            ) from None
        with held:
            yield
