"""Whose words a statement has."""

from __future__ import annotations

from typing import Protocol

from slowwave.consolidation.proposals import BY_PERSON


class Signed(Protocol):
    """A statement with who worded it, and who gave a second opinion on it."""

    @property
    def written_by(self) -> str | None:
        """The model that worded it; None where a source says it word for word."""

    @property
    def checked_by(self) -> str | None:
        """The model that gave a second opinion on it."""


def author_of(claim: Signed) -> str:
    """Return who worded a statement, and who confirmed it."""
    if claim.written_by is None:
        return "word for word from its sources"
    if claim.written_by == BY_PERSON:
        return "worded by a person, checked word by word"
    also = "" if claim.checked_by is None else f" and by {claim.checked_by}"
    return f"worded by {claim.written_by}, checked word by word{also}"
