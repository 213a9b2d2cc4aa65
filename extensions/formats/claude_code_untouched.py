"""Which files of a memory folder of Claude Code a run leaves unchanged, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slowwave.store.places import Untouched

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
from .text_file import lines_of, text_of


def find_untouched(folder: Path, target: int | None = None) -> list[Untouched]:
    """Return which files stay because of their type, of links to them, or of their form.

    Then, which lines of the index stay. target: the bytes to reach.
    """
    files, linked = list(memories_in(folder)), linked_in(folder)
    lines = lines_of(text_of(folder / INDEX) or "")
    known = {file.name: file for file in files}
    listed = [(line, name) for line in lines if (name := listed_name(line)) is not None]
    is_full = any(
        budget.used > min(budget.limit, budget.target or budget.limit)
        for budget in budgets("".join(lines), target)
    )
    found = [
        _taken(
            files,
            lambda file: file.is_users,
            "of type user, which describe the user",
            "Pass --include-protected to consolidate them, too.",
        ),
        _taken(
            files,
            lambda file: file.is_linked(linked),
            "that other files link to, and that are not removed",
            "Duplicates may be merged into them, and a model may rewrite one where it is.",
        ),
        _taken(
            files,
            lambda file: file.has_unknown_keys,
            f"with keys in their front matter that Claude Code {VERSION} does not write",
            "Remove the keys to have them consolidated.",
        ),
        _taken(
            files,
            lambda file: "\n" in file.body,
            "of several lines: without a model, only equal ones are merged",
            "Pass --model to have them merged, updated and shortened.",
            is_for_model=True,
        ),
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
            f"whose line in {INDEX} is long, and contains what the file does not",
            "Let Claude Code add it to the files: then the lines can be shortened.",
            tuple(
                name
                for line, name in listed
                if is_full and name in known and says_more(line, known[name])
            ),
        ),
    ]
    return [untouched for untouched in found if untouched.names]


def _taken(
    files: list[File],
    stays: Callable[[File], bool],
    why: str,
    hint: str,
    is_for_model: bool = False,
) -> Untouched:
    """Take the files that stay for a reason out of `files`, and return them."""
    names = tuple(file.name for file in files if stays(file))
    files[:] = [file for file in files if file.name not in names]
    return Untouched(why, hint, names, is_for_model)
