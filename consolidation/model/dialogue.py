"""What a model is asked about one window, what came of it, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from slowwave.consolidation.proposals import (
    AskedWindow,
    Conflict,
    State,
    Usage,
    VerifiedProposal,
    Window,
)
from slowwave.consolidation.writing.writer import Job

from .group_proposals import Suggestions
from .model_pair import Models


@dataclass
class WindowDialogue:
    """One window being asked about: what came of it so far, and what was used for it."""

    job: Job
    suggestions: Suggestions
    models: Models
    usage: Usage = field(default_factory=Usage)
    # What of it was not shared out yet over what came of the window.
    unshared: Usage = field(default_factory=Usage)
    conflicts: list[Conflict] = field(default_factory=list)
    # Why groups cannot be taken as proposals, not even after they were asked about once more.
    turned_down: list[str] = field(default_factory=list)

    @property
    def window(self) -> Window:
        """The window."""
        return self.job.window

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.usage += used
        self.unshared += used

    def shared(self, several: Sequence[VerifiedProposal]) -> Iterator[VerifiedProposal]:
        """Share out over several proposals what was used since others came of the window."""
        if several:
            parts, self.unshared = share_usage(self.unshared, len(several)), Usage()
            for one, part in zip(several, parts, strict=True):
                yield replace(one, usage=part)

    def end(self, state: State, why: str | None = None) -> AskedWindow:
        """Return what became of the question."""
        conflicts, turned_down = tuple(self.conflicts), tuple(self.turned_down)
        return AskedWindow(self.window, state, why, self.usage, conflicts, turned_down)


def share_usage(used: Usage, count: int) -> list[Usage]:
    """Share out what calls took over what came of them, to the last token.

    Requests and kept answers cannot be divided: they count with the first.
    """
    cost = None if used.cost_usd is None else used.cost_usd / count
    asked, answered = _split(used.prompt_tokens, count), _split(used.completion_tokens, count)
    parts = [Usage(0, 0, *tokens, cost) for tokens in zip(asked, answered, strict=True)]
    parts[0] = replace(parts[0], calls=used.calls, cached=used.cached)
    return parts


def _split(whole: int, count: int) -> list[int]:
    cuts = [whole * number // count for number in range(count + 1)]
    return [end - start for start, end in pairwise(cuts)]
