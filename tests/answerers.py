"""Agents that answer what a night asks: from a recording, or honestly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from model_nights import joined_once
from model_server import Asked, approval, honest
from nights import rows

Messages = list[dict[str, str]]
# Returns the text of an answer to messages.
Answerer = Callable[[Messages], str]

_RESULT = """
    SELECT m.content, m.status, m.layer, m.kind, m.trust, m.observed_at,
           (SELECT group_concat(content, ' | ') FROM (
               SELECT s.content FROM synthesized_from l JOIN memories s ON s.id = l.source_id
               WHERE l.derived_id = m.id ORDER BY s.content, s.id)) AS sources,
           (SELECT content FROM memories n WHERE n.id = m.superseded_by) AS successor
    FROM memories m ORDER BY m.content, m.status, m.observed_at, m.id
"""


def from_recording(path: Path) -> Answerer:
    """Return an agent that gives the recorded answers, regardless of the model and the keys."""
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    recorded = {json.dumps(line["messages"]): str(line["answer"]) for line in lines}
    return lambda messages: recorded[json.dumps(messages)]


def honestly(messages: Messages) -> str:
    """Return the answer of an honest model."""
    return json.dumps(honest(Asked({}, {"messages": messages})))


def joined_once_by(messages: Messages) -> str:
    """Return the answer of the model of the fixture `scripted`."""
    asked = Asked({}, {"messages": messages})
    return json.dumps(approval(asked) if asked.drafts else joined_once(asked))


def lines_of(answers: Mapping[str, str]) -> str:
    """Return answers as lines for `slowwave answer`."""
    lines = (json.dumps({"id": key, "answer": text}) for key, text in answers.items())
    return "".join(f"{line}\n" for line in lines)


def answers_to(questions: Iterable[Mapping[str, Any]], answer: Answerer) -> str:
    """Return the lines that answer the questions that a command printed."""
    return lines_of({each["id"]: answer(each["messages"]) for each in questions})


def result_of(path: Path) -> list[dict[str, Any]]:
    """Return all memories with their status and lineage, without generated ids."""
    return rows(path, _RESULT)
