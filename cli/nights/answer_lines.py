"""The JSON lines in which an agent gets questions and sends answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from slowwave.cli.terminal.output import harmless_json, writing_to_stdout
from slowwave.store.errors import InvalidLine


def print_line(value: Mapping[str, Any]) -> None:
    """Print an object as a line of JSON."""
    with writing_to_stdout():
        sys.stdout.write(f"{harmless_json(json.dumps(value, ensure_ascii=False))}\n")


def read_answer_lines(
    lines: Iterable[bytes], skip_invalid: bool
) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """Return answers by the ids of their questions, and (number, why) of invalid lines.

    Of two answers to a question, the last counts: it may be a repair. Raises `InvalidLine` at the
    first invalid line, unless `skip_invalid`.
    """
    answers: dict[str, str] = {}
    invalid: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            key, text = parse_answer_line(line)
        except ValueError as error:
            why = "it is not UTF-8" if isinstance(error, UnicodeError) else str(error)
            if not skip_invalid:
                raise InvalidLine(
                    f"Line {number} is not an answer: {why}. Nothing was stored.",
                    "Correct the line, or pass --skip-invalid to keep the others.",
                ) from error
            invalid.append((number, why))
        else:
            answers[key] = text
    return answers, invalid


def parse_answer_line(line: bytes) -> tuple[str, str]:
    """Return the id of a question and the text of its answer. Raises `ValueError`.

    That is a `UnicodeError` if the line is not UTF-8.
    """
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("it is not JSON, or it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    key, answer = value.get("id"), value.get("answer")
    if not isinstance(key, str):
        raise ValueError("it has no question id")
    if not isinstance(answer, str | dict | list):
        raise ValueError('it has no "answer" (an object, or its JSON text)')
    return key, answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
