"""Publish and retract shared facts, admit authors, and find what was current at a time.

What an author is not explicitly allowed to change is refused. Names are not verified: they separate
authors who mean well, and do not stop a program that writes to the file by other means.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from slowwave.store.errors import NotFound, StoreError, UnusableFile
from slowwave.store.exchange import new_memory
from slowwave.store.file import MemoryFile
from slowwave.store.memories import add_memories, read_memory
from slowwave.store.records import json_text, new_id
from slowwave.store.shared_tenant import SHARED_TENANT

from .shared_log import (
    AuthorKind,
    SharedEntry,
    SharedOperation,
    append,
    latest,
    read_log,
)

_MAX_NAME = 200
_MAX_FACT = 10_000
# The seniority of agents; humans rank above all of them.
MIN_SENIORITY, MAX_SENIORITY = 1, 9
_ASK = "'slowwave shared authors FILE' shows the authors; a human can admit more."


@dataclass(frozen=True)
class WriteRequest:
    """The author of a change, its time and its reason."""

    author: str
    now: str
    reason: str | None = None


class NotAllowed(StoreError):
    """The rules of shared facts do not allow this author to do it."""


@dataclass(frozen=True)
class Author:
    """An author of shared facts."""

    name: str
    kind: AuthorKind
    # The seniority of an agent.
    seniority: int | None

    @property
    def rank(self) -> int:
        """Its place in the order of authors."""
        return MAX_SENIORITY + 1 if self.seniority is None else self.seniority

    def described(self) -> str:
        """Return what kind of author it is, for a message."""
        return "a human" if self.kind == "human" else f"an agent with seniority {self.seniority}"


def authors_of(entries: Iterable[SharedEntry]) -> dict[str, Author]:
    """Return the admitted authors, by name. Raises `UnusableFile` if one cannot be read."""
    authors: dict[str, Author] = {}
    for entry in entries:
        if entry.operation == "admit":
            authors[entry.subject] = _author(entry)
        elif entry.operation == "dismiss":
            authors.pop(entry.subject, None)
    return dict(sorted(authors.items()))


def snapshot(entries: list[SharedEntry]) -> list[SharedEntry]:
    """Return the facts that are current after some entries, ordered by name."""
    facts: dict[str, SharedEntry] = {}
    for entry in entries:
        if entry.operation == "publish":
            facts[entry.subject] = entry
        elif entry.operation == "retract":
            facts.pop(entry.subject, None)
    return [facts[name] for name in sorted(facts)]


def publish(
    file: MemoryFile, request: WriteRequest, name: str, text: str, tags: Sequence[str] = ()
) -> tuple[SharedEntry, bool]:
    """Publish a fact, or its next version; return whether anything changed.

    The category of a fact, which is its name up to the last slash, is its first tag. Raises
    `NotAllowed`, and `StoreError` for an invalid text.
    """
    _refuse_name(name, "a fact")
    if not text.strip() or len(text) > _MAX_FACT:
        raise StoreError(f"A fact must have 1 to {_MAX_FACT:,} characters.", "Nothing was changed.")
    with file.transaction():
        change = _Change(file, request)
        last = latest(change.entries, name, of_a_fact=True)
        author = change.author_of_fact("publish", last)
        all_tags = tuple(dict.fromkeys(filter(None, [name.rpartition("/")[0], *tags])))
        is_current = last is not None and last.operation == "publish"
        if last is not None and is_current and last.content == text:
            published = read_memory(file, str(last.memory_id))
            if not tags or published.tags == all_tags:
                return last, False
        entry = change.append(author, "publish", name, text, new_id())
        _write_memory(file, entry, all_tags)
        if last is not None and is_current:
            _end_memory(file, last, "superseded", entry.memory_id, entry.at)
        return entry, True


def retract(file: MemoryFile, request: WriteRequest, name: str) -> tuple[SharedEntry, bool]:
    """Retract a fact; it gets no successor. Return the entry, and True. Raises `NotAllowed`."""
    with file.transaction():
        change = _Change(file, request)
        last = latest(change.entries, name, of_a_fact=True)
        author = change.author_of_fact("retract", last)
        if last is None or last.operation == "retract":
            raise NotFound(
                f"There is no current fact '{name}'.", "'slowwave shared FILE' lists them."
            )
        entry = change.append(author, "retract", name)
        _end_memory(file, last, "archived", None, request.now)
        return entry, True


def admit(
    file: MemoryFile, request: WriteRequest, name: str, seniority: int | None
) -> tuple[SharedEntry, bool]:
    """Admit an author, or change their kind; return whether anything changed.

    seniority: None for a human. The first author is a human who admits themselves. Raises
    `NotAllowed`, and `StoreError` if the tenant already has memories.
    """
    _refuse_name(name, "an author")
    with file.transaction():
        change = _Change(file, request)
        kind: AuthorKind = "human" if seniority is None else "agent"
        admitted, before = Author(name, kind, seniority), change.authors.get(name)
        if not change.entries:
            _refuse_unpublished_memories(file)
            if kind != "human" or name != request.author:
                raise NotAllowed(
                    "The first author must be a human who admits themselves.",
                    "Run: slowwave shared admit FILE NAME --human --author NAME",
                )
            author = admitted
        else:
            author = change.human()
        last = latest(change.entries, name, of_a_fact=False)
        if before == admitted and last is not None:
            return last, False
        if before is not None and before.kind == "human" and kind != "human":
            change.refuse_to_lose_last_human(name)
        content = {"kind": kind} | ({} if seniority is None else {"seniority": seniority})
        return change.append(author, "admit", name, json_text(content)), True


def dismiss(file: MemoryFile, request: WriteRequest, name: str) -> tuple[SharedEntry, bool]:
    """Dismiss an author; their facts stay. Return the entry, and True. Raises `NotAllowed`."""
    with file.transaction():
        change = _Change(file, request)
        author = change.human()
        if name not in change.authors:
            raise NotFound(
                f"'{name}' is not an author.", "'slowwave shared authors FILE' shows all authors."
            )
        change.refuse_to_lose_last_human(name)
        return change.append(author, "dismiss", name), True


class _Change:
    """A change of the shared facts, in the caller's transaction, and what its author may do."""

    def __init__(self, file: MemoryFile, request: WriteRequest) -> None:
        """Read the log. Raises `UnusableFile`."""
        self._file, self._request = file, request
        self.entries = read_log(file)
        self.authors = authors_of(self.entries)

    def author_of_fact(self, operation: SharedOperation, last: SharedEntry | None) -> Author:
        """Return the author who changes a fact. last: its last entry. Raises `NotAllowed`.

        Authors may change their own facts, and those of authors below them; humans may change all.
        """
        name = self._request.author
        author = self.authors.get(name)
        if author is None:
            was_author = any(
                (entry.operation, entry.subject) == ("dismiss", name) for entry in self.entries
            )
            why = "it was dismissed" if was_author else "it was never admitted"
            raise NotAllowed(f"'{name}' may not write shared facts: {why}.", _ASK)
        if last is None or last.author == name or author.kind == "human":
            return author
        last_author = Author(last.author, last.kind, last.seniority)
        if author.rank > last_author.rank:
            return author
        raise NotAllowed(
            f"'{name}' may not {operation} '{last.subject}': it is {author.described()}, and "
            f"version {last.version} is by '{last.author}', {last_author.described()}.",
            "Its author, or another human, may do it."
            if last.kind == "human"
            else "Its author, an agent of higher seniority or a human may do it.",
        )

    def human(self) -> Author:
        """Return the human who admits or dismisses an author. Raises `NotAllowed`."""
        name = self._request.author
        author = self.authors.get(name)
        if author is None or author.kind != "human":
            raise NotAllowed(f"'{name}' may not admit or dismiss authors: only a human may.", _ASK)
        return author

    def refuse_to_lose_last_human(self, leaving: str) -> None:
        """Refuse to remove the last human from the authors. Raises `NotAllowed`."""
        if not any(
            author.kind == "human" and author.name != leaving for author in self.authors.values()
        ):
            raise NotAllowed(
                f"'{leaving}' is the last human: nobody could admit authors after that.",
                "Admit another human first.",
            )

    def append(
        self,
        author: Author,
        operation: SharedOperation,
        subject: str,
        content: str | None = None,
        memory_id: str | None = None,
    ) -> SharedEntry:
        """Append an entry, and return it.

        Its time is never before that of the previous entry: a clock that was set back must not
        rewrite history.
        """
        last = latest(self.entries, subject, of_a_fact=operation in ("publish", "retract"))
        entry = SharedEntry(
            sequence=len(self.entries) + 1,
            at=max([self._request.now, *(entry.at for entry in self.entries[-1:])]),
            operation=operation,
            subject=subject,
            version=1 if last is None else last.version + 1,
            content=content,
            author=author.name,
            kind=author.kind,
            seniority=author.seniority,
            reason=self._request.reason,
            memory_id=memory_id,
        )
        append(self._file, entry)
        return entry


