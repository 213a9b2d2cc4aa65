"""The JSON form in which proposals are kept until a person decides."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, ValidationError, convert

from slowwave.consolidation.proposals import Draft, LeftOut, Operation, Proposal, Result
from slowwave.store.kept_form import KEPT, find_fault, find_row_fault
from slowwave.store.records import Claim

if TYPE_CHECKING:
    from slowwave.store.ledger import Decision

VECTOR = "vector"
# The fields of a result that are kept.
_FIELDS = ("proposal", "usage", "model", "model_key", "place")
# The largest plausible count.
_MAX_COUNT = 2**53


class _Vector(Struct):
    """A draft's vector in JSON, its blob in base64."""

    model: str
    blob: bytes


def to_json(result: Result) -> dict[str, Any]:
    """Return a proposal as JSON."""
    fields = asdict(result)
    content = {name: fields[name] for name in _FIELDS}
    if result.vector is not None:
        model, blob = result.vector
        content[VECTOR] = {"model": model, "blob": b64encode(blob).decode()}
    return content


def from_json(content: object) -> Result:
    """Return the pending proposal that `to_json` returned. Raises `ValueError` if it is not one.

    An unreadable vector is dropped, and computed again.
    """
    fault = find_fault(content)
    if fault is not None:
        raise ValueError(fault)
    return _convert(cast("dict[str, Any]", content))


def kept_from_decision(decision: Decision) -> Result:
    """Return the proposal that a row of the ledger keeps, with its `fault` if it is damaged."""
    try:
        fault = find_row_fault(decision)
        if fault is not None:
            raise ValueError(fault)
        return _convert(decision.numbers[KEPT])
    except ValueError as error:
        return Result(_from_columns(decision), "pending", fault=f"it cannot be read: {error}")


def _convert(content: dict[str, Any]) -> Result:
    fields = {name: content[name] for name in _FIELDS if name in content}
    try:
        result = convert(fields | {"state": "pending"}, Result)
    except ValidationError as error:
        raise ValueError(str(error)) from error
    usage = result.usage
    counts = (usage.calls, usage.cached, usage.prompt_tokens, usage.completion_tokens)
    if not all(0 <= count <= _MAX_COUNT for count in counts):
        raise ValueError("its model usage is not a count")
    try:
        vector = convert(content.get(VECTOR), _Vector)
    except ValidationError:
        return result
    return replace(result, vector=(vector.model, vector.blob))


def _from_columns(decision: Decision) -> Proposal:
    """Return as much of a proposal as the ledger's columns contain."""
    claims = (Claim(decision.draft, decision.sources),) if decision.draft else ()
    similarities = map(decision.numbers.get, ("min_similarity", "mean_similarity"))
    try:
        left_out = convert(decision.numbers.get("left_out", ()), tuple[LeftOut, ...])
    except ValidationError:
        left_out = ()
    lowest, mean = (value if isinstance(value, float) else 0.0 for value in similarities)
    return Proposal(
        id=decision.key,
        operation=cast("Operation", decision.operation),
        tenant=decision.tenant,
        sources=decision.sources,
        source_hashes=(),
        leaving=(),
        survivor=decision.survivor,
        entities=(),
        min_similarity=lowest,
        mean_similarity=mean,
        reason=decision.reason,
        draft=Draft(claims),
        left_out=left_out,
    )
