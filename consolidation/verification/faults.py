"""What is wrong with a draft, one thing at a time, for people to read and for repairs to go by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that a draft says otherwise than its sources."""

    # A sentence for people: which words of the draft, and what the source says.
    why: str
    # The place of the claim at fault among the draft's claims; None where something is lost, or
    # where it is about the whole draft.
    claim: int | None = None
    # The id of the source whose statement is lost or contradicted.
    source: str | None = None
    # Whether it is only about a plain word, new in a claim or lost from a source, or about a
    # statement that no words cover: who knows what words mean may clear it. Values, names,
    # literals, denials, quantities, exceptions, modality, roles and structure are never soft.
    soft: bool = False
    # The words that it is about, as they stand.
    words: tuple[str, ...] = ()
