"""What a model is asked about the traces of a task."""

from __future__ import annotations

import json
from collections.abc import Sequence

from slowwave.consolidation.proposals import Source

from .prompts import Messages, prompt


def ask_about_traces(task: str, sources: Sequence[Source]) -> Messages:
    """Return the messages that ask what was learned; the traces are data, and cannot end it."""
    lines = [
        json.dumps({"id": f"t{number}", "trace": source.text}, ensure_ascii=False)
        for number, source in enumerate(sources, start=1)
    ]
    inside = "\n".join([json.dumps({"task": task}, ensure_ascii=False), *lines])
    inside = inside.replace("<", "\\u003c")
    return [
        {"role": "system", "content": prompt("experience")},
        {"role": "user", "content": f"<traces>\n{inside}\n</traces>"},
    ]
