"""Markdown with a bullet a memory: OpenClaw's MEMORY.md and daily files, Gemini's GEMINI.md.

OpenClaw 2026.9.6. Only plain bullets of one line are memories. What lies deeper, goes over several
lines, is a task or a link, and whatever else stands in the file stays as it is. OpenClaw's marks of
a bullet (importance and triggers behind it, the line above it that says where it was promoted from)
go to the bullet that stands for it; one with another comment stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from slowwave.store.places import Budget

from .base import New, Unreadable
from .document import Block, Document, Entry
from .text_file import TextFormat, lines_of, text_of

_KNOWN = frozenset({"MEMORY.md", "USER.md", "GEMINI.md"})
# Of USER.md and of MEMORY.md OpenClaw takes so many characters: above the latter its dreaming drops
# the oldest of what it promoted (DEFAULT_MEMORY_FILE_MAX_CHARS). Claude Code loads so many lines.
_MOST_OF_THE_USER, _MOST_OF_OPENCLAW, _MOST_LINES = 4_000, 10_000, 200
# Files beside a MEMORY.md of OpenClaw's, and a comment that only OpenClaw writes into one.
_WORKSPACE = ("SOUL.md", "AGENTS.md", "DREAMS.md")
_OPENCLAW = "<!-- openclaw-memory-"
# Written by people, for the agent to follow.
_INSTRUCTIONS = frozenset({"CLAUDE.md", "AGENTS.md", "SOUL.md", "README.md", "DREAMS.md"})
# Of Gemini's file only this section is the agent's.
_GEMINI = "Gemini Added Memories"
_DAILY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-[\w-]+)?\.md")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_BULLET = re.compile(r"(?P<mark>[-*+] )(?P<text>\S.*?)[ \t]*$")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->")
# OpenClaw's marks: lines above a bullet, which `memory forget` goes by, and what stands behind it.
_PROMOTION = re.compile(r"[ \t]*<!-- *openclaw-memory-(?:promotion|lineage):.*?-->[ \t\r]*")
_IMPORTANCE = re.compile(r"<!-- *importance *: *(\d+) *-->", re.IGNORECASE)
_TRIGGER = re.compile(r"<!-- *trigger *: *(.*?) *-->", re.IGNORECASE)
# OpenClaw's dreaming adds such a section each night, so that repetitions are in different ones.
_NIGHT = re.compile(r"(Promoted From Short-Term Memory) \([^)]*\)")
# Where a bullet was promoted from; the line above it says so, too.
_SOURCE = re.compile(r"[ \t]+(?:\[score=[^\]]*\]|Source: \S+#L\d+-L\d+)$")
# A task, or an entry of an index.
_NO_MEMORY = re.compile(r"\[[ xX]\] |\[[^\]]*\]\([^)]*\)")
_NOT_IN_A_LINE = re.compile(r"[\n\r]|<!--")


def _is_of_openclaw(path: Path, text: str) -> bool:
    folder = path.resolve().parent
    return _OPENCLAW in text or any((folder / name).exists() for name in _WORKSPACE)


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
        """Count what is loaded: characters of OpenClaw's files, lines of another MEMORY.md."""
        text = text_of(path) or ""
        if path.name == "USER.md":
            return Budget(len(text), _MOST_OF_THE_USER, "characters", is_hard=True)
        if path.name != "MEMORY.md":
            return None
        if _is_of_openclaw(path, text):
            return Budget(len(text), _MOST_OF_OPENCLAW, "characters")
        return Budget(len(text.splitlines()), _MOST_LINES, "lines")

    def spell(self, new: New, document: Document) -> str:
        """Return a bullet like those that stand there."""
        if _NOT_IN_A_LINE.search(new.text):
            raise Unreadable("A text of several lines, or with a comment in it, is no bullet.")
        raws = [entry.raw for block in document.blocks for entry in block.entries]
        like = _BULLET.match(raws[0].split("\n")[-1]) if raws else None
        mark = like["mark"] if like else "- "
        return f"{mark}{new.text.strip()}" + ("\r" if raws and raws[0].endswith("\r") else "")

    def inherit(self, raw: str, others: Sequence[str]) -> str:
        """Return a bullet with the highest importance, all triggers and all promotions."""
        *promotions, bullet = raw.split("\n")
        comments = [*(one for other in others for one in other.split("\n")[:-1]), *promotions]
        for pattern, united in ((_IMPORTANCE, _highest), (_TRIGGER, _all_triggers)):
            values = [one for other in (raw, *others) for one in pattern.findall(other)]
            own = pattern.search(bullet)
            if own and len(values) > 1:
                bullet = bullet[: own.start()] + united(values) + bullet[own.end() :]
            elif values and not own:
                end = "\r" if bullet.endswith("\r") else ""
                bullet = f"{bullet.removesuffix(end)} {united(values)}{end}"
        return "\n".join([*dict.fromkeys(comments), bullet])


