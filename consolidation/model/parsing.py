"""Parse a model's answer into the requested form, ignoring what surrounds the JSON.

Models reason aloud, put JSON in fences or sentences, add keys, and capitalize keys.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import ValidationError

from slowwave.store.conversations.messages import replace_half_pairs

from .answer_forms import AnswerForm, Shape
from .unanswered import UnreadableAnswer

# Models write unescaped line breaks into strings.
_DECODER = json.JSONDecoder(strict=False)
# The length of the longest tokens: "\u003c", "false".
_MAX_TOKEN = 6
_REASONING = re.compile(r"\s*<(think|thinking|thought|reasoning)>")
# Anything else is not an object; a looping model may write thousands of "{".
_BEGINNING = re.compile(r"\{\s*[\"}]")
_FENCE = re.compile(r"^```\w*\s*|\s*```$")


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
    found: list[dict[str, Any]] = []
    end = 0
    while (begun := _BEGINNING.search(answer, end)) is not None:
        try:
            value, end = _DECODER.raw_decode(answer, begun.start())
        except RecursionError:
            return found, False
        except json.JSONDecodeError as error:
            if _ran_out(error, answer):
                # Inner objects are parts of the one that is cut off.
                return found, True
            end = begun.start() + 1
        else:
            found.append(value)
    return found, not answer.strip() and bool(text.strip())


def _without_reasoning(text: str) -> str:
    """Remove the reasoning before an answer: everything, if it never ends."""
    begun = _REASONING.match(text)
    if begun is not None:
        return text[begun.end() :].partition(f"</{begun[1]}>")[2]
    # Templates may have opened the reasoning already.
    before, closed, after = text.partition("</think>")
    return after if closed and "{" not in before else text


def _ran_out(error: json.JSONDecodeError, text: str) -> bool:
    left = text[error.pos :].strip()
    within_token = len(left) < _MAX_TOKEN and "}" not in left
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
