"""What a format is: which files are of it, what they hold, and how a change gets into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from slowwave.store.errors import FileHeld, UnusableFile
from slowwave.store.places import Budget

if TYPE_CHECKING:
    from .lent_model import LentModel

# What a format has to keep of an entry that leaves, so that it can come back to its place: JSON.
Image = dict[str, Any]


class Unreadable(UnusableFile):
    """A file is not of the format that it is read as, or nothing may be written to it."""


class ChangedMeanwhile(FileHeld):
    """The agent changed the file between reading and writing; nothing was written."""

    def __init__(self, path: Path) -> None:
        """Say which file."""
        super().__init__(f"{path} was changed meanwhile.", "Nothing was written. Try again.")


class TooFull(Unreadable):
    """A file would hold more than its agent takes; nothing was written."""


@dataclass(frozen=True)
class Record:
    """One memory as it stands in a file of another agent."""

    # Identifies it in this file until somebody edits it.
    key: str
    # Nothing is joined across two of these.
    tenant: str
    text: str
    # When it was said, as ISO 8601 in UTC; None where the file does not say.
    observed_at: str | None = None
    session: str | None = None
    origin: str = "agent"
    pinned: bool = False


@dataclass(frozen=True)
class New:
    """A text that is to stand in the file."""

    # The memory that says it, by which the caller knows it.
    memory: str
    tenant: str
    text: str
    # The keys of those in whose place it comes; of several the last one's.
    replaces: tuple[str, ...] = ()
    # What was kept when it left; None for what is new.
    image: Image | None = None


@dataclass(frozen=True)
class Successor:
    """A memory that replaces others and inherits their marks: an importance, a reason."""

    memory: str
    # Its entry; None of a text that comes.
    key: str | None
    # What `Written.own` had of it the last time; None if it has taken nothing over.
    own: Image | None = None
    # The memories that it replaces, with the images kept of them; None for those that leave now.
    stands_for: Mapping[str, Image | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """What is to become of a file, all of it or nothing."""

    # Which keys leave, and the memories that they belong to.
    retire: Mapping[str, str] = field(default_factory=dict)
    put: Sequence[New] = ()
    # The keys of the memories that say what those that leave say, where one memory does.
    successors: Mapping[str, str] = field(default_factory=dict)
    # Those that take marks over, or may have to give some back.
    taking_over: Sequence[Successor] = ()
    # Of the keys that leave those whose text is out of date, since another value replaced it: its
    # agent may say it again, and means it then.
    outdated: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.retire or self.put)


def refuse_too_full(path: Path, budget: Budget, after: int, change: Change) -> None:
    """Refuse a change that makes a file fuller than it may be. Raises `TooFull`.

    What was there before may come back where the limit is not hard: an undo must be possible.
    """
    if after <= max(budget.most, budget.used):
        return
    if budget.is_hard or any(new.image is None for new in change.put):
        raise TooFull(
            f"{path} would have {after} {budget.unit}; its agent takes {budget.most}.",
            "Let its agent, or yourself, take something out of it first.",
        )


@dataclass(frozen=True)
class Written:
    """Where things are after a change."""

    # The key of each text that was put, by its memory.
    keys: Mapping[str, str]
    # What was kept of each entry that left, by its memory.
    images: Mapping[str, Image]
    # The new keys of untouched entries by their old ones, where they changed.
    renamed: Mapping[str, str] = field(default_factory=dict)
    # How memories stood before they took marks over; None of those that have none of others'.
    own: Mapping[str, Image | None] = field(default_factory=dict)


class OpenFile(ABC):
    """A file of another agent, read once; what is written then is compared with that first."""

    records: Sequence[Record]
    # Whether an earlier commit was cut off, so that there is something to write in any case.
    is_unfinished: bool = False

    @abstractmethod
    def prepare(self, change: Change) -> Written:
        """Work out what a change makes of the file, and write nothing yet.

        Raises `Unreadable` if the file cannot hold it.
        """

    @abstractmethod
    def commit(self) -> None:
        """Write what was prepared, as a whole. Raises `ChangedMeanwhile`."""


class Format(ABC):
    """One kind of file."""

    # As --format takes it.
    name: ClassVar[str]
    # Whose files these are, and what one memory is, in a line each.
    about: ClassVar[str]
    holds: ClassVar[str]
    # Whether the file says when its memories were recorded.
    is_dated: ClassVar[bool] = False
    # Whether nothing at all may be written to it.
    is_only_read: ClassVar[bool] = False
    # Whether a new text may need a vector.
    may_need_vectors: ClassVar[bool] = False
    # What makes vectors of texts, if the caller has lent it: only some formats need it.
    model: LentModel | None = None

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether a file is of this format, by a look at it."""

    def budget(self, path: Path) -> Budget | None:
        """Return how much of a file there is, and its agent takes; None without a limit."""
        return None

    def why_no_texts(self, path: Path) -> str | None:
        """Return why no text can be added to a file; None if texts can be.

        Without them only what another memory says as well can be retired.
        """
        return None

    def compute_vectors(self, path: Path, change: Change) -> None:
        """Compute the vectors that a change needs, before the agent has to wait for the writing."""
        return

    def remark(self, path: Path) -> str | None:
        """Return what is to be said about a file before it is used; None if nothing is."""
        return None

    def dead_links(self, path: Path) -> frozenset[str]:
        """Return which names entries link to that nothing in the file has any more."""
        return frozenset()

    @abstractmethod
    def opened(self, path: Path, writes: bool) -> AbstractContextManager[OpenFile]:
        """Open a file, held against its own agent if `writes` and the format has a lock.

        Raises `Unreadable`, or `FileHeld` if its agent does not let go of it.
        """
