"""A proposal in the JSON form in which it is kept until a person decides."""

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
# The largest plausible count.
_MAX_COUNT = 2**53


@dataclass(frozen=True)
class DraftVector:
    """The vector of a draft, kept so that it is not embedded again."""

    # The name of the embedding model.
    model: str
    # The blob that the file stores for vectors, in base64.
    blob: str

    @classmethod
    def of(cls, vector: NDArray[np.float32], model: str) -> DraftVector:
        """Return a float32 vector, shape (d,), unit length, as it is kept."""
        return cls(model, b64encode(to_blob(vector)).decode())

    def read(self, model: str) -> NDArray[np.float32] | None:
        """Return the float32 vector, shape (d,); None if of another model, or damaged."""
        try:
            blob = b64decode(self.blob, validate=True)
        except ValueError:
            return None
        return from_blob(blob) if self.model == model and is_sound(blob) else None


@dataclass(frozen=True)
class KeptProposal:
    """A checked proposal and the model that wrote it; damaged if `fault` is set."""

    proposal: Proposal
    # Its share of the model's usage.
    usage: Usage = field(default_factory=Usage)
    # The model's name, and the hash of the model and its prompts; None without a model.
    model: str | None = None
    model_key: str | None = None
    # Its place in the run: the survivor of a merge may go into a later proposal.
    place: int = 0
    # None if no text is written, or it was not embedded.
    vector: DraftVector | None = None
    # Why it is damaged and cannot be applied; then `proposal` only holds the ledger's columns.
    fault: str | None = None


def as_json(kept: KeptProposal) -> dict[str, Any]:
    """Return a proposal as JSON."""
    found = asdict(kept)
    del found["fault"]
    if not kept.proposal.include_protected:
        del found["proposal"]["include_protected"]  # absent in older plans, and sealed so
    if kept.vector is None:
        del found[VECTOR]
    return found | {"proposal": _renamed(found["proposal"], "topics", _TOPICS)}


def read_kept(found: object) -> KeptProposal:
    """Return the proposal that `as_json` returned. Raises `ValueError` if it is not one.

    An unreadable vector is dropped, and computed again.
    """
    fault = find_fault(found)
    if fault is not None:
        raise ValueError(fault)
    return _convert(cast("dict[str, Any]", found))


def kept_from_decision(decision: Decision) -> KeptProposal:
    """Return the proposal that a row of the ledger keeps, with its `fault` if it is damaged."""
    try:
        fault = find_row_fault(decision)
        if fault is not None:
            raise ValueError(fault)
        return _convert(decision.numbers[KEPT])
    except ValueError as error:
        return KeptProposal(_from_columns(decision), fault=f"it cannot be read: {error}")


def _convert(found: Mapping[str, Any]) -> KeptProposal:
    fields = dict(found) | {
        "proposal": _renamed(found["proposal"], _TOPICS, "topics"),
        VECTOR: _readable_vector(found.get(VECTOR)),
        "fault": None,
    }
    try:
        kept = convert(fields, KeptProposal)
    except ValidationError as error:
        raise ValueError(str(error)) from error
    usage = kept.usage
    counts = (usage.calls, usage.cached, usage.prompt_tokens, usage.completion_tokens)
    if not all(0 <= count <= _MAX_COUNT for count in counts):
        raise ValueError("its usage of a model is not a count")
    return kept


def _readable_vector(found: object) -> DraftVector | None:
    try:
        return convert(found, DraftVector | None)
    except ValidationError:
        return None


def _from_columns(decision: Decision) -> Proposal:
    """Return as much of a proposal as the ledger's columns hold."""
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
