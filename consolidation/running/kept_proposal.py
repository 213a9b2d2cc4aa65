"""A proposal as it is kept until a person decides: whole, so that just that is carried out."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert

from slowwave.consolidation.proposals import Proposal, Usage
from slowwave.store.errors import UnusableFile
from slowwave.store.vectors import from_blob, is_sound, to_blob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Under which the numbers of a row of the ledger hold it.
KEPT = "kept"
# What JSON calls the topics of a proposal.
_TOPICS = "entities"
VECTOR = "vector"


@dataclass(frozen=True)
class DraftVector:
    """The vector of a draft, so that what was embedded to check it is not embedded again."""

    # The name of the embedding model.
    model: str
    # As the file keeps vectors, in base64.
    blob: str

    @classmethod
    def of(cls, vector: NDArray[np.float32], model: str) -> DraftVector:
        """Return a vector, float32, shape (d,), unit length, as it is kept."""
        return cls(model, b64encode(to_blob(vector)).decode())

    def read(self, model: str) -> NDArray[np.float32] | None:
        """Return it, float32, shape (d,); None if another model made it, or it is damaged."""
        try:
            blob = b64decode(self.blob, validate=True)
        except ValueError:
            return None
        return from_blob(blob) if self.model == model and is_sound(blob) else None


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
    # None where no text is written, or it was not embedded.
    vector: DraftVector | None = None


def as_kept(kept: KeptProposal) -> dict[str, Any]:
    """Return it as JSON has it."""
    found = asdict(kept)
    if not kept.proposal.include_protected:
        del found["proposal"]["include_protected"]  # as plans of before have it
    if kept.vector is None:
        del found[VECTOR]
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
