"""Markdown with a bullet a memory: OpenClaw's MEMORY.md and daily files, Gemini's GEMINI.md.

OpenClaw 2026.9.6. Only plain bullets of one line are memories. What lies deeper, goes over several
lines, is a task or a link, and whatever else stands in the file stays as it is. A bullet with a
comment of the agent's own (importance, trigger, promotion) stays, too: the comment is about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from .base import Budget, New, Unreadable
from .document import Block, Document, Entry
from .text_file import TextFormat, lines_of, text_of

_KNOWN = frozenset({"MEMORY.md", "USER.md", "GEMINI.md"})
_MOST_CHARACTERS, _MOST_LINES = 4_000, 200
# Written by people, for the agent to follow.
_INSTRUCTIONS = frozenset({"CLAUDE.md", "AGENTS.md", "SOUL.md", "README.md", "DREAMS.md"})
# Of Gemini's file only this section is the agent's.
_GEMINI = "Gemini Added Memories"
_DAILY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-[\w-]+)?\.md")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_BULLET = re.compile(r"(?P<mark>[-*+] )(?P<text>\S.*?)[ \t]*$")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->")
# A task, or an entry of an index.
_NO_MEMORY = re.compile(r"\[[ xX]\] |\[[^\]]*\]\([^)]*\)")
_NOT_IN_A_LINE = re.compile(r"[\n\r]|<!--")


class Markdown(TextFormat):
    """A file of bullets."""

    name = "markdown"
    about = "OpenClaw's MEMORY.md and memory/DATE.md, Gemini's GEMINI.md, other files of bullets"
    holds = "a bullet of one line; nothing is joined across headings"

    def recognises(self, path: Path) -> bool:
        """Whether it has a name that agents give, and bullets."""
        if path.name not in _KNOWN and _DAILY.fullmatch(path.name) is None:
            return False
        text = text_of(path)
        if text is None or "\n§\n" in text:
            return False
        return any(block.entries for block in self.parse(text, path).blocks)

    def parse(self, text: str, path: Path) -> Document:
        """Find the bullets."""
        if path.name in _INSTRUCTIONS:
            raise Unreadable(
                f"{path} holds instructions of people's, not memories.", "It is left alone."
            )
        daily = _DAILY.fullmatch(path.name)
        # The file's own name, whichever link leads to it.
        reader = _Reader(path.resolve().name, _start_of(daily[1]) if daily else None)
        return Document(reader.parts(lines_of(text)))

    def budget(self, path: Path) -> Budget | None:
        """Count what the agent loads: characters of USER.md, lines of MEMORY.md."""
        text = text_of(path) or ""
        if path.name == "USER.md":
            return Budget(len(text), _MOST_CHARACTERS, "characters")
        return Budget(text.count("\n"), _MOST_LINES, "lines") if path.name == "MEMORY.md" else None

    def spell(self, new: New, document: Document) -> str:
        """Return a bullet like those that stand there."""
        if _NOT_IN_A_LINE.search(new.text):
            raise Unreadable("A text of several lines, or with a comment in it, is no bullet.")
        raws = [entry.raw for block in document.blocks for entry in block.entries]
        like = _BULLET.match(raws[0]) if raws else None
        mark = like["mark"] if like else "- "
        return f"{mark}{new.text.strip()}" + ("\r" if raws and raws[0].endswith("\r") else "")


def _start_of(day: str) -> str | None:
    try:
        return f"{date.fromisoformat(day).isoformat()}T00:00:00+00:00"
    except ValueError:
        return None


@dataclass
class _Reader:
    """Goes through the lines of a file."""

    file: str
    observed_at: str | None
    headings: list[tuple[int, str]] = field(default_factory=list)
    fence: str = ""

    def parts(self, lines: list[str]) -> list[str | Block]:
        """Return what stays as it is, and the blocks of bullets."""
        if self.file == "GEMINI.md":
            self.headings = [(0, "")]
        parts: list[str | Block] = []
        ends_section = True  # at the top of the file and below a heading, bullets may begin
        at = 0
        while at < len(lines):
            run = self._run(lines, at)
            if run:
                end = "\n" if lines[at + len(run) - 1].endswith("\n") else ""
                parts += [self._block([self._entry(lines, at + n) for n in range(len(run))]), end]
                at += len(run)
                ends_section = False
                continue
            line = lines[at]
            if ends_section and self._holds_memories and self._has_no_bullets(lines, at):
                parts.append(self._block([]))
            ends_section = self._take(line)
            parts.append(line)
            at += 1
        if ends_section and self._holds_memories:
            parts.append(self._block([]))
        return parts

    def _has_no_bullets(self, lines: list[str], at: int) -> bool:
        """Whether a section of which all bullets left begins here: with a blank line, then none."""
        if lines[at].strip():
            return False
        rest = (one for one in lines[at:])
        for line in rest:
            if _HEADING.match(line.rstrip("\r\n")):
                return True
            if line.strip():
                return False
        return True

    @property
    def _holds_memories(self) -> bool:
        return self.file != "GEMINI.md" or self.headings[-1][1] == _GEMINI

    def _block(self, entries: list[Entry]) -> Block:
        path = " > ".join(title for _, title in self.headings if title)
        return Block(path or self.file, "\n", entries, path)

    def _take(self, line: str) -> bool:
        """Take note of a heading or a fence; say whether a section begins behind this line."""
        fence = _FENCE.match(line)
        if fence:
            if not self.fence:
                self.fence = fence[1]
            elif fence[1].startswith(self.fence):
                self.fence = ""
            return False
        heading = None if self.fence else _HEADING.match(line.rstrip("\r\n"))
        if heading is None:
            return False
        level = len(heading[1])
        self.headings = [one for one in self.headings if one[0] < level]
        self.headings.append((level, heading[2]))
        return True

    def _run(self, lines: list[str], at: int) -> list[int]:
        """Return the lines from here on that are memories, as many as stand in a row."""
        if self.fence or not self._holds_memories:
            return []
        run = []
        while at < len(lines) and self._is_memory(lines, at):
            run.append(at)
            at += 1
        return run

    def _is_memory(self, lines: list[str], at: int) -> bool:
        bullet = _BULLET.match(_bare(lines[at]))
        if bullet is None or _NO_MEMORY.match(bullet["text"]):
            return False
        if not _COMMENT.sub("", bullet["text"]).strip() or "status: superseded" in lines[at]:
            return False
        following = lines[at + 1] if at + 1 < len(lines) else ""
        is_continued = following[:1] in (" ", "\t") and following.strip()
        is_lazy = following.strip() and not _begins_something(following)
        return not (is_continued or is_lazy)

    def _entry(self, lines: list[str], at: int) -> Entry:
        raw = lines[at].removesuffix("\n")
        bullet = _BULLET.match(_bare(lines[at]))
        assert bullet is not None  # noqa: S101 - `_is_memory` has matched it
        above = lines[at - 1] if at else ""
        is_marked = _COMMENT.search(raw) or above.lstrip().startswith("<!--")
        text = _COMMENT.sub("", bullet["text"]).strip()
        return Entry(text, raw, self.observed_at, pinned=bool(is_marked))


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _begins_something(line: str) -> bool:
    """Whether a line begins something of its own, and does not go on with the bullet above it."""
    return bool(re.match(r"[-*+] |\d+[.)] |#{1,6} |```|~~~|<!--|>|\||---|\*\*\*|___", line))
