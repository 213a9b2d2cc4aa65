"""One window being asked about: what came of it so far, and what that cost."""

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

from .groups import WindowGroups
from .model_pair import Models


@dataclass
class WindowDialogue:
    """A window, its groups, and what was used for it."""

    job: Job
    groups: WindowGroups
    models: Models
    usage: Usage = field(default_factory=Usage)
    conflicts: list[Conflict] = field(default_factory=list)
    # Why groups came to no proposal, not even after they were asked about once more.
    turned_down: list[str] = field(default_factory=list)
    # The memories that a proposal has: each is in one.
    _taken: set[str] = field(default_factory=set)
    # What was not shared out yet over what came of the window.
    _unshared: Usage = field(default_factory=Usage)

    @property
    def window(self) -> Window:
        """The window."""
        return self.job.window

    def charge(self, used: Usage) -> None:
        """Note what was used for it."""
        self.usage += used
        self._unshared += used

    def is_free(self, ids: Sequence[str]) -> bool:
        """Whether none of some memories is in a proposal."""
        return self._taken.isdisjoint(ids)

    def settled(self, proposals: Sequence[VerifiedProposal]) -> Iterator[VerifiedProposal]:
        """Yield what comes of groups, with its share of what was used since the last.

        A memory goes into the first proposal that is accepted of those that have it.
        """
        kept = []
        for written in proposals:
            if written.state == "planned":
                if not self.is_free(written.proposal.sources):
                    self.turned_down.append("one of its memories is in another group already")
                    continue
                self._taken.update(written.proposal.sources)
            kept.append(written)
        if kept:
            parts, self._unshared = share_usage(self._unshared, len(kept)), Usage()
            for written, part in zip(kept, parts, strict=True):
                yield replace(written, usage=part)

    def note_conflict(self, ids: Sequence[str]) -> None:
        """Note memories that cannot all be true, each with the next by the day it was noted."""
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
