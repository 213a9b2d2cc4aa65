"""Hermes Agent's MEMORY.md and USER.md: entries with a line of "§" between them.

hermes-agent 0.19.0. The file, without blank ends, must equal its entries joined; otherwise its tool
detects "external drift" and refuses changes. It reads CRLF as a line feed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.errors import FileHeld, StoreError
from slowwave.store.places import Budget

from .base import New, Unreadable, shortened
from .document import Block, Document, Entry
from .text_file import TextFormat, split_byte_order_mark, split_spelling, text_of

_SEPARATOR = "\n§\n"
# Characters, as the agent limits them by default; users can configure more.
_BUDGETS = {"MEMORY.md": 2_200, "USER.md": 1_375}
# How long we wait for the agent's lock.
_SECONDS = 10.0


class Hermes(TextFormat):
    """A memory file of Hermes Agent."""

    name = "hermes"
    about = "Hermes Agent's MEMORY.md and USER.md"
    holds = "an entry between lines of § alone"

    def recognises(self, path: Path) -> bool:
        """Whether it has such lines, or one plain entry and is in Hermes' folder."""
        if path.name not in _BUDGETS:
            return False
        text = text_of(path)
        if text is None or not text.strip():
            return False
        if _SEPARATOR in text.replace("\r\n", "\n"):
            return True
        is_plain = not any(line.startswith(("#", "- ", "* ")) for line in text.splitlines())
        return is_plain and path.resolve().parent.name == "memories"

    def parse(self, text: str, path: Path) -> Document:
        """Split the entries; refuse what the agent would not write."""
        mark, text = split_byte_order_mark(text)
        end = split_spelling(text)[1]
        separator = _SEPARATOR.replace("\n", end)
        texts = [entry.strip() for entry in text.split(separator)] if text.strip() else []
        joined = separator.join(texts)
        # The start and the end of the file may be blank.
        inner = text.strip().split(separator)
        for number, entry in enumerate(texts, start=1):
            if not entry or inner[number - 1] != inner[number - 1].strip():
                why = f"('{shortened(entry)}') has spaces around it" if entry else "is empty"
                raise Unreadable(
                    f"{path} is not in Hermes' format: entry {number} {why}.",
                    "Remove it, or the spaces: Hermes Agent refuses to change such a file, too.",
                )
        entries = [Entry(entry.replace(end, "\n"), entry) for entry in texts]
        start = text.find(joined)
        block = Block(path.resolve().name, separator, entries)
        rest = text[start + len(joined) :]
        return Document([mark, text[:start], block, rest], is_markdown=True)

    def spell(self, new: New, document: Document) -> str:
        """Return the text with the line ends of the file."""
        return new.text.strip().replace("\n", split_spelling(document.text)[1])

    def budget(self, path: Path, text: str | None = None) -> Budget | None:
        """Count characters, as the agent's tool does."""
        limit = _BUDGETS.get(path.name)
        if limit is None:
            return None
        text = text_of(path) or "" if text is None else text
        tokens = count_tokens(text)
        return Budget(len(text), limit, "characters", is_hard=True, tokens=tokens, file=path.name)

    @contextmanager
    def locked(self, path: Path) -> Iterator[None]:
        """Acquire the lock that the agent's own tool uses for each change."""
        import filelock

        lock = path.resolve().with_name(f"{path.name}.lock")
        try:
            acquired = filelock.FileLock(lock, timeout=_SECONDS).acquire()
        except filelock.Timeout:
            raise FileHeld(f"{path} is locked by its agent.", "Try again in a moment.") from None
        except PermissionError:
            raise StoreError(
                f"Cannot create {lock}, the lock that its agent uses.",
                "Make the folder of the file writable.",
            ) from None
        with acquired:
            yield
