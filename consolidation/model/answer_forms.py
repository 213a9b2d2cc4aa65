"""The forms of a model's answers, their JSON schemas, and how a server is asked for them.

Keys that are not asked for are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from slowwave.consolidation.proposals import Operation
from slowwave.store.records import Kind as MemoryKind


class StatedLeftOut(BaseModel):
    """What a text leaves out of a memory on purpose."""

    id: str
    words: str
    why: Literal["said elsewhere", "trivia", "outdated"]


class StatedGroup(BaseModel):
    """Memories that belong together, and the text that replaces them."""

    operation: Operation
    ids: list[str]
    text: str
    left_out: list[StatedLeftOut] = []


class WriteAnswer(BaseModel):
    """The answer about a window, or about groups of it once more."""

    groups: list[StatedGroup]
    conflicts: list[list[str]] = []


class StatedUnsupported(BaseModel):
    """Words of a text that its memories do not say."""

    words: str
    why: str = ""


class StatedLost(StatedUnsupported):
    """Words of a memory that the text does not say."""

    id: str


class StatedWrongJoin(BaseModel):
    """Memories that do not belong to the others."""

    ids: list[str]
    why: str = ""


class StatedCheck(BaseModel):
    """What a reader objects to in one group; `confirms` only of an extraction."""

    n: int
    unsupported: list[StatedUnsupported]
    lost: list[StatedLost]
    wrong_join: list[StatedWrongJoin]
    confirms: list[str] = []


class CheckAnswer(BaseModel):
    """The answer about drafts."""

    groups: list[StatedCheck]


class StatedMemory(BaseModel):
    """A memory to keep of a conversation, and the words that support it."""

    content: str
    kind: MemoryKind
    importance: int
    subject: str = ""
    tags: list[str] = []
    quotes: list[str]


class MemoriesAnswer(BaseModel):
    """The answer about a conversation."""

    memories: list[StatedMemory]
    reasoning: str = ""


Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True)
class AnswerForm(Generic[Shape]):
    """The form of an answer, by the name under which a provider is sent its schema."""

    name: str
    shape: type[Shape]
    # The temperature at which the model is asked.
    temperature: float = 0
    # The key of the list that some models answer without the object around it.
    list_key: str | None = None


WRITE = AnswerForm("write", WriteAnswer)
CHECK = AnswerForm("check", CheckAnswer)
# What is worth remembering is not a matter of one right answer.
MEMORIES = AnswerForm("memories", MemoriesAnswer, temperature=0.2, list_key="memories")
# The kinds of structured output, in the order in which they are tried.
Output = Literal["json_schema", "json_object", "none"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "none")
# Keywords that OpenAI's strict mode refuses: https://platform.openai.com/docs/guides/
# structured-outputs#supported-schemas.
_NOT_IN_STRICT = ("title", "description", "default", "minLength", "maxLength")


@dataclass(frozen=True)
class RequestStyle:
    """The parameters of a request that a server accepts."""

    output: Output = OUTPUTS[0]
    # Reasoning models refuse any temperature but their own.
    has_temperature: bool = True

    def simpler(self, refusal: str) -> RequestStyle | None:
        """Return the style to try after a refusal; None if there is no simpler one."""
        if self.has_temperature and "temperature" in refusal.lower():
            return replace(self, has_temperature=False)
        left = OUTPUTS[OUTPUTS.index(self.output) + 1 :]
        return replace(self, output=left[0]) if left else None


def response_format(output: Output, form: AnswerForm[Any]) -> dict[str, Any]:
    """Return the request parameters for a form of answer; {} for "none"."""
    if output == "none":
        return {}
    if output == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": schema_of(form)}}
    named = {"name": form.name, "schema": schema_of(form), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def schema_of(form: AnswerForm[Any]) -> dict[str, Any]:
    """Return the strict JSON schema of a form: all properties required, no additional ones."""
    shape = form.shape.model_json_schema()
    strict: dict[str, Any] = _strict(shape, shape.pop("$defs", {}))
    return strict


def _strict(shape: Any, parts: dict[str, Any]) -> Any:
    """Return a part of a schema in strict form, with the parts that it refers to."""
    if isinstance(shape, list):
        return [_strict(item, parts) for item in shape]
    if not isinstance(shape, dict):
        return shape
    if "$ref" in shape:
        return _strict(parts[shape["$ref"].rpartition("/")[2]], parts)
    made = {
        name: _strict(value, parts) for name, value in shape.items() if name not in _NOT_IN_STRICT
    }
    if "properties" in shape:
        # Its keys are property names, and may be "title".
        made["properties"] = {
            name: _strict(value, parts) for name, value in shape["properties"].items()
        }
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made
