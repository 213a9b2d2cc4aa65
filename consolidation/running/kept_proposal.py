"""The JSON form in which proposals are kept until a person decides."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct, ValidationError, convert

from slowwave.consolidation.proposals import Draft, LeftOut, Proposal, Result
from slowwave.store.kept_form import KEPT, find_fault
from slowwave.store.records import Claim

if TYPE_CHECKING:
    from slowwave.store.ledger import Decision

VECTOR = "vector"
# The fields of a result that are kept.
_FIELDS = ("proposal", "usage", "model", "model_key", "place")


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


def kept_from_decision(decision: Decision) -> Result:
    """Return the proposal that a row of the ledger keeps, with its `fault` if it is damaged.

    An unreadable vector is dropped, and computed again.
    """
    names = ("operation", "tenant", "sources", "survivor", "reason")
    columns: dict[str, Any] = {name: getattr(decision, name) for name in names}
    columns["id"] = decision.key
    fault = find_fault(decision)
    if fault is None:
        try:
            return _from_json(decision.numbers[KEPT], columns)
        except ValidationError as error:
            fault = str(error)
    similarities = map(decision.numbers.get, ("min_similarity", "mean_similarity"))
    try:
        left_out = convert(decision.numbers.get("left_out", ()), tuple[LeftOut, ...])
    except ValidationError:
        left_out = ()
    lowest, mean = (value if isinstance(value, float) else 0.0 for value in similarities)
    unknown: dict[str, Any] = {"source_hashes": (), "leaving": (), "entities": ()}
    proposal = Proposal(
        **columns | unknown,
        min_similarity=lowest,
        mean_similarity=mean,
        draft=Draft((Claim(decision.draft, decision.sources),) if decision.draft else ()),
        left_out=left_out,
    )
    return Result(proposal, "pending", fault=f"it cannot be read: {fault}")


def _from_json(content: dict[str, Any], columns: dict[str, Any]) -> Result:
    """Return the result that `to_json` kept. columns: of the proposal, in the ledger."""
    fields = {name: content[name] for name in _FIELDS if name in content}
    fields |= {"proposal": content["proposal"] | columns, "state": "pending"}
    result = convert(fields, Result)
    with suppress(ValidationError):
        vector = convert(content.get(VECTOR), _Vector)
        result = replace(result, vector=(vector.model, vector.blob))
    return result
