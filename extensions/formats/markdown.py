"""Markdown with a bullet per memory: OpenClaw's MEMORY.md and daily files, Gemini's GEMINI.md.

OpenClaw 2026.9.6. Only plain bullets of one line are memories; nested bullets, those of several
lines, tasks, links and the rest of the file do not change. OpenClaw's marks of a bullet (importance
and triggers after it, the line above it with its promotion) are inherited by the bullet that
replaces it; a bullet with any other comment stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.places import Budget

from .base import New, Unreadable
from .document import Block, Document, Entry
from .text_file import TextFormat, lines_of, split_byte_order_mark, text_of

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
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_BULLET = re.compile(r"(?P<mark>[-*+] )(?P<text>\S.*?)[ \t]*$")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_COMMENT = re.compile(r"<!--.*?-->")
# OpenClaw's marks: lines above a bullet, by which `memory forget` finds it, and comments after it.
_PROMOTION = re.compile(r"[ \t]*<!-- *openclaw-memory-(?:promotion|lineage):.*?-->[ \t\r]*")
_IMPORTANCE = re.compile(r"<!-- *importance *: *(\d+) *-->", re.IGNORECASE)
_TRIGGER = re.compile(r"<!-- *trigger *: *(.*?) *-->", re.IGNORECASE)
# OpenClaw's dreaming adds such a section each night, so duplicates are in different sections.
_NIGHT = re.compile(r"(Promoted From Short-Term Memory) \([^)]*\)")
# The origin of a promoted bullet, which is also in the line above it.
_SOURCE = re.compile(r"[ \t]+(?:\[score=[^\]]*\]|Source: \S+#L\d+-L\d+)$")
# A task, or an entry of an index.
_NO_MEMORY = re.compile(r"\[[ xX]\] |\[[^\]]*\]\([^)]*\)")
# A field of a profile or of a session, such as "**Name:** Ann" or "**Source**: telegram".
_FIELD = re.compile(r"\*\*[^*]+(?::\*\*|\*\*:)")
# A line that begins something, instead of continuing the bullet above it.
_BEGINNING = re.compile(r"[-*+] |\d+[.)] |#{1,6} |```|~~~|<!--|>|\||---|\*\*\*|___")


class Markdown(TextFormat):
    """A file of bullets."""

    name = "markdown"
    about = "OpenClaw's MEMORY.md and memory/DATE.md, Gemini's GEMINI.md, other files of bullets"
    holds = "a bullet of one line; different sections are never merged"

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
        reader = _Reader(path.resolve().name, _start_of(daily[1]) if daily else None)
        mark, text = split_byte_order_mark(text)
        return Document([mark, *reader.parts(lines_of(text))])

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
        end = "\r" if raws and raws[0].endswith("\r") else ""
        return f"{like['mark'] if like else '- '}{new.text.strip()}{end}"

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
                end = "\r" if bullet.endswith("\r") else ""
                bullet = f"{bullet.removesuffix(end)} {unite(values)}{end}"
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


@dataclass
class _Reader:
    """Reads the lines of a file."""

    file: str
    observed_at: str | None
    headings: list[tuple[int, str]] = field(default_factory=list)
    fence: str = ""

    def parts(self, lines: list[str]) -> list[str | Block]:
        """Return the blocks of bullets, and the text around them."""
        if self.file == "GEMINI.md":
            self.headings = [(0, "")]
        parts: list[str | Block] = []
        # How many blank lines follow the start of the file or a heading, where bullets may begin;
        # None elsewhere.
        gap: int | None = 0
        position = 0
        while position < len(lines):
            run = self._run(lines, position)
            if run:
                position = run[-1].stop
                end = "\n" if lines[position - 1].endswith("\n") else ""
                entries = [self._entry(lines, memory) for memory in run]
                parts += [self._block(entries, gap or 0), end]
                gap = None
                continue
            line = lines[position]
            if gap is not None and self._has_memories and self._has_no_bullets(lines, position):
                parts.append(self._block([], gap))
            if self._begins_section(line):
                gap = 0
            else:
                gap = gap + 1 if gap is not None and not line.strip() else None
            parts.append(line)
            position += 1
        if gap is not None and self._has_memories:
            parts.append(self._block([], gap))
        return parts

    def _has_no_bullets(self, lines: list[str], position: int) -> bool:
        """Whether a blank line is here, and only blank lines follow in the section."""
        if lines[position].strip():
            return False
        first = next((line for line in lines[position:] if line.strip()), None)
        return first is None or _HEADING.match(_bare(first)) is not None

    @property
    def _has_memories(self) -> bool:
        return self.file != "GEMINI.md" or self.headings[-1][1] == _GEMINI

    def _block(self, entries: list[Entry], gap: int) -> Block:
        path = " > ".join(title for _, title in self.headings if title)
        return Block(_NIGHT.sub(r"\1", path) or self.file, "\n", entries, path, gap)

    def _begins_section(self, line: str) -> bool:
        """Read a heading or a fence; return whether a section begins after this line."""
        fence = _FENCE.match(line)
        if fence:
            if not self.fence:
                self.fence = fence[1]
            elif fence[1].startswith(self.fence):
                self.fence = ""
            return False
        heading = None if self.fence else _HEADING.match(_bare(line))
        if heading is None:
            return False
        level = len(heading[1])
        self.headings = [above for above in self.headings if above[0] < level]
        self.headings.append((level, heading[2]))
        return True

    def _run(self, lines: list[str], position: int) -> list[range]:
        """Return the lines of each of the consecutive memories that begin here."""
        if self.fence or not self._has_memories:
            return []
        run = []
        while position < len(lines):
            bullet = position
            while bullet < len(lines) - 1 and _PROMOTION.fullmatch(_bare(lines[bullet])):
                bullet += 1
            if not self._is_memory(lines, bullet):
                break
            run.append(range(position, bullet + 1))
            position = bullet + 1
        return run

    def _is_memory(self, lines: list[str], position: int) -> bool:
        bullet = _BULLET.match(_bare(lines[position]))
        if bullet is None or _NO_MEMORY.match(bullet["text"]):
            return False
        if (self.file == "USER.md" or self.observed_at) and _FIELD.match(bullet["text"]):
            return False
        if not _COMMENT.sub("", bullet["text"]).strip() or "status: superseded" in lines[position]:
            return False
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if not following.strip():
            return True
        return following[0] not in " \t" and _BEGINNING.match(following) is not None

    def _entry(self, lines: list[str], span: range) -> Entry:
        raw = "".join(lines[span.start : span.stop]).removesuffix("\n")
        bullet = _BULLET.match(_bare(lines[span[-1]]))
        assert bullet is not None  # noqa: S101 - `_is_memory` has matched it
        above = lines[span.start - 1] if span.start else ""
        text = _COMMENT.sub("", bullet["text"]).strip()
        unknown = _COMMENT.search(_TRIGGER.sub("", _IMPORTANCE.sub("", bullet["text"])))
        is_pinned = unknown is not None or above.lstrip().startswith("<!--")
        return Entry(_SOURCE.sub("", text) or text, raw, self.observed_at, pinned=is_pinned)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
