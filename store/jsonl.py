"""The fields of a memory's JSON line, and the errors of invalid lines."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from .records import (
    COLUMNS,
    MAX_CHARACTERS,
    Kind,
    Layer,
    Memory,
    Origin,
    Status,
    content_hash,
    new_id,
    timestamp,
)


def _without_nul(text: str) -> str:
    if "\x00" in text:  # many programs would truncate the text there
        raise PydanticCustomError("nul", "contains a NUL character")
    return text


def _in_utc(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return timestamp(moment)
    except (ValueError, OverflowError):
        pass
    raise PydanticCustomError("time", "should be an ISO 8601 time with an offset")


def refuse_unusable_text(text: object) -> None:
    """Raise ValueError if a text is not a string, is blank, or is too long for a memory."""
    if not isinstance(text, str):
        raise ValueError("its text is not a string")
    if not text.strip():
        raise ValueError("its text is blank")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(
            f"its text has {len(text):,} characters, but a memory has at most {MAX_CHARACTERS:,}; "
            "store it as a document, and store a summary as the memory"
        )


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise PydanticCustomError("number", "contains a number that is not finite") from None
    return value


# Texts may contain NUL characters, names may not.
_Text = str
_Name = Annotated[str, Field(min_length=1), AfterValidator(_without_nul)]
# ISO 8601, converted to UTC.
Moment = Annotated[str, AfterValidator(_in_utc)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Numbers = Annotated[list[float], Field(min_length=1)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Vector(_Fields):
    model: _Name
    vector: _Numbers


class _EdgeFields(_Fields):
    source_id: _Name
    operation: Literal["merge", "synthesize", "extract", "update"]
    run_id: _Text
    source_hash: _Text
    source_content: _Text | None = None
    created_at: Moment


class ImportLine(_Fields):
    """A line. All fields but `content` are optional; the last group is written by exports."""

    content: Annotated[str, Field(min_length=1)]
    id: _Name | None = None
    tenant: _Name = "default"
    kind: Kind = "fact"
    layer: Layer = "working"
    origin: Origin = "agent"
    trust: float = Field(default=0.5, ge=0, le=1)
    importance: int = Field(default=3, ge=1, le=5)
    pinned: bool = False
    source: _Text | None = None
    session: _Text | None = None
    tags: list[_Text] = []
    metadata: Annotated[dict[str, Any], AfterValidator(_plain)] = {}
    observed_at: Moment | None = None
    created_at: Moment | None = None
    expires_at: Moment | None = None
    entities: list[_Name] = []
    embedding: _Numbers | None = None
    embedding_model: _Name | None = None

    status: Status = "active"
    generation: _Count = 0
    access_count: _Count = 0
    updated_at: Moment | None = None
    accessed_at: Moment | None = None
    superseded_by: _Name | None = None
    superseded_at: Moment | None = None
    more_embeddings: list[_Vector] = []
    synthesized_from: list[_EdgeFields] = []
    # Only of a damaged text, which it does not match.
    content_hash: str | None = None

    def memory(self, now: str) -> Memory:
        """Return the memory, with defaults for missing fields. Raises ValueError if damaged."""
        created = self.created_at or now
        values = {name: getattr(self, name) for name in COLUMNS}
        if self.content_hash not in (None, content_hash(self.content)):
            raise ValueError("its text is damaged: correct it, or remove content_hash to accept it")
        return Memory(
            **values
            | {
                "id": self.id or new_id(),
                "tags": tuple(self.tags),
                "content_hash": content_hash(self.content),
                "observed_at": self.observed_at or created,
                "created_at": created,
                "updated_at": self.updated_at or created,
            }
        )

    def vectors(self) -> dict[str, list[float]]:
        """Return the vectors by model. Raises ValueError if `embedding` or its model is missing."""
        if (self.embedding is None) != (self.embedding_model is None):
            raise ValueError("embedding and embedding_model must be given together")
        vectors = {item.model: item.vector for item in self.more_embeddings}
        if self.embedding is None or self.embedding_model is None:
            return vectors
        return {self.embedding_model: self.embedding} | vectors

    def edges(self, memory_id: str) -> list[dict[str, Any]]:
        """Return the lineage edges from the memory to its sources."""
        return [{"derived_id": memory_id, **edge.model_dump()} for edge in self.synthesized_from]


_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')
_TOO_DEEP = "its values are nested too deeply"
# By the type of pydantic's error, for a key of the line.
_OF_KEYS = {"extra_forbidden": "unknown key '{}'", "missing": "'{}' is missing"}
DEFAULTS = {name: field.default for name, field in ImportLine.model_fields.items()}


def parse_line(text: bytes) -> ImportLine:
    """Parse a line. Raises ValueError if it is invalid."""
    line = ImportLine.model_validate_json(text)
    keys = _KEY.findall(text)
    if len(set(keys)) < len(keys):  # perhaps of different objects
        json.loads(text, object_pairs_hook=_refuse_repeated)
    return line


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    """Raise ValueError for a repeated key, of which parsers keep only the last value."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key '{repeated}' is in it twice")


def describe_error(error: Exception) -> str:
    """Return the reason why a line is invalid."""
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    if isinstance(error, UnicodeEncodeError):
        return "a text has half of a surrogate pair"
    if not isinstance(error, ValidationError):
        return str(error).rstrip(".")
    first = error.errors(include_url=False, include_input=False)[0]
    if "recursion limit" in first["msg"]:
        return _TOO_DEEP
    if first["type"] == "json_invalid":
        # The parser sees a single line and does not know its number.
        return f"it is not valid JSON, at column {first['msg'].rpartition(' ')[2]}"
    where = ".".join(str(part) for part in first["loc"])
    if (sentence := _OF_KEYS.get(first["type"])) is not None:
        return sentence.format(where)
    _, must, wanted = first["msg"].partition("should ")
    return f"{where or 'it'} must {wanted}" if must else f"{where}: {first['msg']}"
