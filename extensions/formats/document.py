"""A text file as entries with what stands around them, so that the rest keeps its bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from .base import Change, Image, New, Record, Successor, Unreadable, Written
from .coming_back import ComingBack
from .inherited_marks import Inherit, inherit_marks

# How many neighbours on either side are kept, to find an entry's place again.
_NEAR = 20


@dataclass(eq=False)
class Entry:
    """One memory, and how it is spelled in the file."""

    text: str
    raw: str
    # When it was recorded; None if unknown.
    observed_at: str | None = None
    # Whether it has to stay where it is.
    pinned: bool = False


@dataclass(eq=False)
class Block:
    """Entries of one tenant that stand in a row, with a separator between them."""

    tenant: str
    separator: str
    entries: list[Entry] = field(default_factory=list)
    # What stands in front of it, by which an empty block is found again.
    title: str = ""
    # How many blank lines are between that and the block.
    gap: int = 0

    @property
    def text(self) -> str:
        """The block as it stands in the file."""
        return self.separator.join(one.raw for one in self.entries)


@dataclass
class Document:
    """A whole file: what is left as it is, and blocks of entries."""

    parts: list[str | Block]

    @property
    def text(self) -> str:
        """The file's text."""
        return "".join(one if isinstance(one, str) else one.text for one in self.parts)

    @property
    def blocks(self) -> Iterator[Block]:
        """The blocks, in the order of the file."""
        return (one for one in self.parts if isinstance(one, Block))

    def keys(self) -> dict[Entry, str]:
        """Return the key of each entry: its tenant and text, and which of several such it is."""
        seen: Counter[str] = Counter()
        keys: dict[Entry, str] = {}
        for block in self.blocks:
            for entry in block.entries:
                said = sha256(
                    f"{block.tenant}\0{entry.text}".encode(errors="surrogatepass")
                ).hexdigest()[:32]
                keys[entry] = f"{said}-{seen[said]}" if seen[said] else said
                seen[said] += 1
        return keys

    def records(self) -> list[Record]:
        """Return the entries as memories."""
        keys = self.keys()
        return [
            Record(keys[entry], block.tenant, entry.text, entry.observed_at, pinned=entry.pinned)
            for block in self.blocks
            for entry in block.entries
        ]


class Editor:
    """Changes a document in place."""

    def __init__(self, document: Document, inherit: Inherit) -> None:
        """Take the document as it was read.

        inherit: how an entry is spelled with the marks of others.
        """
        self._document = document
        self._inherit = inherit
        self._before = document.keys()
        self._entries = {key: entry for entry, key in self._before.items()}
        self._block_of = {one: block for block in document.blocks for one in block.entries}

    def carry_out(self, change: Change, spelled: Sequence[str]) -> Written:
        """Let entries leave and come.

        spelled: how each text of `change.put` is written. Raises `Unreadable` if there is no place
        for one, or if what should leave is not there.
        """
        images = {memory: self._image(key) for key, memory in change.retire.items()}
        put: dict[str, Entry] = {}
        coming = sorted(zip(change.put, spelled, strict=True), key=lambda pair: _place(pair[0]))
        coming_back = ComingBack()
        for new, raw in coming:
            with coming_back.collecting(new):
                put[new.memory] = self._insert(new, raw)
        coming_back.refuse()
        own = {
            successor.memory: self._inherit_marks(successor, change, images, put)
            for successor in change.taking_over
        }
        for key in change.retire:
            entry = self._entries[key]
            self._block_of.pop(entry).entries.remove(entry)
        after = self._document.keys()
        renamed = {
            key: after[entry]
            for entry, key in self._before.items()
            if entry in after and after[entry] != key
        }
        keys = {memory: after[one] for memory, one in put.items()}
        return Written(keys, images, renamed, own)

    def _inherit_marks(
        self,
        successor: Successor,
        change: Change,
        images: Mapping[str, Image],
        put: Mapping[str, Entry],
    ) -> Image | None:
        entry = put.get(successor.memory) or self._entries[successor.key or ""]
        left = {
            one: str((kept or images[one])["raw"]) for one, kept in successor.stands_for.items()
        }
        before = self._entries.get(successor.key or "")
        if before is not None and before is not entry:
            # Another text in its place; what its agent wrote about the old one stays.
            if successor.own is None or before.raw not in successor.own["as"]:
                entry.raw = self._inherit(entry.raw, [before.raw])
            successor = replace(successor, own=None)
        entry.raw, own = inherit_marks(successor, entry.raw, left, self._inherit)
        return own

    def _image(self, key: str) -> Image:
        entry = self._entries.get(key)
        if entry is None:
            raise Unreadable("What should leave is not in the file any more.")
        block = self._block_of[entry]
        at = block.entries.index(entry)
        return {
            "raw": entry.raw,
            "key": key,
            "place": list(self._before.values()).index(key),
            "title": block.title,
            "gap": block.gap,
            # The nearest first: some of them may have left, too, when it comes back.
            "above": [
                self._before[one] for one in reversed(block.entries[max(0, at - _NEAR) : at])
            ],
            "below": [self._before[one] for one in block.entries[at + 1 : at + 1 + _NEAR]],
        }

    def _insert(self, new: New, raw: str) -> Entry:
        block, at = self._place_for(new)
        entry = Entry(new.text, raw if new.image is None else str(new.image["raw"]))
        block.entries.insert(at, entry)
        self._block_of[entry] = block
        if new.image is not None:
            # Others that come back stand behind it.
            self._entries.setdefault(str(new.image["key"]), entry)
        return entry

    def _place_for(self, new: New) -> tuple[Block, int]:
        replaced = [self._entries[key] for key in new.replaces if key in self._entries]
        if replaced:
            order = list(self._before)
            last = max(replaced, key=order.index)
            block = self._block_of[last]
            return block, block.entries.index(last) + 1
        image = new.image or {}
        neighbours = [(key, 1) for key in image.get("above", ())]
        neighbours += [(key, 0) for key in image.get("below", ())]
        for key, step in neighbours:
            neighbour = self._entries.get(key)
            if neighbour is not None and neighbour in self._block_of:
                block = self._block_of[neighbour]
                if block.tenant == new.tenant:
                    return block, block.entries.index(neighbour) + step
        blocks = [one for one in self._document.blocks if one.tenant == new.tenant]
        titled = [one for one in blocks if image and one.title == image.get("title")]
        titled = [one for one in titled if one.gap == image.get("gap")] or titled
        if not blocks:
            raise Unreadable(f"There is no place in the file for what '{new.tenant}' is to hold.")
        block = (titled or blocks)[-1]
        return block, 0 if image and not image["above"] else len(block.entries)


def _place(new: New) -> int:
    """Sort what is new first, then what comes back, from the front of the file to its end."""
    return -1 if new.image is None else int(new.image["place"])
