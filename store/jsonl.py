"""What one JSON line may say about a memory, and why a line is refused."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from .records import (
    MOST_CHARACTERS,
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
    if "\x00" in text:  # where many a program would take the text to end
        raise PydanticCustomError("nul", "holds a NUL character")
    return text


def _in_utc(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return timestamp(moment)
    except (ValueError, OverflowError):
        pass
    raise PydanticCustomError("time", "should be an ISO 8601 time with an offset")


def refuse_long(text: str) -> None:
    """Raise ValueError if a text is too long for a memory."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(
            f"its text has {len(text):,} characters, and a memory has at most {MOST_CHARACTERS:,}; "
            "keep it as a document, and remember what matters in it"
        )


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise PydanticCustomError("number", "holds a number that is not finite") from None
    return value


# What is said may hold anything, as it may in the file; what things are called may not.
_Text = str
_Name = Annotated[str, Field(min_length=1), AfterValidator(_without_nul)]
# ISO 8601, brought to UTC.
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
    """One line. All but `content` is optional; what `export` adds stands at the end."""

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

    def memory(self, now: str) -> Memory:
        """Return the memory, with what the line leaves open filled in."""
        created = self.created_at or now
        return Memory(
            id=self.id or new_id(),
            tenant=self.tenant,
            content=self.content,
            kind=self.kind,
            layer=self.layer,
            status=self.status,
            origin=self.origin,
            trust=self.trust,
            importance=self.importance,
            pinned=self.pinned,
            generation=self.generation,
            source=self.source,
            session=self.session,
            tags=tuple(self.tags),
            metadata=self.metadata,
            content_hash=content_hash(self.content),
            access_count=self.access_count,
            observed_at=self.observed_at or created,
            created_at=created,
            updated_at=self.updated_at or created,
            accessed_at=self.accessed_at,
            expires_at=self.expires_at,
            superseded_by=self.superseded_by,
            superseded_at=self.superseded_at,
        )

    def vectors(self) -> dict[str, list[float]]:
        """Return the vectors by model. Raises ValueError if the two fields do not go together."""
        if (self.embedding is None) != (self.embedding_model is None):
            raise ValueError("embedding and embedding_model go together")
        more = {one.model: one.vector for one in self.more_embeddings}
        if self.embedding is None or self.embedding_model is None:
            return more
        return {self.embedding_model: self.embedding} | more

    def edges(self, memory_id: str) -> list[dict[str, Any]]:
        """Return the edges of lineage into the memory."""
        return [{"derived_id": memory_id, **edge.model_dump()} for edge in self.synthesized_from]


# What a line need not say.
DEFAULTS = {name: field.default for name, field in ImportLine.model_fields.items()}


def parse_line(text: bytes) -> ImportLine:
    """Return what a line says. Raises ValueError if it is not valid."""
    return ImportLine.model_validate_json(text)


def describe_error(error: ValueError) -> str:
    """Return in a few words why a line was refused."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    if "recursion limit" in first["msg"]:
        return "its values lie too deep within each other"
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"][:1].lower() + first["msg"][1:]
    # The parser sees one line only, and does not know which.
    return f"{where}: {said}" if where else said.replace("at line 1 column", "at column")
