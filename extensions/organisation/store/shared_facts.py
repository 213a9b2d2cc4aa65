"""Publish and retract shared facts, and return those that were current at a time."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from slowwave.store.errors import NotFound, StoreError
from slowwave.store.exchange import new_memory
from slowwave.store.file import MemoryFile
from slowwave.store.memories import add_memories, read_memory
from slowwave.store.records import json_text, new_id
from slowwave.store.shared_tenant import SHARED_TENANT

from .shared_log import AuthorKind, SharedEntry, SharedOperation, append, latest, read_log
from .shared_rules import (
    Author,
    allowed,
    authors_of,
    refuse_authors,
    refuse_fact,
    refuse_to_leave_none,
)

_MAX_NAME = 200
_MAX_FACT = 10_000


@dataclass(frozen=True)
class WriteRequest:
    """The author of a change, its time and its reason."""

    author: str
    now: str
    reason: str | None = None


def snapshot(entries: list[SharedEntry]) -> list[SharedEntry]:
    """Return the facts that are current after some entries, ordered by name."""
    facts: dict[str, SharedEntry] = {}
    for entry in entries:
        if entry.operation == "publish":
            facts[entry.subject] = entry
        elif entry.operation == "retract":
            facts.pop(entry.subject, None)
    return [facts[name] for name in sorted(facts)]


def entries_until(entries: list[SharedEntry], as_of: str | None) -> list[SharedEntry]:
    """Return the entries until a time; None means all."""
    return [entry for entry in entries if as_of is None or entry.at <= as_of]


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
        entries = read_log(file)
        author = allowed(entries, request.author)
        last = latest(entries, name, of_a_fact=True)
        refuse_fact(author, "publish", last)
        category = name.rpartition("/")[0]
        all_tags = tuple(dict.fromkeys([*([category] if category else []), *tags]))
        if last is not None and last.operation == "publish" and last.content == text:
            published = read_memory(file, str(last.memory_id))
            if not tags or published.tags == all_tags:
                return last, False
        memory_id = new_id()
        entry = _append(file, entries, request, author, "publish", name, last, text, memory_id)
        _write_memory(file, entry, last, all_tags)
        return entry, True


def retract(file: MemoryFile, request: WriteRequest, name: str) -> SharedEntry:
    """Retract a fact; it gets no successor. Raises `NotAllowed`."""
    with file.transaction():
        entries = read_log(file)
        author = allowed(entries, request.author)
        last = latest(entries, name, of_a_fact=True)
        if last is None or last.operation == "retract":
            raise NotFound(
                f"There is no current fact '{name}'.", "'slowwave shared FILE' lists them."
            )
        refuse_fact(author, "retract", last)
        entry = _append(file, entries, request, author, "retract", name, last)
        _end_memory(file, last, "archived", None, request.now)
        return entry


def admit(
    file: MemoryFile, request: WriteRequest, name: str, kind: AuthorKind, seniority: int | None
) -> tuple[SharedEntry, bool]:
    """Admit an author, or change their kind; return whether anything changed.

    The first author is a human who admits themselves. Raises `NotAllowed`, and `StoreError` if the
    tenant already has memories.
    """
    _refuse_name(name, "an author")
    with file.transaction():
        entries = read_log(file)
        if not entries:
            _refuse_taken(file)
        admitted = Author(name, kind, seniority)
        author = refuse_authors(entries, request.author, admitted)
        last = latest(entries, name, of_a_fact=False)
        before = authors_of(entries).get(name)
        if before == admitted and last is not None:
            return last, False
        if before is not None and before.kind == "human" and kind != "human":
            refuse_to_leave_none(entries, name)
        content = {"kind": kind} | ({} if seniority is None else {"seniority": seniority})
        return _append(
            file, entries, request, author, "admit", name, last, json_text(content)
        ), True


def dismiss(file: MemoryFile, request: WriteRequest, name: str) -> SharedEntry:
    """Dismiss an author; their facts stay. Raises `NotAllowed`."""
    with file.transaction():
        entries = read_log(file)
        author = refuse_authors(entries, request.author, None)
        if name not in authors_of(entries):
            raise NotFound(
                f"'{name}' is not an author.", "'slowwave shared FILE authors' shows all authors."
            )
        refuse_to_leave_none(entries, name)
        last = latest(entries, name, of_a_fact=False)
        return _append(file, entries, request, author, "dismiss", name, last)


def _append(
    file: MemoryFile,
    entries: Sequence[SharedEntry],
    request: WriteRequest,
    author: Author,
    operation: SharedOperation,
    subject: str,
    last: SharedEntry | None,
    content: str | None = None,
    memory_id: str | None = None,
) -> SharedEntry:
    """Append an entry, and return it. last: the previous entry about the subject.

    Its time is never before that of the previous entry: a clock that was set back must not rewrite
    history.
    """
    entry = SharedEntry(
        sequence=len(entries) + 1,
        at=max([request.now, *(entry.at for entry in entries[-1:])]),
        operation=operation,
        subject=subject,
        version=1 if last is None else last.version + 1,
        content=content,
        author=author.name,
        kind=author.kind,
        seniority=author.seniority,
        reason=request.reason,
        memory_id=memory_id,
    )
    append(file, entry)
    return entry


def _write_memory(
    file: MemoryFile, entry: SharedEntry, last: SharedEntry | None, tags: Sequence[str]
) -> None:
    """Write a published fact as a memory, which supersedes that of the previous version."""
    from datetime import datetime

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
    if last is not None and last.operation == "publish":
        _end_memory(file, last, "superseded", memory.id, entry.at)


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
            f"The name of {what} must have 1 to {_MAX_NAME} characters, without spaces around "
            "them, control characters and slashes with nothing on a side.",
            "Nothing was changed.",
        )


def _refuse_taken(file: MemoryFile) -> None:
    if file.value("SELECT 1 FROM memories WHERE tenant = ? LIMIT 1", [SHARED_TENANT]) is not None:
        raise StoreError(
            f"The tenant '{SHARED_TENANT}' of {file.path} has memories that were not published.",
            "Move them to another tenant first: this one is for shared facts only.",
        )
