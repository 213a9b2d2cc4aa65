"""The forms in which a model must answer, and their JSON schemas."""

from __future__ import annotations

import functools
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.store.records import Kind as MemoryKind

# What several memories may be to each other.
Kind = Literal["same", "joined", "newer", "rule", "conflict"]
# The forms of answers.
AnswerForm = Literal["groups", "opinions", "experience", "memories"]


class _Stated(BaseModel):
    # Whatever else a model says is left unread.
    model_config = ConfigDict(extra="ignore")


class StatedClaim(_Stated):
    """One sentence, and the short ids of the memories that say it."""

    text: str = Field(min_length=1)
    sources: list[str]


class StatedGroup(_Stated):
    """Memories that belong together, and what is to become of them."""

    kind: Kind
    ids: list[str]
    stay: list[str]
    claims: list[StatedClaim]


class GroupsAnswer(_Stated):
    """The answer about a window."""

    groups: list[StatedGroup]


class Meaning(_Stated):
    """A word of what is said, and the words that say the same where it is to be said too."""

    word: str
    means: str


class StatedOpinion(_Stated):
    """Whether some texts say all that another one says."""

    n: int
    told: bool
    words: list[Meaning]


class OpinionsAnswer(_Stated):
    """The answer about several texts."""

    opinions: list[StatedOpinion]


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


ANSWER_FORMS: dict[AnswerForm, type[_Stated]] = {
    "groups": GroupsAnswer,
    "opinions": OpinionsAnswer,
    "experience": ExperienceAnswer,
    "memories": MemoriesAnswer,
}


def schema(form: AnswerForm) -> dict[str, Any]:
    """Return the JSON schema of an answer, as providers of structured output want it."""
    # Each time a new one: litellm changes it for some providers.
    made: dict[str, Any] = json.loads(_schema_text(form))
    return made


@functools.cache
def _schema_text(form: AnswerForm) -> str:
    shape = ANSWER_FORMS[form].model_json_schema()
    return json.dumps(_whole(shape, shape.pop("$defs", {})))


def _whole(shape: Any, parts: dict[str, Any]) -> Any:
    """Insert parts in the places that refer to them."""
    if isinstance(shape, list):
        return [_whole(one, parts) for one in shape]
    if not isinstance(shape, dict):
        return shape
    if "$ref" in shape:
        return _whole(parts[shape["$ref"].rpartition("/")[2]], parts)
    return {name: _whole(one, parts) for name, one in shape.items()}
