"""A text file as entries and the rest, which keeps its bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from .base import (
    Change,
    Image,
    Inherit,
    New,
    Record,
    Successor,
    Unreadable,
    Written,
    inherit_marks,
    put_each,
)

# How many neighbors on either side an image contains, to find an entry's place again.
_NEAR = 20


@dataclass(eq=False)
class Entry:
    """A memory, and its spelling in the file."""

    text: str
    raw: str
    # When it was recorded; None if unknown.
    observed_at: str | None = None
    # Whether it must stay where it is.
    pinned: bool = False
    # What is between the entry above it and this one; None for the separator of the block.
    gap: str | None = None


@dataclass(eq=False)
class Block:
    """Consecutive entries of one tenant, with a separator between them."""

    tenant: str
    separator: str
    entries: list[Entry] = field(default_factory=list)
    # What is directly above it; it identifies an empty block.
    title: str = ""
    # The blank lines above the first entry; the line end and the blank lines below the last one.
    lead: str = ""
    tail: str = ""
    # What is in the file instead of a block without entries.
    left: str = ""
    # Whether nothing follows it in the file.
    is_last: bool = False
    # Whose the entries are, such as an entity's.
    subject: str = ""

    @property
    def text(self) -> str:
        """The block as it is in the file."""
        if not self.entries:
            return self.left
        first, *more = self.entries
        gaps = (self.separator if entry.gap is None else entry.gap for entry in more)
        below = "".join(f"{gap}{entry.raw}" for gap, entry in zip(gaps, more, strict=True))
        return f"{self.lead}{first.raw}{below}{self.tail}"


@dataclass
class Document:
    """A complete file: blocks of entries, and the text around them."""

    parts: list[str | Block]
    # Whether the lines and marks of entries are Markdown.
    is_markdown: bool = False

    @property
    def text(self) -> str:
        """The file's text."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    @property
    def blocks(self) -> Iterator[Block]:
        """The blocks, in the order of the file."""
        return (part for part in self.parts if isinstance(part, Block))

    def keys(self) -> dict[Entry, str]:
        """Return the key of each entry: of its tenant and text, and its number among equal ones."""
        seen: Counter[str] = Counter()
        keys: dict[Entry, str] = {}
        for block in self.blocks:
            for entry in block.entries:
                text = f"{block.tenant}\0{entry.text}"
                key = sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]
                keys[entry] = f"{key}-{seen[key]}" if seen[key] else key
                seen[key] += 1
        return keys

    def records(self) -> list[Record]:
        """Return the entries as memories."""
        keys = self.keys()
        return [
            Record(
                keys[entry],
                block.tenant,
                entry.text,
                entry.observed_at,
                pinned=entry.pinned,
                is_markdown=self.is_markdown,
                subject=block.subject,
            )
            for block in self.blocks
            for entry in block.entries
        ]


