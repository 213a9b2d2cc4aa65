"""How a server is asked for structured output: the request style, and the schema it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from .answer_forms import AnswerForm, schema

# What servers understand of structured output, in the order in which it is tried.
Output = Literal["json_schema", "json_object", "none"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "none")
# What OpenAI's strict form refuses in a schema: https://platform.openai.com/docs/guides/
# structured-outputs#supported-schemas.
_NOT_IN_STRICT = ("title", "description", "default", "minLength", "maxLength")


@dataclass(frozen=True)
class RequestStyle:
    """How a server wants to be asked."""

    output: Output = OUTPUTS[0]
    # None: the server's own, since models that think refuse any other.
    temperature: int | None = 0

    def simpler(self, refusal: str) -> RequestStyle | None:
        """Return how to ask after a refusal; None if there is no simpler style."""
        if self.temperature is not None and "temperature" in refusal.lower():
            return replace(self, temperature=None)
        left = OUTPUTS[OUTPUTS.index(self.output) + 1 :]
        return replace(self, output=left[0]) if left else None


def temperature_of(style: RequestStyle, form: AnswerForm) -> float | None:
    """Return the temperature of a question; None: the server's own."""
    return None if style.temperature is None else form.temperature


def response_format(output: Output, form: AnswerForm) -> dict[str, Any]:
    """Return the parameters that ask for a form of answer; none for "none"."""
    if output == "none":
        return {}
    shape = strict_schema(schema(form))
    if output == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": shape}}
    named = {"name": form.name, "schema": shape, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def strict_schema(schema: Any) -> Any:
    """Return a schema in the strict form: every property required, no other one allowed."""
    if isinstance(schema, list):
        return [strict_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict_schema(one) for name, one in schema.items() if name not in _NOT_IN_STRICT}
    if isinstance(schema.get("properties"), dict):
        # Its keys are names of properties, of which one may be "title".
        made["properties"] = {
            name: strict_schema(one) for name, one in schema["properties"].items()
        }
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made
