"""What a model said, read as the form that was asked for, whatever it has put around it.

Models think aloud, put JSON into fences and among sentences, add keys of their own and spell keys
with capitals. None of that changes what they say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

BREAKS_OFF = "the answer breaks off before its end"

Parsed = TypeVar("Parsed", bound=BaseModel)

# Models write line ends into strings as they are.
_DECODER = json.JSONDecoder(strict=False)
# What JSON spells in several letters: "\u003c", "false".
_LONGEST_WORD = 6
_THOUGHTS = re.compile(r"\s*<(think|thinking|thought|reasoning)>")
# What begins otherwise is no JSON; a model that goes round in circles may write thousands of "{".
_BEGINNING = re.compile(r"\{\s*[\"}]")


class UnreadableAnswer(ValueError):
    """An answer is not of the form that was asked for. Its message says why."""


def parse_answer(form: type[Parsed], text: str) -> Parsed:
    """Return the last JSON object in an answer that is of a form. Raises `UnreadableAnswer`.

    The last one: a model that thinks aloud corrects itself later.
    """
    objects, broken = _objects(text)
    if broken or not text.strip():
        raise UnreadableAnswer(BREAKS_OFF)
    why = ""
    for value in reversed(objects):
        try:
            return form.model_validate(_with_plain_keys(value))
        except ValidationError as error:
            why = why or _first_fault(error)
    raise UnreadableAnswer(
        why or "the answer is not the JSON that was asked for (all: there is none)"
    )


def breaks_off(text: str) -> bool:
    """Whether an answer ends within its JSON, or within its thoughts."""
    return _objects(text)[1]


def _objects(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the JSON objects that stand in a text and in no other, and whether it breaks off."""
    said = _without_thoughts(text)
    found: list[dict[str, Any]] = []
    end = 0
    while (begun := _BEGINNING.search(said, end)) is not None:
        try:
            value, end = _DECODER.raw_decode(said, begun.start())
        except RecursionError:
            return found, False
        except json.JSONDecodeError as error:
            if _ran_out(error, said):
                # What stands within is a part of what broke off.
                return found, True
            end = begun.start() + 1
        else:
            found.append(value)
    return found, not said.strip() and bool(text.strip())


def _without_thoughts(text: str) -> str:
    """Remove what a model thought before it answered: everything, if it never answered."""
    begun = _THOUGHTS.match(text)
    if begun is not None:
        return text[begun.end() :].partition(f"</{begun[1]}>")[2]
    # Of some the template has opened the thoughts already.
    before, closed, after = text.partition("</think>")
    return after if closed and "{" not in before else text


def _ran_out(error: json.JSONDecodeError, text: str) -> bool:
    left = text[error.pos :].strip()
    within_a_word = len(left) < _LONGEST_WORD and "}" not in left
    return error.msg.startswith("Unterminated string") or within_a_word


def _with_plain_keys(value: Any) -> Any:
    """Return a value with its keys as forms spell them: small letters, no blanks."""
    if isinstance(value, list):
        return [_with_plain_keys(one) for one in value]
    if isinstance(value, dict):
        return dict(_plain_items(value))
    return value


def _plain_items(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, one in value.items():
        yield re.sub(r"[\s-]+", "_", key.strip()).lower(), _with_plain_keys(one)


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"the answer is not the JSON that was asked for ({where or 'all'}: {first['msg']})"