def _write_memory(file: MemoryFile, entry: SharedEntry, tags: Sequence[str]) -> None:
    """Write a published fact as a memory."""
    memory = new_memory(
        {
            "id": entry.memory_id,
            "content": entry.content,
            "tenant": SHARED_TENANT,
            "layer": "stable",
            "origin": entry.kind,
            "pinned": True,
            "tags": list(tags),
            "source": f"shared by {entry.author}",
            "metadata": {"fact": entry.subject, "version": entry.version, "author": entry.author},
        },
        datetime.fromisoformat(entry.at),
    )
    add_memories(file, [memory])


def _end_memory(
    file: MemoryFile, last: SharedEntry, status: str, successor: str | None, now: str
) -> None:
    file.conn.execute(
        "UPDATE memories SET status = ?, superseded_by = ?, superseded_at = ?, updated_at = ? "
        "WHERE id = ?",
        [status, successor, None if successor is None else now, now, last.memory_id],
    )


def _refuse_name(name: str, what: str) -> None:
    is_plain = all(unicodedata.category(letter)[0] != "C" for letter in name)
    if not all(name.split("/")) or name != name.strip() or len(name) > _MAX_NAME or not is_plain:
        raise StoreError(
            f"The name of {what} must have 1 to {_MAX_NAME} characters, no control characters, no "
            "spaces at its ends, and no empty part between slashes.",
            "Nothing was changed.",
        )


def _refuse_unpublished_memories(file: MemoryFile) -> None:
    if file.value("SELECT 1 FROM memories WHERE tenant = ? LIMIT 1", [SHARED_TENANT]) is not None:
        raise StoreError(
            f"The tenant '{SHARED_TENANT}' of {file.path} has memories that were not published.",
            "Nothing was changed. This tenant is for shared facts only, so move them first, with "
            "any SQLite client: UPDATE memories SET tenant = 'NAME' WHERE tenant = 'shared'",
        )


def _author(entry: SharedEntry) -> Author:
    try:
        author = json.loads(entry.content or "")
        kind, seniority = author["kind"], author.get("seniority")
        if kind == "human" and seniority is None:
            return Author(entry.subject, "human", None)
        if kind == "agent" and MIN_SENIORITY <= int(seniority) <= MAX_SENIORITY:
            return Author(entry.subject, "agent", int(seniority))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise UnusableFile(
        f"The file is damaged: entry {entry.sequence} of the shared facts does not have an author.",
        "Restore it from a backup. 'slowwave export FILE', without --all, saves the active "
        "memories, but not the log.",
    )