def _highest(values: Sequence[str]) -> str:
    return f"<!-- importance: {max(map(int, values))} -->"


def _all_triggers(values: Sequence[str]) -> str:
    words = [word.strip() for one in values for word in re.split("[,;]", one)]
    return f"<!-- trigger: {', '.join(filter(None, dict.fromkeys(words)))} -->"


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
        # At the top of the file and below a heading, behind so many blank lines, bullets may begin.
        gap: int | None = 0
        at = 0
        while at < len(lines):
            run = self._run(lines, at)
            if run:
                past = run[-1].stop
                end = "\n" if lines[past - 1].endswith("\n") else ""
                entries = [self._entry(lines, one) for one in run]
                parts += [self._block(entries, gap or 0), end]
                at = past
                gap = None
                continue
            line = lines[at]
            if gap is not None and self._holds_memories and self._has_no_bullets(lines, at):
                parts.append(self._block([], gap))
            if self._take(line):
                gap = 0
            else:
                gap = gap + 1 if gap is not None and not line.strip() else None
            parts.append(line)
            at += 1
        if gap is not None and self._holds_memories:
            parts.append(self._block([], gap))
        return parts

    def _has_no_bullets(self, lines: list[str], at: int) -> bool:
        """Whether a blank line stands here, and no bullet up to the end of the section."""
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

    def _block(self, entries: list[Entry], gap: int) -> Block:
        path = " > ".join(title for _, title in self.headings if title)
        return Block(_NIGHT.sub(r"\1", path) or self.file, "\n", entries, path, gap)

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

    def _run(self, lines: list[str], at: int) -> list[range]:
        """Return the lines of each memory from here on, as many as stand in a row."""
        if self.fence or not self._holds_memories:
            return []
        run = []
        while at < len(lines):
            bullet = at
            while bullet < len(lines) - 1 and _PROMOTION.fullmatch(_bare(lines[bullet])):
                bullet += 1
            if not self._is_memory(lines, bullet):
                break
            run.append(range(at, bullet + 1))
            at = bullet + 1
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

    def _entry(self, lines: list[str], its: range) -> Entry:
        raw = "".join(lines[its.start : its.stop]).removesuffix("\n")
        bullet = _BULLET.match(_bare(lines[its[-1]]))
        assert bullet is not None  # noqa: S101 - `_is_memory` has matched it
        above = lines[its.start - 1] if its.start else ""
        text = _COMMENT.sub("", bullet["text"]).strip()
        others = _COMMENT.search(_TRIGGER.sub("", _IMPORTANCE.sub("", bullet["text"])))
        stays = others is not None or above.lstrip().startswith("<!--")
        return Entry(_SOURCE.sub("", text) or text, raw, self.observed_at, pinned=stays)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _begins_something(line: str) -> bool:
    """Whether a line begins something of its own, and does not go on with the bullet above it."""
    return bool(re.match(r"[-*+] |\d+[.)] |#{1,6} |```|~~~|<!--|>|\||---|\*\*\*|___", line))
