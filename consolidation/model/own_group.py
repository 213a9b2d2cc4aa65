"""A group that an agent proposes, judged as a model's is: by program, then by a second reading."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.consolidation.proposals import Result

from .answer_forms import StatedGroup
from .question import Dialogue
from .window_dialogue import CheckedGroup, WindowDialogue, WrittenGroups

_DECIDED = "a person decided about these texts before, or they were undone"


@dataclass(frozen=True)
class Judged:
    """A group's proposal as a planned result, or why there is none."""

    result: Result | None = None
    # Sentences.
    faults: tuple[str, ...] = ()


class OwnGroup(WindowDialogue):
    """The dialogue about one group of a window, which nobody is asked to write."""

    def judge(self, stated: StatedGroup) -> Dialogue[Judged]:
        """Yield the checking question, unless a program finds faults, and then what came of it.

        stated: with the memories' own ids. Raises `Unanswered`.
        """
        candidates, unproposed = self._propose([stated], {})
        if not candidates:
            yield Judged(faults=tuple(each.why for each in unproposed) or (_DECIDED,))
            return
        group = candidates[0]
        if not group.faults:
            (group,) = yield from self._check(WrittenGroups((group,), (), ()))
        yield self._judged(group)

    def _judged(self, group: CheckedGroup) -> Judged:
        if group.reasons:
            return Judged(faults=group.reasons)
        result = self._conclude(group)
        if result.state != "planned":
            return Judged(faults=(result.why or "",))
        return Judged(result)
