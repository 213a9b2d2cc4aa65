"""What a model was, or would be, asked, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import AskedWindow

# Reasons for which groups of a model's were turned down.
_MOST_TURNED_DOWN = 5


def question_as_json(asked: AskedWindow) -> dict[str, Any]:
    """Return a question, and what became of it."""
    window = asked.window
    return {
        "id": window.id,
        "tenant": window.tenant,
        "memories": window.memories,
        "estimated_tokens": window.tokens,
        "state": asked.state,
        "why": asked.why,
        "turned_down": asked.turned_down,
    }


def questions_as_text(asked: Sequence[AskedWindow]) -> str:
    """Say what a model was, or would be, asked, and what went wrong with that."""
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS

    is_planned = all(one.state == "planned" for one in asked)
    shown = [one for one in asked if is_planned or one.state == "applied"]
    memories = counted(sum(len(one.window.memories) for one in shown), "memory", "memories")
    questions = counted(len(shown), "question", "questions")
    if is_planned:
        tokens = sum(one.window.tokens for one in asked)
        return (
            f"Left to the model: {memories} that lie near others, in {questions}, about "
            f"{tokens:,} tokens; with checking and repairs up to {round(FOLLOW_UPS * tokens):,}."
        )
    lines = [f"The model was shown {memories} in {questions}."] if shown else []
    for why, count in Counter(one.why for one in asked if one.state != "applied").most_common():
        lines.append(clean(f"  ! {counted(count, 'question', 'questions')}: {why}"))
    turned_down = Counter(why for one in asked for why in one.turned_down)
    for why, count in turned_down.most_common(_MOST_TURNED_DOWN):
        lines.append(clean(f"  ! {counted(count, 'group', 'groups')} turned down: {why}"))
    if len(turned_down) > _MOST_TURNED_DOWN:
        lines.append("  ... all of them with --json")
    return "\n".join(lines)
