"""A proposal as it is kept until a person decides: whole, so that just that is carried out."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

from msgspec import ValidationError, convert

from slowwave.consolidation.proposals import Claim, Draft, Operation, Proposal, Usage
from slowwave.store.kept_form import KEPT, find_fault, find_row_fault
from slowwave.store.vectors import from_blob, is_sound, to_blob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slowwave.store.ledger import Decision

# What JSON calls the topics of a proposal.
_TOPICS = "entities"
VECTOR = "vector"
# More of anything is no count: the file could not hold it.
_MOST = 2**53


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

    @property
    def fault(self) -> str | None:
        """Why it cannot be read, and so not be carried out; None if it can."""
        return None


@dataclass(frozen=True)
class UnreadableProposal(KeptProposal):
    """One that cannot be read any more: what the ledger still says of it, to be shown."""

    why: str = ""

    @property
    def fault(self) -> str | None:
        """Why it cannot be read."""
        return f"it cannot be read: {self.why}"


def as_kept(kept: KeptProposal) -> dict[str, Any]:
    """Return it as JSON has it."""
    found = asdict(kept)
    if not kept.proposal.include_protected:
        del found["proposal"]["include_protected"]  # as plans of before have it
    if kept.vector is None:
        del found[VECTOR]
    return found | {"proposal": _renamed(found["proposal"], "topics", _TOPICS)}


def read_kept(found: object) -> KeptProposal:
    """Return what `as_kept` gave. Raises `ValueError` if it did not give it.

    A vector that cannot be read is left out: it is computed again.
    """
    fault = find_fault(found)
    if fault is not None:
        raise ValueError(fault)
    return _converted(cast("dict[str, Any]", found))


def kept_of(decision: Decision) -> KeptProposal:
    """Return the proposal that a row of the ledger keeps, an unreadable one if it is damaged."""
    try:
        fault = find_row_fault(decision)
        if fault is not None:
            raise ValueError(fault)
        return _converted(decision.numbers[KEPT])
    except ValueError as error:
        return UnreadableProposal(_told(decision), why=str(error))


def _converted(found: Mapping[str, Any]) -> KeptProposal:
    fields = dict(found) | {
        "proposal": _renamed(found["proposal"], _TOPICS, "topics"),
        VECTOR: _readable_vector(found.get(VECTOR)),
    }
    try:
        kept = convert(fields, KeptProposal)
    except ValidationError as error:
        raise ValueError(str(error)) from error
    asked = kept.usage
    counts = (asked.calls, asked.cached, asked.prompt_tokens, asked.completion_tokens)
    if not all(0 <= one <= _MOST for one in counts):
        raise ValueError("what was asked of a model is no count")
    return kept


def _readable_vector(found: object) -> DraftVector | None:
    try:
        return convert(found, DraftVector | None)
    except ValidationError:
        return None


def _told(decision: Decision) -> Proposal:
    """Return as much of a proposal as the columns of the ledger say."""
    claims = (Claim(decision.draft, decision.sources),) if decision.draft else ()
    return Proposal(
        id=decision.key,
        operation=cast("Operation", decision.operation),
        tenant=decision.tenant,
        sources=decision.sources,
        source_hashes=(),
        leaving=(),
        survivor=decision.survivor,
        topics=(),
        min_similarity=_number(decision.numbers.get("min_similarity")),
        mean_similarity=_number(decision.numbers.get("mean_similarity")),
        reason=decision.reason,
        draft=Draft(claims),
    )


def _number(found: object) -> float:
    return found if isinstance(found, float) else 0.0


def _renamed(fields: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in fields.items()}
