"""The state of one window while a model is asked about it: groups, results and usage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from slowwave.consolidation.proposals import (
    AskedWindow,
    Conflict,
    Result,
    State,
    Usage,
    Window,
)
from slowwave.consolidation.writing.writer import Job

from .groups import WindowGroups
from .model_pair import Models


@dataclass
class WindowDialogue:
    """A window, its groups, and the model's usage for it."""

    job: Job
    groups: WindowGroups
    models: Models
    usage: Usage = field(default_factory=Usage)
    conflicts: list[Conflict] = field(default_factory=list)
    # Why groups did not become proposals, even after a repair.
    turned_down: list[str] = field(default_factory=list)
    # The ids of memories that are in a proposal: each is in at most one.
    _taken: set[str] = field(default_factory=set)
    # Usage that is not yet divided among the results.
    _unshared: Usage = field(default_factory=Usage)

    @property
    def window(self) -> Window:
        """The window."""
        return self.job.window

    def charge(self, used: Usage) -> None:
        """Add usage for the window."""
        self.usage += used
        self._unshared += used

    def is_free(self, ids: Sequence[str]) -> bool:
        """Whether none of the memories is in a proposal."""
        return self._taken.isdisjoint(ids)

    def settle(self, results: Sequence[Result]) -> Iterator[Result]:
        """Yield results with their share of the usage since the last ones.

        A memory goes into the first accepted proposal that contains it.
        """
        kept = []
        for result in results:
            if result.state == "planned":
                if not self.is_free(result.proposal.sources):
                    self.turned_down.append("one of its memories is in another group already")
                    continue
                self._taken.update(result.proposal.sources)
            kept.append(result)
        if kept:
            parts, self._unshared = share_usage(self._unshared, len(kept)), Usage()
            for result, part in zip(kept, parts, strict=True):
                yield replace(result, usage=part)

    def note_conflict(self, ids: Sequence[str]) -> None:
        """Add conflicts between memories that cannot all be true, each with the next by date."""
        known = self.groups.sources(ids)
        for earlier, later in pairwise(known):
            self.conflicts.append(
                Conflict(
                    (earlier.id, later.id),
                    self.window.tenant,
                    "statement",
                    (earlier.text, later.text),
                    "a model says that both cannot be true",
                )
            )

    def end(self, state: State, why: str | None = None) -> AskedWindow:
        """Return the end of the window."""
        conflicts, turned_down = tuple(self.conflicts), tuple(self.turned_down)
        return AskedWindow(self.window, state, why, self.usage, conflicts, turned_down)


def share_usage(used: Usage, count: int) -> list[Usage]:
    """Divide usage among `count` results, exactly.

    Requests and kept answers cannot be divided, and count with the first result.
    """
    cost = None if used.cost_usd is None else used.cost_usd / count
    asked, answered = _split(used.prompt_tokens, count), _split(used.completion_tokens, count)
    parts = [Usage(0, 0, *tokens, cost) for tokens in zip(asked, answered, strict=True)]
    parts[0] = replace(parts[0], calls=used.calls, cached=used.cached)
    return parts


def _split(whole: int, count: int) -> list[int]:
    cuts = [whole * number // count for number in range(count + 1)]
    return [end - start for start, end in pairwise(cuts)]
