"""What several memories of Claude Code say, or a memory and the instructions of its project.

Instructions (CLAUDE.md, AGENTS.md) are written by people, for each session to load: they are only
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.text.density import without_fences
from slowwave.consolidation.text.tokens import content_words
from slowwave.consolidation.thresholds import MIN_WORDS
from slowwave.store.places import Repeated

from .claude_code_files import memories_in
from .find import project_of
from .text_file import text_of

_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md")
_HEADING = re.compile(r"#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$")
# The mark of a line that begins a statement.
_MARK = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+|[ \t]*(?=\*\*)")


class Statement(NamedTuple):
    """A bullet or a paragraph, on one line, and where it is."""

    text: str
    file: str
    heading: str
    # Whether people wrote it.
    is_instruction: bool = False

    @property
    def place(self) -> str:
        """Its file, with its heading."""
        return f"{self.file} ({self.heading})" if self.heading else self.file


def find_repeated(folder: Path) -> list[Repeated]:
    """Return the statements of a folder's memories that another place makes, too."""
    statements = [
        statement
        for file in memories_in(folder)
        for statement in statements_of(file.body, file.name)
    ]
    for path in _instructions(folder):
        statements += statements_of(text_of(path) or "", path.name, is_instruction=True)
    return repeated_in(statements)


def statements_of(text: str, file: str, is_instruction: bool = False) -> Iterator[Statement]:
    """Yield the statements of a text in Markdown, without its code."""
    heading = ""
    for block in re.split(r"\n[ \t]*\n", without_fences(text)):
        parts: list[str] = []
        for line in block.splitlines():
            if found := _HEADING.match(line):
                heading = found[1]
            elif parts and not _MARK.match(line):
                parts[-1] += f" {line.strip()}"
            else:
                parts.append(_MARK.sub("", line, count=1).strip())
        for part in parts:
            if len(content_words(part)) >= MIN_WORDS:
                yield Statement(part, file, heading, is_instruction)


def repeated_in(statements: Sequence[Statement]) -> list[Repeated]:
    """Return what several statements say, in the words of the first."""
    equal: dict[str, list[Statement]] = {}
    for statement in statements:
        equal.setdefault(normal_form(statement.text), []).append(statement)
    return [
        Repeated(group[0].text, tuple(dict.fromkeys(statement.place for statement in group)))
        for group in equal.values()
        if len({statement.place for statement in group}) > 1
        and not all(statement.is_instruction for statement in group)
    ]


def _instructions(folder: Path) -> Iterator[Path]:
    """Yield the instructions of the project, and those for all projects of the user."""
    project = project_of(folder)
    if project is not None:
        yield from (path for name in _INSTRUCTIONS if (path := project / name).is_file())
    if folder.resolve().parents[1].name == "projects":
        everywhere = folder.resolve().parents[2] / "CLAUDE.md"
        if everywhere.is_file():
            yield everywhere
