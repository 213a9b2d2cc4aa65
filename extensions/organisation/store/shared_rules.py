"""Who may change shared facts. What is not explicitly allowed is refused.

Names are not verified: they separate authors who mean well, and do not stop a program that writes
to the file by other means.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slowwave.store.errors import DamagedRow, StoreError

from .shared_log import SAVE_WITHOUT_LOG, AuthorKind, SharedEntry, SharedOperation

# The seniority of agents; humans rank above all of them.
MIN_SENIORITY, MAX_SENIORITY = 1, 9
_ASK = "'slowwave shared FILE authors' shows the authors; a human can admit more."


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
        return "a human" if self.kind == "human" else f"an agent of seniority {self.seniority}"


def authors_of(entries: Iterable[SharedEntry]) -> dict[str, Author]:
    """Return the admitted authors, by name. Raises `DamagedRow` if one cannot be read."""
    authors: dict[str, Author] = {}
    for entry in entries:
        if entry.operation == "admit":
            authors[entry.subject] = _author(entry)
        elif entry.operation == "dismiss":
            authors.pop(entry.subject, None)
    return dict(sorted(authors.items()))


def allowed(entries: Sequence[SharedEntry], name: str) -> Author:
    """Return an admitted author. Raises `NotAllowed`."""
    author = authors_of(entries).get(name)
    if author is None:
        was_author = any((entry.operation, entry.subject) == ("dismiss", name) for entry in entries)
        why = "it was dismissed" if was_author else "it was never admitted"
        raise NotAllowed(f"'{name}' may not write shared facts: {why}.", _ASK)
    return author


def refuse_fact(author: Author, operation: SharedOperation, last: SharedEntry | None) -> None:
    """Refuse a change of a fact to authors who do not rank above its last author.

    Authors may change their own facts, and humans all facts. Raises `NotAllowed`.
    """
    if last is None or last.author == author.name or author.kind == "human":
        return
    last_author = Author(last.author, last.kind, last.seniority)
    if author.rank > last_author.rank:
        return
    raise NotAllowed(
        f"'{author.name}' may not {operation} '{last.subject}': it is {author.described()}, and "
        f"version {last.version} is by '{last.author}', {last_author.described()}.",
        "Its author or another human may."
        if last.kind == "human"
        else "Its author, an agent of higher seniority or a human may.",
    )


def refuse_authors(entries: Sequence[SharedEntry], name: str, subject: Author | None) -> Author:
    """Return the human who admits or dismisses an author; the first admits themselves.

    subject: the author to admit; None to dismiss. Raises `NotAllowed`.
    """
    authors = authors_of(entries)
    if not entries and subject is not None:
        if subject.kind != "human" or subject.name != name:
            raise NotAllowed(
                "The first author must be a human who admits themselves.",
                "Run: slowwave shared FILE admit NAME --human --author NAME",
            )
        return subject
    author = authors.get(name)
    if author is None or author.kind != "human":
        raise NotAllowed(f"'{name}' may not admit or dismiss authors: only a human may.", _ASK)
    return author


def refuse_to_leave_none(entries: Sequence[SharedEntry], leaving: str) -> None:
    """Refuse to remove the last human from the authors of shared facts. Raises `NotAllowed`."""
    authors = authors_of(entries).values()
    if not any(author.kind == "human" and author.name != leaving for author in authors):
        raise NotAllowed(
            f"'{leaving}' is the last human: nobody could admit authors after that.",
            "Admit another human first.",
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
    fault = f"entry {entry.sequence} of the shared facts does not have an author"
    raise DamagedRow(fault, SAVE_WITHOUT_LOG)
