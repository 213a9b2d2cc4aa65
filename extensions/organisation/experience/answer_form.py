"""The form in which a model must say what traces teach."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from slowwave.consolidation.model.answer_forms import AnswerForm, Stated


class StatedClaim(Stated):
    """One sentence, and the short ids of the traces that say it."""

    text: str = Field(min_length=1)
    sources: list[str]


class StatedDecision(StatedClaim):
    """Something that was decided, how that went, and the short ids of the traces that say so."""

    outcome: Literal["worked", "failed"]


class ExperienceAnswer(Stated):
    """The answer about the traces of a task."""

    decisions: list[StatedDecision]
    contexts: list[StatedClaim]


EXPERIENCE = AnswerForm("experience", ExperienceAnswer)
