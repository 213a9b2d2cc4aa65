"""What a change makes of a database's rows: what comes, comes back, and leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowwave.store.records import content_hash

from .base import Change, Image, New, Record, Unreadable, Written
from .coming_back import ComingBack
from .lent_model import LentModel


@dataclass(frozen=True)
class Leaving:
    """A memory that is to leave every ordinary read."""

    key: str
    # The key of the memory that says the same, where there is one.
    successor: str | None
    # Whether another value replaced it, so that its agent may say it again.
    is_outdated: bool = False
    # Whether the successor is the same memory with another text.
    is_rewritten: bool = False


class Rows(ABC):
    """The memories of an open database, within a transaction."""

    @abstractmethod
    def put(self, new: New) -> str:
        """Add a text, and give its key. Raises `Unreadable`."""

    @abstractmethod
    def can_rewrite(self, key: str, new: New) -> bool:
        """Whether a row may say another text: slowwave added it, and no other row says that."""

    @abstractmethod
    def rewrite(self, key: str, new: New, former: Image | None) -> tuple[str, Image]:
        """Let a row say another text, and give its new key, and what went with the old text.

        former: what went with this text when the row had it before. Raises `Unreadable`.
        """

    @abstractmethod
    def retire(self, leaving: Leaving) -> Image:
        """Hide a memory from each ordinary read, and give what brings it back."""

    @abstractmethod
    def bring_back(self, image: Image) -> str:
        """Undo what `retire` did, and give the memory's key. Raises `Unreadable`."""


def changed(rows: Rows, change: Change, records: Sequence[Record]) -> Written:
    """Make the change, and say where things are then. Raises `Unreadable`."""
    keys, own = _rewritten(rows, change, records)
    coming_back = ComingBack()
    for new in change.put:
        if new.memory in keys:
            continue
        with coming_back.collecting(new):
            keys[new.memory] = rows.put(new) if new.image is None else rows.bring_back(new.image)
    coming_back.refuse()
    successors = _successors(change, keys)
    staying = set(keys.values())
    images = {
        # What says a text already is not added twice, and does not leave either.
        memory: {"key": key}
        if key in staying
        else rows.retire(
            Leaving(key, successors.get(key), key in change.outdated, is_rewritten=memory in keys)
        )
        for key, memory in change.retire.items()
        if memory not in own
    }
    return Written(keys, images, own=own)


def _rewritten(
    rows: Rows, change: Change, records: Sequence[Record]
) -> tuple[dict[str, str], dict[str, Image | None]]:
    """Change texts of rows that slowwave added; others keep theirs, and leave.

    Returns their keys, and what went with each text that they had, by its hash.
    """
    keys: dict[str, str] = {}
    own: dict[str, Image | None] = {}
    texts = {one.key: one.text for one in records}
    formers = {one.memory: one.own or {} for one in change.taking_over}
    for new in change.put:
        key = new.replaces[0] if new.replaces else ""
        if change.retire.get(key) != new.memory or not rows.can_rewrite(key, new):
            continue
        had = formers.get(new.memory, {})
        keys[new.memory], lost = rows.rewrite(key, new, had.get(content_hash(new.text)))
        own[new.memory] = had | {content_hash(texts[key]): lost}
    return keys, own


def _successors(change: Change, keys: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the memories that say what those that leave say; some have just come."""
    successors = dict(change.successors)
    for successor in change.taking_over:
        at = keys.get(successor.memory, successor.key)
        successors |= {
            key: at
            for key, memory in change.retire.items()
            if at is not None and memory in successor.stands_for
        }
    rewritten = {key: keys[memory] for key, memory in change.retire.items() if memory in keys}
    return successors | rewritten


def refuse_other_vectors(
    model: LentModel | None, samples: Sequence[tuple[str, bytes]] | None
) -> None:
    """Refuse to add texts where their vectors would not be of the model that made the others.

    samples: some texts with their stored vectors; None: there are no vectors. Raises `Unreadable`.
    """
    if samples is None:
        return
    if model is None:
        raise Unreadable("A new text would need a vector, and there is no model to make it.")
    if not samples:
        raise Unreadable("A new text would need a vector, and there is none to compare with.")
    if not model.made(samples):
        raise Unreadable(f"The vectors there are not those of {model.name}.")
