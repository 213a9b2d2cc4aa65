"""The forms of a model's answers, their JSON schemas, and how a server is asked for them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
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
# The kinds of structured output, in the order in which they are tried.
Output = Literal["json_schema", "json_object", "none"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "none")
# Keywords that OpenAI's strict mode refuses: https://platform.openai.com/docs/guides/
# structured-outputs#supported-schemas.
_NOT_IN_STRICT = ("title", "description", "default", "minLength", "maxLength")


@functools.cache
def _schema(form: AnswerForm) -> dict[str, Any]:
    schema = form.shape.model_json_schema()
    inlined: dict[str, Any] = _inline(schema, schema.pop("$defs", {}))
    return inlined


def _inline(shape: Any, parts: dict[str, Any]) -> Any:
    """Replace references by the parts that they refer to."""
    if isinstance(shape, list):
        return [_inline(item, parts) for item in shape]
    if not isinstance(shape, dict):
        return shape
    if "$ref" in shape:
        return _inline(parts[shape["$ref"].rpartition("/")[2]], parts)
    return {name: _inline(value, parts) for name, value in shape.items()}


@dataclass(frozen=True)
class RequestStyle:
    """The parameters of a request that a server accepts."""

    output: Output = OUTPUTS[0]
    # None: the server's default, since reasoning models refuse any other.
    temperature: int | None = 0

    def simpler(self, refusal: str) -> RequestStyle | None:
        """Return the style to try after a refusal; None if there is no simpler one."""
        if self.temperature is not None and "temperature" in refusal.lower():
            return replace(self, temperature=None)
        left = OUTPUTS[OUTPUTS.index(self.output) + 1 :]
        return replace(self, output=left[0]) if left else None


def temperature_of(style: RequestStyle, form: AnswerForm) -> float | None:
    """Return the temperature of a question; None for the server's default."""
    return None if style.temperature is None else form.temperature


def response_format(output: Output, form: AnswerForm) -> dict[str, Any]:
    """Return the request parameters for a form of answer; {} for "none"."""
    if output == "none":
        return {}
    shape = _strict(_schema(form))
    if output == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": shape}}
    named = {"name": form.name, "schema": shape, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _strict(schema: Any) -> Any:
    """Return a strict schema: every property required, no additional ones allowed."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _strict(value) for name, value in schema.items() if name not in _NOT_IN_STRICT}
    if isinstance(schema.get("properties"), dict):
        # Its keys are property names, and may be "title".
        made["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made
