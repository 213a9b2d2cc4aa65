"""A trace of a task, and the memory that stores it for audit, never for a prompt."""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from slowwave.store.errors import InvalidLine
from slowwave.store.exchange import new_memory
from slowwave.store.jsonl import Moment, describe_error
from slowwave.store.memories import RAW_EXPERIENCE
from slowwave.store.records import Memory, json_text

Worked = Literal["worked", "failed"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Step(_Part):
    """A decision or an action, with its outcome if known."""

    text: str = Field(min_length=1)
    outcome: Worked | None = None


class TaskTrace(_Part):
    """An attempt at a task."""

    # The name that all attempts at a task have; by default the prompt.
    task: str | None = Field(default=None, min_length=1, max_length=200)
    prompt: str = Field(min_length=1)
    output: str = ""
    feedback: str = ""
    outcome: Worked | None = None
    steps: list[Step] = []
    session: str | None = None
    observed_at: Moment | None = None

    @field_validator("steps", mode="before")
    @classmethod
    def _with_plain_steps(cls, value: Any) -> Any:
        """Accept a step that is only a text."""
        if not isinstance(value, list):
            return value
        return [{"text": step} if isinstance(step, str) else step for step in value]

    @property
    def name(self) -> str:
        """The name of its task."""
        return self.task or " ".join(self.prompt.split())[:200]

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield each text with its label."""
        yield "Prompt", self.prompt
        for step in self.steps:
            yield f"Step, {step.outcome}" if step.outcome else "Step", step.text
        if self.output:
            yield "Output", self.output
        if self.feedback or self.outcome:
            shown = f"Feedback, {self.outcome}" if self.outcome else "Feedback"
            yield shown, self.feedback or "none"


def parse_trace(line: bytes, number: int) -> TaskTrace:
    """Return the trace in a line of JSON. Raises `InvalidLine` with its number and the reason."""
    try:
        trace = TaskTrace.model_validate_json(line.removeprefix(BOM_UTF8))
        # Only of new traces: stored ones are read as they are.
        texts = (trace.name, trace.prompt, *(step.text for step in trace.steps))
        if not all(map(str.strip, texts)):
            raise ValueError("its prompt, its task or a step is blank")
    except ValueError as error:
        raise InvalidLine(
            f"Line {number} is not a trace: {describe_error(error)}.",
            "Nothing was added. docs/organisation.md shows the form of a trace.",
        ) from error
    return trace


def as_memory(trace: TaskTrace, tenant: str, now: Any) -> Memory:
    """Return an archived memory with a trace; the same trace gets the same id."""
    fields_of_trace = trace.model_dump(exclude_defaults=True)
    digits = hashlib.sha256(json_text([tenant, fields_of_trace]).encode()).hexdigest()
    fields: dict[str, Any] = {
        "id": f"experience-{digits[:24]}",
        "tenant": tenant,
        "content": "\n".join(f"{what}: {text}" for what, text in trace.parts()),
        "kind": "context",
        "layer": "ephemeral",
        "status": "archived",
        "source": "experience",
        "session": trace.session,
        "metadata": {RAW_EXPERIENCE: fields_of_trace},
    }
    if trace.observed_at is not None:
        fields["observed_at"] = trace.observed_at
    return new_memory(fields, now)


def trace_of(memory: Memory) -> TaskTrace:
    """Return the trace of a memory. Raises ValueError if it is no longer one."""
    return TaskTrace.model_validate(memory.metadata.get(RAW_EXPERIENCE))
