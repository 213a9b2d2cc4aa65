"""A proposal as it is kept until a person decides: whole, so that just that is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from msgspec import ValidationError, convert

from slowwave.consolidation.proposals import Proposal, Usage
from slowwave.store.errors import UnusableFile

# Under which the numbers of a row of the ledger hold it.
KEPT = "kept"
# What JSON calls the topics of a proposal.
_TOPICS = "entities"


@dataclass(frozen=True)
class KeptProposal:
    """A proposal that was written and checked, with what wrote it."""

    proposal: Proposal
    # Its share of what was asked of a model.
    usage: Usage = field(default_factory=Usage)
    # The model's name, and the hash of the model and of its instructions; None without one.
    model: str | None = None
    model_key: str | None = None
    # Its place among those that the run kept: what stays in a merge may go on into a later one.
    place: int = 0


def as_kept(kept: KeptProposal) -> dict[str, Any]:
    """Return it as JSON has it."""
    found = asdict(kept)
    return found | {"proposal": _renamed(found["proposal"], "topics", _TOPICS)}


def read_kept(found: object) -> KeptProposal:
    """Return what `as_kept` gave. Raises `ValueError` if it did not give it."""
    if isinstance(found, dict) and isinstance(found.get("proposal"), dict):
        found = found | {"proposal": _renamed(found["proposal"], _TOPICS, "topics")}
    try:
        return convert(found, KeptProposal)
    except ValidationError as error:
        raise ValueError(str(error)) from error


def kept_of(numbers: Mapping[str, Any], key: str) -> KeptProposal:
    """Return the proposal that a row of the ledger keeps. Raises `UnusableFile`."""
    try:
        return read_kept(numbers.get(KEPT))
    except ValueError as error:
        raise UnusableFile(f"Proposal {key}, which waits, cannot be read: {error}.") from error


def _renamed(fields: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in fields.items()}
