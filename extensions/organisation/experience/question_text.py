"""What a model is asked about the traces of a task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from slowwave.consolidation.model.prompts import Messages, fenced
from slowwave.consolidation.proposals import Source


@cache
def _prompt() -> str:
    return files(__package__).joinpath("prompt.md").read_text("utf-8").strip()


def ask_about_traces(task: str, sources: Sequence[Source]) -> Messages:
    """Return the messages that ask what was learned; the traces are data, and cannot end it."""
    shown = [
        {"task": task},
        *({"id": f"t{number}", "trace": one.text} for number, one in enumerate(sources, start=1)),
    ]
    lines = [json.dumps(line, ensure_ascii=False) for line in shown]
    return [
        {"role": "system", "content": _prompt()},
        {"role": "user", "content": fenced("traces", lines)},
    ]
