"""The interface of a format: how its files are recognized, read and changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from slowwave.store.errors import FileHeld, UnusableFile
from slowwave.store.places import Budget, Repeated, Untouched

if TYPE_CHECKING:
    from .vector_model import EmbeddingModel

# What a format needs to restore a removed entry, as JSON.
Image = dict[str, Any]
Inserted = TypeVar("Inserted")
# Spells an entry with its own marks and with those of other entries.
Inherit = Callable[[str, Sequence[str]], str]

# The hint about an entry that its agent has changed or deleted meanwhile.
NEXT_RUN = "Nothing was written. The next run reads the file as it is then."
# How many characters of a text an error shows, and how many names.
_MAX_SHOWN, _MAX_NAMED = 60, 5


class Unreadable(UnusableFile):
    """A file does not have the format that it is read as, or cannot be written."""


class ChangedMeanwhile(FileHeld):
    """The agent changed the file between reading and writing; nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed during the write.", "Nothing was written. Try again.")


class TooFull(Unreadable):
    """A file would exceed the limit of its agent; nothing was written."""


class CannotComeBack(Unreadable):
    """Memories cannot be restored in the file; nothing was written."""

    def __init__(self, whys: Mapping[str, str]) -> None:
        """whys: the reasons, by memory."""
        first, *more = whys.values()
        super().__init__(f"{len(whys)} memories cannot be restored." if more else first)
        self.whys = whys


@dataclass(frozen=True)
class Record:
    """A memory in a file of another agent."""

    # Identifies it in this file until it is edited.
    key: str
    # Memories of different tenants are never merged.
    tenant: str
    text: str
    # ISO 8601 in UTC; None if the file does not contain it.
    observed_at: str | None = None
    session: str | None = None
    origin: str = "agent"
    pinned: bool = False
    # Whether its lines and marks are Markdown.
    is_markdown: bool = False
    # Whether it is only pinned because others link to it.
    is_linked: bool = False
    # The name of its file or row, if it has one of its own.
    file: str | None = None
    # The entity that it is about; empty if the file does not say.
    subject: str = ""


@dataclass(frozen=True)
class New:
    """A text to write into the file."""

    # The id of its memory in the mirror.
    memory: str
    tenant: str
    text: str
    # The keys of the entries that it replaces; it is inserted after the last of them.
    replaces: tuple[str, ...] = ()
    # Its before-image if it was removed earlier; None for a new text.
    image: Image | None = None
    # When it was observed; empty if that is not known.
    observed_at: str = ""


@dataclass(frozen=True)
class Successor:
    """A memory that replaces others and inherits their marks, such as an importance or a reason."""

    memory: str
    # The key of its entry; None for a new text.
    key: str | None
    # The last value of `Written.own`; None if it has not inherited anything.
    own: Image | None = None
    # The memories that it replaces, with their images; None for those that are removed now.
    replaces: Mapping[str, Image | None] = field(default_factory=dict)


@dataclass(frozen=True)
class RemovedEntry:
    """An entry to remove."""

    key: str
    memory: str
    # What replaces it, if anything; it may be the same memory with another text.
    successor: Successor | None = None
    # Whether another value replaced it: if its agent writes it again, it is true again.
    is_outdated: bool = False
    # Whether its memory was forgotten: then the entry is deleted, never only hidden.
    is_forgotten: bool = False

    @property
    def is_rewritten(self) -> bool:
        """Whether the same memory gets another text."""
        return self.successor is not None and self.successor.memory == self.memory


@dataclass(frozen=True)
class Change:
    """A change of a file, made completely or not at all."""

    removals: Sequence[RemovedEntry] = ()
    put: Sequence[New] = ()
    # Memories that inherit marks, or may have to return some.
    inheriting: Sequence[Successor] = ()
    # The images of hidden entries to delete, by memory.
    hidden: Mapping[str, Image] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.removals or self.put or self.hidden)

    @property
    def removed_keys(self) -> set[str]:
        """The keys of the entries to remove."""
        return {removal.key for removal in self.removals}


@dataclass(frozen=True)
class Written:
    """The keys and images after a change."""

    # The key of each text that was written, by memory.
    keys: Mapping[str, str]
    # The image of each removed entry, by memory.
    images: Mapping[str, Image]
    # The new keys of entries that were not changed, by their old keys, where they differ.
    renamed: Mapping[str, str] = field(default_factory=dict)
    # The entries of memories before they inherited marks; None for those without inherited marks.
    own: Mapping[str, Image | None] = field(default_factory=dict)


class OpenFile(ABC):
    """A file of another agent, read once; a write compares the file with what was read."""

    records: Sequence[Record]
    # Whether an earlier commit was interrupted, so that something must be written in any case.
    is_unfinished: bool = False
    # Whether a commit that failed has written something.
    has_written: bool = False

    def budget(self) -> Budget | None:
        """Return how full the file will be after what was prepared; None without a limit."""
        return None

    def to_shorten(self) -> dict[str, str]:
        """Return the entries to shorten, so that the file reaches `target` after what was prepared.

        They are texts by key, in order. Such an entry is removed, and inserted again unchanged.
        """
        return {}

    @abstractmethod
    def prepare(self, change: Change) -> Written:
        """Compute the new content, and write nothing yet.

        Raises `Unreadable` if the file cannot store it.
        """

    @abstractmethod
    def commit(self) -> None:
        """Write what was prepared, completely. Raises `ChangedMeanwhile`."""


