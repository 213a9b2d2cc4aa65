"""What the report of a Claude Code folder says: which files stay, and what is stated twice.

Instructions (CLAUDE.md, AGENTS.md) are written by people, for each session to load: they are only
read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.text.density import without_fences
from slowwave.consolidation.text.tokens import content_words
from slowwave.consolidation.thresholds import MIN_WORDS
from slowwave.store.places import Repeated, Untouched

from .claude_code_files import (
    INDEX,
    VERSION,
    File,
    linked_in,
    listed_name,
    memories_in,
    other_files,
)
from .claude_code_index import budgets, says_more
from .find import project_of
from .text_file import lines_of, split_spelling, text_of

_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md")
_HEADING = re.compile(r"#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$")
# The mark of a line that begins a statement.
_MARK = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+|[ \t]*(?=\*\*)")


def find_untouched(folder: Path, target: int | None = None) -> list[Untouched]:
    """Return which files stay because of their type, of links to them, or of their form.

    Then, which lines of the index stay. target: the bytes to reach.
    """
    files, linked = {file.name: file for file in memories_in(folder)}, linked_in(folder)
    # Of the reasons that apply to a file, the first counts.
    reasons: dict[Untouched, Callable[[File], bool]] = {
        Untouched(
            "of type user, which describe the user",
            "Pass --include-protected to consolidate them, too.",
            (),
        ): lambda file: file.is_users,
        Untouched(
            "that other files link to, and that are not removed",
            "Duplicates may be merged into them, and a model may rewrite one where it is.",
            (),
        ): lambda file: file.is_linked(linked),
        Untouched(
            f"with keys in their front matter that Claude Code {VERSION} does not write",
            "Remove the keys to have them consolidated.",
            (),
        ): lambda file: file.has_unknown_keys,
        Untouched(
            "of several lines: without a model, only equal ones are merged",
            "Pass --model to have them merged, updated and shortened.",
            (),
            is_for_model=True,
        ): lambda file: "\n" in file.body,
    }
    names: dict[Untouched, list[str]] = {reason: [] for reason in reasons}
    for file in files.values():
        if reason := next((reason for reason, stays in reasons.items() if stays(file)), None):
            names[reason].append(file.name)
    lines = lines_of(split_spelling(text_of(folder / INDEX) or "")[2])
    listed = [(line, name) for line in lines if (name := listed_name(line)) is not None]
    is_full = any(
        budget.used > min(budget.limit, budget.target or budget.limit)
        for budget in budgets("".join(lines), target)
    )
    untouched = [replace(reason, names=tuple(names[reason])) for reason in reasons] + [
        Untouched(
            f"without the front matter of a memory, as Claude Code {VERSION} writes it",
            "Let Claude Code move what is worth remembering into memories.",
            tuple(other_files(folder)),
        ),
        Untouched(
            f"that {INDEX} lists and that do not exist",
            f"Remove their lines from {INDEX}, unless only these contain what the files did.",
            tuple(name for _, name in listed if not (folder / name).exists()),
        ),
        Untouched(
            f"whose line in {INDEX} is long, and contains what no sentence of the file states",
            "Let Claude Code add it to the files: then the lines can be shortened.",
            tuple(
                name
                for line, name in listed
                if is_full and name in files and says_more(line, files[name])
            ),
        ),
    ]
    return [kind for kind in untouched if kind.names]


def find_repeated(folder: Path) -> list[Repeated]:
    """Return the statements of a folder's memories that another place makes, too."""
    sources = [(file.name, file.body, True) for file in memories_in(folder)]
    sources += [(path.name, text_of(path) or "", False) for path in _instructions(folder)]
    first_texts: dict[str, str] = {}
    # By statement: its places, and whether each is a memory.
    places: dict[str, dict[str, bool]] = defaultdict(dict)
    for name, body, is_memory in sources:
        for heading, text in _statements(body):
            form = normal_form(text)
            first_texts.setdefault(form, text)
            places[form][f"{name} ({heading})" if heading else name] = is_memory
    return [
        Repeated(first_texts[form], tuple(named))
        for form, named in places.items()
        if len(named) > 1 and any(named.values())
    ]


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield each bullet and paragraph of a Markdown text, on one line, after its heading."""
    heading = ""
    for block in re.split(r"\n[ \t]*\n", without_fences(text)):
        parts: list[str] = []
        for line in block.splitlines():
            if match := _HEADING.match(line):
                heading = match[1]
            elif parts and not _MARK.match(line):
                parts[-1] += f" {line.strip()}"
            else:
                parts.append(_MARK.sub("", line, count=1).strip())
        yield from ((heading, part) for part in parts if len(content_words(part)) >= MIN_WORDS)


def _instructions(folder: Path) -> Iterator[Path]:
    """Yield the instructions of the project, and those for all projects of the user."""
    project = project_of(folder)
    if project is not None:
        yield from (path for name in _INSTRUCTIONS if (path := project / name).is_file())
    if folder.resolve().parents[1].name == "projects":
        everywhere = folder.resolve().parents[2] / "CLAUDE.md"
        if everywhere.is_file():
            yield everywhere
