"""Why two memories must stay two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from slowwave.consolidation.text.reading import Reading


@dataclass(frozen=True)
class Objection:
    """Why two memories must stay two: which guard, and what each of them says."""

    guard: str
    left: str
    right: str
    conflict: bool = True
    # Whether a reader who understands the texts may overrule it: "begin" and "launch" may be two
    # words for one thing, "8080" and "9090" are not.
    doubtful: bool = False

    @property
    def certain(self) -> bool:
        """Whether no model may overrule it."""
        return self.conflict and not self.doubtful

    @property
    def why(self) -> str:
        """Return it as a line with both values."""
        return f"{self.left or 'nothing'} against {self.right or 'nothing'}"


# Looks at two readings and objects, or not.
Guard = Callable[[Reading, Reading], Iterator[Objection]]


def listed(words: Iterable[str]) -> str:
    """Return words as a reason shows them."""
    return ", ".join(sorted(words))
