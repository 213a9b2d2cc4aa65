"""The forms in which a model must answer, and their JSON schemas."""

from __future__ import annotations

import functools
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.consolidation.proposals import Operation
from slowwave.store.records import Kind as MemoryKind

# The forms of answers.
AnswerForm = Literal["write", "check", "experience", "memories"]


class _Stated(BaseModel):
    # Other keys of an answer are ignored.
    model_config = ConfigDict(extra="ignore")


class StatedLeftOut(_Stated):
    """What a text leaves out of a memory on purpose."""

    id: str
    words: str
    why: Literal["said elsewhere", "trivia", "outdated"]


class StatedGroup(_Stated):
    """Memories that belong together, and the text that replaces them."""

    operation: Operation
    ids: list[str]
    text: str
    left_out: list[StatedLeftOut] = []


class WriteAnswer(_Stated):
    """The answer about a window, or about groups of it once more."""

    groups: list[StatedGroup]
    conflicts: list[list[str]] = []


class StatedUnsupported(_Stated):
    """Words of a text that its memories do not say."""

    words: str
    why: str = ""


class StatedLost(StatedUnsupported):
    """Words of a memory that the text does not say."""

    id: str


class StatedWrongJoin(_Stated):
    """Memories that do not belong to the others."""

    ids: list[str]
    why: str = ""


class StatedCheck(_Stated):
    """What a reader objects to in one group; `confirms` only of an extraction."""

    n: int
    unsupported: list[StatedUnsupported]
    lost: list[StatedLost]
    wrong_join: list[StatedWrongJoin]
    confirms: list[str] = []


class CheckAnswer(_Stated):
    """The answer about drafts."""

    groups: list[StatedCheck]


class StatedClaim(_Stated):
    """One sentence, and the short ids of the traces that say it."""

    text: str = Field(min_length=1)
    sources: list[str]


class StatedDecision(StatedClaim):
    """Something that was decided, how that went, and the short ids of the traces that say so."""

    outcome: Literal["worked", "failed"]


class ExperienceAnswer(_Stated):
    """The answer about the traces of a task."""

    decisions: list[StatedDecision]
    contexts: list[StatedClaim]


class StatedMemory(_Stated):
    """What is to be remembered of a conversation, and the words that it rests on."""

    content: str
    kind: MemoryKind
    importance: int
    subject: str = ""
    tags: list[str] = []
    quotes: list[str]


class MemoriesAnswer(_Stated):
    """The answer about a conversation."""

    memories: list[StatedMemory]
    reasoning: str = ""


ANSWER_FORMS: dict[AnswerForm, type[_Stated]] = {
    "write": WriteAnswer,
    "check": CheckAnswer,
    "experience": ExperienceAnswer,
    "memories": MemoriesAnswer,
}


def schema(form: AnswerForm) -> dict[str, Any]:
    """Return the JSON schema of an answer, as providers of structured output want it."""
    # Each time a new one: litellm changes it for some providers.
    made: dict[str, Any] = json.loads(_schema_text(form))
    return made


@functools.cache
def _schema_text(form: AnswerForm) -> str:
    shape = ANSWER_FORMS[form].model_json_schema()
    return json.dumps(_whole(shape, shape.pop("$defs", {})))


def _whole(shape: Any, parts: dict[str, Any]) -> Any:
    """Insert parts in the places that refer to them."""
    if isinstance(shape, list):
        return [_whole(one, parts) for one in shape]
    if not isinstance(shape, dict):
        return shape
    if "$ref" in shape:
        return _whole(parts[shape["$ref"].rpartition("/")[2]], parts)
    return {name: _whole(one, parts) for name, one in shape.items()}
