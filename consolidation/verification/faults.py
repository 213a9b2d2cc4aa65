"""Faults of a draft, in words for people and for a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a draft."""

    # A sentence that names the words it is about.
    why: str
    # The place of the claim at fault; None if it is about what is lost, or about the whole.
    claim: int | None = None
    # The id of the source of which something is lost.
    source: str | None = None
    # Whether it is about plain words that may only be put otherwise; never about a value, a name, a
    # literal, a denial, a quantity, a condition, a mood, or who does what.
    soft: bool = False
    words: tuple[str, ...] = ()
    # Whether it is about a denial or a mood that a source has and the draft has not, which may be
    # put otherwise: "no pears" and "leaves pears out".
    is_mark: bool = False
    # Whether it is a guess of rules: which words belong together, and whether one is a name.
    is_guess: bool = False


def reasons_of(faults: Iterable[Fault]) -> str:
    """Return what is wrong as one text: what several sources lose alike is said once."""
    return "; ".join(dict.fromkeys(one.why for one in faults))