class Editor:
    """Changes a document in place."""

    def __init__(self, document: Document, inherit: Inherit) -> None:
        """inherit: how an entry inherits the marks of others."""
        self._document = document
        self._inherit = inherit
        self._before = document.keys()
        self._order = list(self._before.values())
        self._entries = {key: entry for entry, key in self._before.items()}
        self._block_of = {entry: block for block in document.blocks for entry in block.entries}

    def apply(self, change: Change, spelled: Sequence[str]) -> Written:
        """Remove and insert entries.

        spelled: the spelling of each text of `change.put`. Raises `Unreadable` if there is no place
        for one, or if an entry to remove does not exist.
        """
        images = {removal.memory: self._image(removal.key) for removal in change.removals}
        near = {removal.memory: self._near(removal.key) for removal in change.removals}
        raws = {new.memory: raw for new, raw in zip(change.put, spelled, strict=True)}
        coming = sorted(change.put, key=_place)
        put = put_each(coming, lambda new: self._insert(new, raws[new.memory]))
        own = {
            successor.memory: self._inherit_marks(successor, images, put)
            for successor in change.inheriting
        }
        names: dict[Entry, str] = {}
        for removal in change.removals:
            entry = self._entries[removal.key]
            self._block_of.pop(entry).entries.remove(entry)
            names[entry] = removal.memory
        after = self._document.keys()
        # Equal texts have other numbers after the change, and removed entries have no key.
        names |= after
        for memory, sides in near.items():
            images[memory] |= {
                side: [names[entry] for entry in entries] for side, entries in sides.items()
            }
        renamed = {
            key: after[entry]
            for entry, key in self._before.items()
            if entry in after and after[entry] != key
        }
        return Written(
            {memory: after[entry] for memory, entry in put.items()}, images, renamed, own
        )

    def _inherit_marks(
        self, successor: Successor, images: Mapping[str, Image], put: Mapping[str, Entry]
    ) -> Image | None:
        entry = put.get(successor.memory) or self._entries[successor.key or ""]
        left = {
            memory: str((image or images[memory])["raw"])
            for memory, image in successor.replaces.items()
        }
        before = self._entries.get(successor.key or "")
        if before is not None and before is not entry:
            # It gets another text; marks that its agent added to the old one stay.
            if successor.own is None or before.raw not in successor.own["as"]:
                entry.raw = self._inherit(entry.raw, [before.raw])
            successor = replace(successor, own=None)
        entry.raw, own = inherit_marks(successor, entry.raw, left, self._inherit)
        return own

    def _image(self, key: str) -> Image:
        entry = self._entries.get(key)
        if entry is None:
            raise Unreadable("A memory to remove is no longer in the file.")
        block = self._block_of[entry]
        like = self._blocks_like(block.tenant, block.title)
        below = block.entries[block.entries.index(entry) + 1 :][:1]
        return {
            "raw": entry.raw,
            "place": self._order.index(key),
            "title": block.title,
            "separator": block.separator,
            "gaps": [entry.gap, below[0].gap if below else None],
            "lead": block.lead,
            "tail": block.tail,
            "empty": [block.left, block.is_last],
            "number": like.index(block),
            "count": len(like),
        }

    def _near(self, key: str) -> dict[str, list[Entry]]:
        """Return the neighbors of an entry, the nearest first: some may be removed later."""
        entry = self._entries[key]
        entries = self._block_of[entry].entries
        index = entries.index(entry)
        above = entries[max(0, index - _NEAR) : index][::-1]
        below = entries[index + 1 : index + 1 + _NEAR]
        return {"above": above, "below": below}

    def _blocks_like(self, tenant: str, title: str) -> list[Block]:
        return [
            block
            for block in self._document.blocks
            if (block.tenant, block.title) == (tenant, title)
        ]

    def _insert(self, new: New, raw: str) -> Entry:
        block, index = self._place_for(new)
        entry = Entry(new.text, raw if new.image is None else str(new.image["raw"]))
        if new.image is not None:
            self._space(entry, new.image, block, index)
        elif index:
            entry.gap = block.entries[index - 1].gap
        block.entries.insert(index, entry)
        self._block_of[entry] = block
        # Entries that are restored after it find their place by it.
        self._entries[new.memory] = entry
        if new.image is not None and len(block.entries) == 2:
            # A single entry does not show its separator.
            block.separator = str(new.image.get("separator", block.separator))
        return entry

    def _space(self, entry: Entry, image: Image, block: Block, index: int) -> None:
        """Restore the blank lines around an entry."""
        entry.gap, gap_below = image.get("gaps", (None, None))
        if index < len(block.entries) and gap_below is not None:
            block.entries[index].gap = gap_below
        is_unchanged = image.get("empty") == [block.left, block.is_last]
        if not block.entries and is_unchanged and block.lead == block.left:
            block.lead, block.tail = image["lead"], image["tail"]

    def _place_for(self, new: New) -> tuple[Block, int]:
        """Return the place after the last replaced entry, or of the image, or at the end."""
        replaced = [key for key in new.replaces if key in self._entries]
        if replaced:
            last = self._entries[max(replaced, key=self._order.index)]
            block = self._block_of[last]
            return block, block.entries.index(last) + 1
        image = new.image or {}
        like = self._blocks_like(new.tenant, image["title"]) if image else []
        # Its own block, unless the agent added or removed such blocks.
        own = like[image["number"]] if like and len(like) == image.get("count") else None
        neighbors = [(key, 1) for key in image.get("above", ())]
        neighbors += [(key, 0) for key in image.get("below", ())]
        for key, step in neighbors:
            neighbor = self._entries.get(key)
            near_block = None if neighbor is None else self._block_of.get(neighbor)
            if neighbor is None or near_block is None or near_block.tenant != new.tenant:
                continue
            if own in (None, near_block):
                return near_block, near_block.entries.index(neighbor) + step
        blocks = [block for block in self._document.blocks if block.tenant == new.tenant]
        if not blocks:
            raise Unreadable(f"The file no longer has a section for '{new.tenant}'.")
        likely = like[: image.get("number", 0) + 1] or [block for block in blocks if block.entries]
        block = own or (likely or blocks)[-1]
        return block, 0 if image and not image["above"] else len(block.entries)


def _place(new: New) -> int:
    """Sort new texts first, then those that are restored, in the order of the file."""
    return -1 if new.image is None else int(new.image["place"])
