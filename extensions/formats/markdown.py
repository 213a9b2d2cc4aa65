"""Markdown with a bullet per memory: OpenClaw's MEMORY.md and daily files, Gemini's GEMINI.md.

OpenClaw 2026.9.6. Only plain bullets of one line are memories; nested bullets, those of several
lines, tasks, links, front matter and the rest of the file do not change. Bullets are merged only
below the same headings and the same paragraph, such as "**Production:**". OpenClaw's marks of a
bullet (importance and triggers after it, the line above it with its promotion) are inherited by the
bullet that replaces it; a bullet with any other comment stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path

from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.places import Budget

from .base import New, Unreadable, shortened
from .document import Block, Document, Entry
from .text_file import TextFormat, lines_of, split_byte_order_mark, split_spelling, text_of

_KNOWN = frozenset({"MEMORY.md", "USER.md", "GEMINI.md"})
# Characters that OpenClaw reads of USER.md and of MEMORY.md: above the latter its dreaming drops
# the oldest promotions (DEFAULT_MEMORY_FILE_MAX_CHARS). Lines that Claude Code loads.
_MAX_USER, _MAX_OPENCLAW, _MAX_LINES = 4_000, 10_000, 200
# Files next to a MEMORY.md of OpenClaw, and a comment that only OpenClaw writes into one.
_WORKSPACE = ("SOUL.md", "AGENTS.md", "DREAMS.md")
_OPENCLAW = "<!-- openclaw-memory-"
# Written by people, for the agent to follow.
_INSTRUCTIONS = frozenset({"CLAUDE.md", "AGENTS.md", "SOUL.md", "README.md", "DREAMS.md"})
# The only section of GEMINI.md that belongs to the agent.
_GEMINI = "Gemini Added Memories"
_DAILY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-[\w-]+)?\.md")
_BULLET = re.compile(r"(?P<mark>[-*+] )(?P<text>\S.*?)[ \t]*$")
_COMMENT = re.compile(r"<!--.*?-->")
# OpenClaw's marks: lines above a bullet, by which `memory forget` finds it, and comments after it.
_PROMOTION = re.compile(r"[ \t]*<!-- *openclaw-memory-(?:promotion|lineage):.*?-->[ \t]*")
_IMPORTANCE = re.compile(r"<!-- *importance *: *(\d+) *-->", re.IGNORECASE)
_TRIGGER = re.compile(r"<!-- *trigger *: *(.*?) *-->", re.IGNORECASE)
# OpenClaw's dreaming adds such a section each night, so duplicates are in different sections.
_NIGHT = re.compile(r"(Promoted From Short-Term Memory) \([^)]*\)")
# The origin of a promoted bullet, which is also in the line above it.
_SOURCE = re.compile(r"[ \t]+(?:\[score=[^\]]*\]|Source: \S+#L\d+-L\d+)$")
# A task, or an entry of an index.
_NO_MEMORY = re.compile(r"\[[ xX]\] |\[[^\]]*\]\([^)]*\)")
# The tokens of an item with a paragraph only, and elements that may introduce a list.
_SHORT_ITEM = ["paragraph_open", "inline", "paragraph_close", "list_item_close"]
_LABELS = frozenset({"paragraph_open", "blockquote_open"})
# A field of a profile or of a session, such as "**Name:** Ann" or "**Source**: telegram".
_FIELD = re.compile(r"\*\*[^*]+(?::\*\*|\*\*:)")


class Markdown(TextFormat):
    """A file of bullets."""

    name = "markdown"
    about = "OpenClaw's MEMORY.md and memory/DATE.md, Gemini's GEMINI.md, other files of bullets"
    holds = "a bullet of one line; different sections and labels of lists are never merged"

    def recognises(self, path: Path) -> bool:
        """Whether it has a name that agents use, and bullets."""
        is_known = path.name in _KNOWN or _DAILY.fullmatch(path.name) is not None
        return is_known and self.has_bullets(path)

    def has_bullets(self, path: Path) -> bool:
        """Whether it is a text with memories. Raises `Unreadable` for instructions by people."""
        text = text_of(path)
        if text is None or "\n§\n" in text.replace("\r\n", "\n"):
            return False
        return any(block.entries for block in self.parse(text, path).blocks)

    def remark(self, path: Path) -> str | None:
        """Return what a memory is, for a file without any."""
        where = f" below '## {_GEMINI}'" if path.resolve().name == "GEMINI.md" else ""
        why = f"{path} has no memories: only plain bullets of one line{where} are memories."
        return None if text_of(path) is None or self.has_bullets(path) else why

    def parse(self, text: str, path: Path) -> Document:
        """Find the bullets."""
        if path.name in _INSTRUCTIONS:
            raise Unreadable(
                f"{path} contains instructions by people, not memories.", "It was not changed."
            )
        daily = _DAILY.fullmatch(path.name)
        # The file's own name, through any link.
        file, observed_at = path.resolve().name, _start_of(daily[1]) if daily else None
        mark, text = split_byte_order_mark(text)
        reader = _Reader(lines_of(text), split_spelling(text)[1], file, observed_at)
        return Document([mark, *reader.parts()])

    def budget(self, path: Path, text: str | None = None) -> Budget | None:
        """Count what is loaded: characters of OpenClaw's files, lines of another MEMORY.md."""
        text = text_of(path) or "" if text is None else text
        tokens = count_tokens(text)
        if path.name == "USER.md":
            return Budget(
                len(text), _MAX_USER, "characters", is_hard=True, tokens=tokens, file=path.name
            )
        if path.name != "MEMORY.md":
            return None
        folder = path.resolve().parent
        if _OPENCLAW in text or any((folder / name).exists() for name in _WORKSPACE):
            return Budget(len(text), _MAX_OPENCLAW, "characters", tokens=tokens)
        return Budget(len(text.splitlines()), _MAX_LINES, "lines", tokens=tokens)

    def spell(self, new: New, document: Document) -> str:
        """Return a bullet like the first one of the file."""
        if "<!--" in new.text:
            raise Unreadable("A bullet cannot contain the start of a comment, '<!--'.")
        raws = [entry.raw for block in document.blocks for entry in block.entries]
        like = _BULLET.match(raws[0].split("\n")[-1]) if raws else None
        return f"{like['mark'] if like else '- '}{new.text.strip()}"

    def inherit(self, raw: str, replaced: Sequence[str]) -> str:
        """Return a bullet with the highest importance, all triggers and all promotions."""
        *promotions, bullet = raw.split("\n")
        above = [line for entry in replaced for line in entry.split("\n")[:-1]] + promotions
        for pattern, unite in ((_IMPORTANCE, _highest), (_TRIGGER, _all_triggers)):
            values = [value for entry in (raw, *replaced) for value in pattern.findall(entry)]
            own = pattern.search(bullet)
            if own and len(values) > 1:
                bullet = bullet[: own.start()] + unite(values) + bullet[own.end() :]
            elif values and not own:
                bullet = f"{bullet} {unite(values)}"
        return "\n".join([*dict.fromkeys(above), bullet])


