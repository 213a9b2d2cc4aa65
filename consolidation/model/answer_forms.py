"""The forms of a model's answers, how a server is asked for them, and how answers are read.

Models reason aloud, put JSON in fences or sentences, add keys, and capitalize keys.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from slowwave.consolidation.proposals import Operation
from slowwave.store.conversations.messages import replace_half_pairs
from slowwave.store.records import Kind as MemoryKind

from .unanswered import UnreadableAnswer

# Models write unescaped line breaks into strings.
_DECODER = json.JSONDecoder(strict=False)
# The length of the longest tokens: "\u003c", "false".
_MAX_TOKEN = 6
_REASONING = re.compile(r"\s*<(think|thinking|thought|reasoning)>")
# Anything else is not an object; a looping model may write thousands of "{".
_BEGINNING = re.compile(r"\{\s*[\"}]")
_FENCE = re.compile(r"^```\w*\s*|\s*```$")


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
        simpler_outputs = OUTPUTS[OUTPUTS.index(self.output) + 1 :]
        return replace(self, output=simpler_outputs[0]) if simpler_outputs else None


def response_format(output: Output, form: AnswerForm[Any]) -> dict[str, Any]:
    """Return the request parameters for a form of answer; {} for "none"."""
    if output == "none":
        return {}
    if output == "json_object":  # as llama.cpp's server expects it
        return {"response_format": {"type": "json_object", "schema": schema_of(form)}}
    schema = {"name": form.name, "schema": schema_of(form), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


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
    strict = {
        name: _strict(value, parts) for name, value in shape.items() if name not in _NOT_IN_STRICT
    }
    if "properties" in shape:
        # Its keys are property names, and may be "title".
        strict["properties"] = {
            name: _strict(value, parts) for name, value in shape["properties"].items()
        }
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


def read_answer(form: AnswerForm[Shape], text: str) -> Shape:
    """Return an answer in its form. Raises `UnreadableAnswer`."""
    bare = _FENCE.sub("", text.strip()).strip()
    if form.list_key is not None and bare.startswith("[") and bare.endswith("]"):
        text = f'{{"{form.list_key}": {bare}}}'
    return parse_answer(form.shape, text)


def parse_answer(shape: type[Shape], text: str) -> Shape:
    """Return the last JSON object of a shape in an answer. Raises `UnreadableAnswer`.

    The last, because a model that reasons aloud corrects itself.
    """
    objects, broken = _objects(text)
    if broken or not text.strip():
        raise UnreadableAnswer("the answer breaks off before its end", text)
    why = None
    for value in reversed(objects):
        try:
            return shape.model_validate(_cleaned(value))
        except ValidationError as error:
            why = why or first_fault(error)
    why = why or "it contains no JSON object"
    raise UnreadableAnswer(f"the answer is not in the requested JSON format ({why})", text)


def breaks_off(text: str) -> bool:
    """Whether an answer ends within its JSON or its reasoning."""
    return _objects(text)[1]


def _objects(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the outermost JSON objects in a text, and whether it is cut off."""
    answer = _without_reasoning(text)
    objects: list[dict[str, Any]] = []
    end = 0
    while (begun := _BEGINNING.search(answer, end)) is not None:
        try:
            value, end = _DECODER.raw_decode(answer, begun.start())
        except RecursionError:
            return objects, False
        except json.JSONDecodeError as error:
            if _ran_out(error, answer):
                # Inner objects are parts of the one that is cut off.
                return objects, True
            end = begun.start() + 1
        else:
            objects.append(value)
    return objects, not answer.strip() and bool(text.strip())


def _without_reasoning(text: str) -> str:
    """Remove the reasoning before an answer: everything, if it never ends."""
    begun = _REASONING.match(text)
    if begun is not None:
        return text[begun.end() :].partition(f"</{begun[1]}>")[2]
    # Templates may have opened the reasoning already.
    before, closed, after = text.partition("</think>")
    return after if closed and "{" not in before else text


def _ran_out(error: json.JSONDecodeError, text: str) -> bool:
    tail = text[error.pos :].strip()
    within_token = len(tail) < _MAX_TOKEN and "}" not in tail
    return error.msg.startswith("Unterminated string") or within_token


def _cleaned(value: Any) -> Any:
    """Return a value with its keys in snake case, and texts that UTF-8 can encode."""
    if isinstance(value, str):
        return replace_half_pairs(value)
    if isinstance(value, list):
        return list(map(_cleaned, value))
    if isinstance(value, dict):
        return {
            re.sub(r"[\s-]+", "_", key.strip()).lower(): _cleaned(part)
            for key, part in value.items()
        }
    return value


def first_fault(error: ValidationError) -> str:
    """Return where something has the wrong form first, and why."""
    first = error.errors(include_url=False, include_input=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
