"""The forms in which a model must answer, and their JSON schemas."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from slowwave.consolidation.proposals import Operation
from slowwave.store.records import Kind as MemoryKind


class Stated(BaseModel):
    """A part of an answer. Keys that are not asked for are ignored."""

    model_config = ConfigDict(extra="ignore")


class StatedLeftOut(Stated):
    """What a text leaves out of a memory on purpose."""

    id: str
    words: str
    why: Literal["said elsewhere", "trivia", "outdated"]


class StatedGroup(Stated):
    """Memories that belong together, and the text that replaces them."""

    operation: Operation
    ids: list[str]
    text: str
    left_out: list[StatedLeftOut] = []


class WriteAnswer(Stated):
    """The answer about a window, or about groups of it once more."""

    groups: list[StatedGroup]
    conflicts: list[list[str]] = []


class StatedUnsupported(Stated):
    """Words of a text that its memories do not say."""

    words: str
    why: str = ""


class StatedLost(StatedUnsupported):
    """Words of a memory that the text does not say."""

    id: str


class StatedWrongJoin(Stated):
    """Memories that do not belong to the others."""

    ids: list[str]
    why: str = ""


class StatedCheck(Stated):
    """What a reader objects to in one group; `confirms` only of an extraction."""

    n: int
    unsupported: list[StatedUnsupported]
    lost: list[StatedLost]
    wrong_join: list[StatedWrongJoin]
    confirms: list[str] = []


class CheckAnswer(Stated):
    """The answer about drafts."""

    groups: list[StatedCheck]


class StatedMemory(Stated):
    """What is to be remembered of a conversation, and the words that it rests on."""

    content: str
    kind: MemoryKind
    importance: int
    subject: str = ""
    tags: list[str] = []
    quotes: list[str]


class MemoriesAnswer(Stated):
    """The answer about a conversation."""

    memories: list[StatedMemory]
    reasoning: str = ""


@dataclass(frozen=True)
class AnswerForm:
    """The form of an answer, by the name under which a provider is sent its schema."""

    name: str
    shape: type[Stated]
    # The temperature at which the model is asked.
    temperature: float = 0


WRITE = AnswerForm("write", WriteAnswer)
CHECK = AnswerForm("check", CheckAnswer)
# What is worth remembering is not a matter of one right answer.
MEMORIES = AnswerForm("memories", MemoriesAnswer, temperature=0.2)


def schema(form: AnswerForm) -> dict[str, Any]:
    """Return the JSON schema of an answer, as providers of structured output want it."""
    # Each time a new one: litellm changes it for some providers.
    made: dict[str, Any] = json.loads(_schema_text(form))
    return made


@functools.cache
def _schema_text(form: AnswerForm) -> str:
    shape = form.shape.model_json_schema()
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