def _highest(values: Sequence[str]) -> str:
    return f"<!-- importance: {max(map(int, values))} -->"


def _all_triggers(values: Sequence[str]) -> str:
    words = [word.strip() for value in values for word in re.split("[,;]", value)]
    return f"<!-- trigger: {', '.join(filter(None, dict.fromkeys(words)))} -->"


def _start_of(day: str) -> str | None:
    try:
        return f"{date.fromisoformat(day).isoformat()}T00:00:00+00:00"
    except ValueError:
        return None


@dataclass(frozen=True)
class _Element:
    """A block of Markdown outside of lists, or an item of such a list."""

    # The type of its first token, such as "paragraph_open".
    kind: str
    lines: range
    # Its source; of a heading its title.
    text: str = ""
    # Of a heading.
    level: int = 0
    # Whether it is an item that contains only one line of text.
    is_short_item: bool = False


def _elements(lines: Sequence[str]) -> dict[int, _Element]:
    """Return the elements of a text by their first lines."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    front = _front_matter(lines)
    # The parser treats "\r" as the end of a line.
    read = [""] * len(front) + [_bare(line).replace("\r", " ") for line in lines[len(front) :]]
    tokens = parser.parse("\n".join(read))
    elements = {0: _Element("front_matter", front)} if front else {}
    for index, token in enumerate(tokens):
        is_item = token.type == "list_item_open" and token.level == 1
        is_outside = token.level == 0 and not token.type.endswith("list_open")
        if token.map is None or not (is_item or is_outside):
            continue
        start, stop = token.map
        while _is_blank(read[stop - 1]):
            stop -= 1
        text, level = " ".join("\n".join(read[start:stop]).split()), 0
        if token.type == "heading_open":
            text, level = tokens[index + 1].content, int(token.tag[1:])
        inside = [token.type for token in tokens[index + 1 : index + 1 + len(_SHORT_ITEM)]]
        is_short = is_item and inside == _SHORT_ITEM and stop == start + 1
        elements[start] = _Element(token.type, range(start, stop), text, level, is_short)
    return elements


def _front_matter(lines: Sequence[str]) -> range:
    """Return the lines of YAML at the start of a file."""
    bare = [_bare(line).rstrip() for line in lines]
    if bare[:1] != ["---"] or "---" not in bare[1:]:
        return range(0)
    return range(bare.index("---", 1) + 1)


class _Reader:
    """Reads the lines of a file."""

    def __init__(self, lines: list[str], end: str, file: str, observed_at: str | None) -> None:
        """end: what ends a new line."""
        self._lines, self._end, self._file, self._observed_at = lines, end, file, observed_at
        self._elements = _elements(lines)
        self._headings: list[tuple[int, str]] = [(0, "")]
        # The last paragraph of the section, and how often the section has each.
        self._label, self._labels = "", Counter[str]()

    def parts(self) -> list[str | Block]:
        """Return the file's text, and a block wherever bullets are or may be restored."""
        parts: list[str | Block] = []
        position, above = 0, _Element("start", range(0))
        while True:
            block, position = self._block(position, above)
            parts.append(block)
            if position == len(self._lines):
                return parts
            # The parser omits definitions of links.
            definition = _Element("definition", range(position, position + 1))
            above = self._elements.get(position, definition)
            parts.append("".join(self._lines[position : above.lines.stop]))
            position = above.lines.stop
            is_item, last = above.kind == "list_item_open", self._lines[position - 1]
            # A line below a bullet that looks like a paragraph, but continues the bullet.
            is_continued = is_item and len(above.lines) > 1 and not last[0].isspace()
            if above.level:
                self._headings = [title for title in self._headings if title[0] < above.level]
                self._headings.append((above.level, above.text))
                self._label, self._labels = "", Counter()
            elif above.kind in _LABELS or is_continued:
                self._label = above.text
                self._labels[above.text] += 1

    def _block(self, position: int, above: _Element) -> tuple[Block, int]:
        """Return the bullets between two elements, and the position of the next element."""
        title = sha256("".join(self._lines[above.lines.stop - 1 : above.lines.stop]).encode())
        block, blank = Block(self._context(), self._end, title=title.hexdigest()[:16]), ""
        while position < len(self._lines):
            if _is_blank(self._lines[position]):
                blank += self._lines[position]
                position += 1
            elif span := self._memory(position):
                entry = self._entry(span)
                if block.entries:
                    entry.gap = blank
                else:
                    block.lead = blank
                block.entries.append(entry)
                position = span.stop
                line = self._lines[position - 1]
                blank = line[len(_bare(line)) :]
            else:
                break
        block.is_last = position == len(self._lines)
        if block.entries:
            block.tail = blank
            if not block.is_last:
                # A blank line separates a paragraph from what follows.
                needed = "" if above.kind in ("start", "list_item_open") else self._end
                below = "".join(lines_of(blank)[1:]) if above.lines else ""
                block.left = block.lead or below or needed
        else:
            block.lead = block.left = blank
            block.tail = self._end + ("" if block.is_last else blank or self._end)
            if position and not self._lines[position - 1].endswith("\n"):
                block.lead += self._end
        return block, position

    def _context(self) -> str:
        """Return the headings and the paragraph that precede a list.

        Equal paragraphs of a section introduce different lists.
        """
        path = " > ".join(title for _, title in self._headings if title)
        number, label = self._labels[self._label], shortened(self._label)
        if label != self._label:
            label = f"{label} {sha256(self._label.encode()).hexdigest()[:8]}"
        if number > 1:
            label = f"{label} ({number})"
        return " > ".join(filter(None, (_NIGHT.sub(r"\1", path) or self._file, label)))

    def _memory(self, position: int) -> range | None:
        """Return the lines of the memory that begins here, if any."""
        bullet = position
        while bullet < len(self._lines) - 1 and _PROMOTION.fullmatch(_bare(self._lines[bullet])):
            bullet += 1
        element = self._elements.get(bullet)
        is_outside = self._file == "GEMINI.md" and self._headings[-1][1] != _GEMINI
        if is_outside or element is None or not element.is_short_item:
            return None
        return range(position, bullet + 1) if self._is_memory(self._lines[bullet]) else None

    def _is_memory(self, line: str) -> bool:
        bullet = _BULLET.match(_bare(line))
        if bullet is None or _NO_MEMORY.match(bullet["text"]):
            return False
        if (self._file == "USER.md" or self._observed_at) and _FIELD.match(bullet["text"]):
            return False
        return bool(_COMMENT.sub("", bullet["text"]).strip()) and "status: superseded" not in line

    def _entry(self, span: range) -> Entry:
        raw = _bare("".join(self._lines[span.start : span.stop]))
        bullet = _BULLET.match(_bare(self._lines[span[-1]]))
        assert bullet is not None  # noqa: S101 - `_is_memory` has matched it
        above = self._lines[span.start - 1] if span.start else ""
        text = _COMMENT.sub("", bullet["text"]).strip()
        unknown = _COMMENT.search(_TRIGGER.sub("", _IMPORTANCE.sub("", bullet["text"])))
        is_pinned = unknown is not None or above.lstrip().startswith("<!--")
        return Entry(_SOURCE.sub("", text) or text, raw, self._observed_at, pinned=is_pinned)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _is_blank(line: str) -> bool:
    """Whether CommonMark treats a line as blank."""
    return not line.strip(" \t\r\n")
