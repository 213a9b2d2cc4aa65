"""Whose words a statement has."""

from __future__ import annotations

from typing import Protocol

from slowwave.consolidation.proposals import BY_PERSON


class Signed(Protocol):
    """A statement with who wrote it, and who read it."""

    @property
    def written_by(self) -> str | None:
        """The model that wrote it; None where a source says it word for word."""

    @property
    def checked_by(self) -> str | None:
        """The model that read it; None where none did."""


def author_of(claim: Signed) -> str:
    """Return who wrote a statement, and who checked it."""
    if claim.written_by is None:
        return "word for word from its sources"
    if claim.written_by == BY_PERSON:
        return "written by a person, its values checked by program"
    if claim.checked_by is None:
        return f"written by {claim.written_by}, its values checked by program, read by nobody"
    return f"written by {claim.written_by}, checked by program and read by {claim.checked_by}"
