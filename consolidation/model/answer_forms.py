"""The forms of a model's answers, their JSON schemas, and how a server is asked for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


# The kinds of structured output, in the order in which they are tried.
Output = Literal["json_schema", "json_object", "none"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "none")
# Forms with a temperature other than 0.
_TEMPERATURES: dict[AnswerForm, float] = {"memories": 0.2}
# Keywords that OpenAI's strict mode refuses: https://platform.openai.com/docs/guides/
# structured-outputs#supported-schemas.
_NOT_IN_STRICT = ("title", "description", "default", "minLength", "maxLength")

ANSWER_FORMS: dict[AnswerForm, type[_Stated]] = {
    "write": WriteAnswer,
    "check": CheckAnswer,
    "experience": ExperienceAnswer,
    "memories": MemoriesAnswer,
}


def _schema(form: AnswerForm) -> dict[str, Any]:
    schema = ANSWER_FORMS[form].model_json_schema()
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
    return None if style.temperature is None else _TEMPERATURES.get(form, style.temperature)


def response_format(output: Output, form: AnswerForm) -> dict[str, Any]:
    """Return the request parameters for a form of answer; {} for "none"."""
    if output == "none":
        return {}
    shape = _strict(_schema(form))
    if output == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": shape}}
    named = {"name": form, "schema": shape, "strict": True}
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