class Format(ABC):
    """A kind of file."""

    # The value of --format.
    name: str
    # The program whose files these are, and what a memory is, one line for each.
    about: str
    holds: ClassVar[str]
    # Whether the file contains the times of its memories.
    is_dated: ClassVar[bool] = False
    # Whether files are never written.
    is_only_read: bool = False
    # Whether a new text may need a vector.
    may_need_vectors: ClassVar[bool] = False
    # The bytes to reach where entries have a shorter form; None if none is shortened.
    target: int | None = None
    # Computes vectors, if the caller provides one; only some formats need it.
    model: EmbeddingModel | None = None

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether a file has this format, by its content."""

    def files(self, path: Path) -> list[Path]:
        """Return the path, and the files in it that a run may write."""
        return [path]

    def unfit_reason(self, path: Path) -> str | None:
        """Return why a file is not one that the user specified this format for, or None."""
        return None

    def budget(self, path: Path, text: str | None = None) -> Budget | None:
        """Return how full a file is, or would be with a text, and how much its agent reads."""
        return None

    def no_new_texts_reason(self, path: Path) -> str | None:
        """Return why no text can be added to a file, so that only merges are possible, or None."""
        return None

    def compute_vectors(self, path: Path, change: Change) -> None:
        """Compute the vectors that a change needs, before the file is locked."""
        return

    def clean(self, path: Path) -> None:
        """Remove the bytes of deleted entries from a file, where it may still have them."""
        return

    def remark(self, path: Path) -> str | None:
        """Return what a user should know about a file before it is used, or None."""
        return None

    def preview_only_reason(self, path: Path) -> str | None:
        """Return why a run can only be previewed as the file is specified, or None."""
        return None

    def untouched(self, path: Path) -> list[Untouched]:
        """Return which memories a run leaves unchanged because of what they are."""
        return []

    def repeated(self, path: Path) -> list[Repeated]:
        """Return what a file says in several places that no run joins."""
        return []

    def dead_links(self, path: Path) -> frozenset[str]:
        """Return the names that entries link to and that do not exist."""
        return frozenset()

    @abstractmethod
    def opened(self, path: Path, writes: bool) -> AbstractContextManager[OpenFile]:
        """Open a file, locked against its agent if `writes` and the format has a lock.

        Raises `Unreadable`, or `FileHeld` if its agent does not release it.
        """


def refuse_too_full(path: Path, budget: Budget, after: int, change: Change) -> None:
    """Refuse a change that would exceed the limit of a file. Raises `TooFull`.

    An undo may make it as full as it was before; a soft limit does not prevent an undo at all.
    """
    former = max((int((new.image or {}).get("used", 0)) for new in change.put), default=0)
    if after <= max(budget.limit, budget.used, former):
        return
    if budget.is_hard or any(new.image is None for new in change.put):
        raise TooFull(
            f"{path} would have {after} {budget.unit}; the limit of its agent is {budget.limit}.",
            "Shorten the file first, or have its agent shorten it.",
        )


def shortened(text: str) -> str:
    """Return a text as an error or a remark shows it."""
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def first_few(names: Sequence[str]) -> str:
    """Return the first names as a remark lists them, and how many there are more."""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"


def refuse_losses(
    records: Sequence[Record], change: Change, written: Written, now: Iterable[str]
) -> None:
    """Refuse a write after which memories would be missing that the change does not remove.

    records: the memories before it. now: the keys after it. Raises `Unreadable`.
    """
    keys = {record.key: written.renamed.get(record.key, record.key) for record in records}
    removed = change.removed_keys
    remaining = {keys[record.key] for record in records if record.key not in removed}
    missing = (remaining | set(written.keys.values())) - set(now)
    if missing:
        texts = {keys[record.key]: record.text for record in records}
        texts |= {written.keys[new.memory]: new.text for new in change.put}
        raise Unreadable(
            f"The write would lose {len(missing)} of its memories, such as "
            f"'{shortened(texts[min(missing)])}'.",
            "Nothing was written. Report it, with the format of the file.",
        )


def put_each(coming: Iterable[New], insert: Callable[[New], Inserted]) -> dict[str, Inserted]:
    """Insert texts into a file, and return what `insert` returns, by memory.

    Raises `CannotComeBack` about restored memories once all were tried, and `Unreadable` about a
    new text at once.
    """
    done: dict[str, Inserted] = {}
    whys: dict[str, str] = {}
    for new in coming:
        try:
            done[new.memory] = insert(new)
        except Unreadable as error:
            if new.image is None:
                raise
            whys[new.memory] = f"'{shortened(new.text)}' cannot be restored. {error.message}"
    if whys:
        raise CannotComeBack(whys)
    return done


def inherit_marks(
    successor: Successor, current: str, left: Mapping[str, str], inherit: Inherit
) -> tuple[str, Image | None]:
    """Return the text of a successor with all marks, and an image of it without inherited ones.

    left: the texts of the memories that it replaces. Inherited marks are always computed from the
    successor's own text and from all of these, so that undos in any order end where they should.
    """
    order = sorted(successor.replaces)
    own = successor.own
    if own is not None and current not in own["as"]:
        # Its agent has edited it since: these marks are the agent's now, and none is removed.
        removed_now = [left[memory] for memory in order if successor.replaces[memory] is None]
        return inherit(current, removed_now), own
    alone = current if own is None else str(own["raw"])
    spelled = inherit(alone, [left[memory] for memory in order])
    # Both texts are ours: a run may be killed before or after the file is written.
    return spelled, None if spelled == alone else {"raw": alone, "as": [current, spelled]}
