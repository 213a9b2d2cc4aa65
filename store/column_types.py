"""The types of the columns of `memories`, checked by msgspec.

A module of its own, because commands that read no memory must not wait for a library.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

from msgspec import Meta, ValidationError, convert, defstruct

from .records import Kind, Layer, Memory, Origin, Status, in_utc, read_json

_Filled = Annotated[str, Meta(min_length=1)]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
# The types of columns that have more limits than a field of `Memory`.
_LIMITED: dict[str, Any] = {
    "tenant": _Filled,
    "content": _Filled,
    "kind": Kind,
    "layer": Layer,
    "status": Status,
    "origin": Origin,
    "trust": Annotated[float, Meta(ge=0, le=1)],
    "importance": Annotated[int, Meta(ge=1, le=5)],
    "pinned": Literal[0, 1],
    "generation": _Count,
    # An agent's row may lack the hash; a `Memory` always has it.
    "content_hash": str | None,
    "access_count": _Count,
}
_TYPES = {
    field.name: _LIMITED.get(field.name, str | None if "None" in str(field.type) else str)
    for field in fields(Memory)
}
# The columns with JSON.
_JSON: dict[str, type] = {"tags": list, "metadata": dict}
_Row = defstruct("_Row", list(_TYPES.items()), array_like=True)


def fit_columns(values: tuple[Any, ...]) -> bool:
    """Whether the values of a row have the types of their columns."""
    return _fits(values, _Row)


def is_valid(name: str, value: object) -> bool:
    """Whether a value is valid for a column."""
    if not _fits(value, _TYPES[name]):
        return False
    if value is None:
        return True
    if name.endswith("_at"):
        return _is_time(str(value))
    return name not in _JSON or isinstance(read_json(value), _JSON[name])


def _is_time(text: str) -> bool:
    try:
        in_utc(text)
    except ValueError:
        return False
    return True


def _fits(value: object, kind: Any) -> bool:
    try:
        convert(value, kind)
    except ValidationError:
        return False
    return True
