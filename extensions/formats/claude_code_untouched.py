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
from .text_file import decoded, read_bytes

# Bytes of a line of the index that its title and a short text need.
_SHORT_LINE = 150


def find_untouched(folder: Path) -> list[Untouched]:
    """Return which files stay because of their type, of links to them, or of their form."""
    files, linked = list(memories_in(folder)), linked_in(folder)
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
    ]
    return [untouched for untouched in found if untouched.names]


def long_lines(folder: Path, excess: int) -> Untouched | None:
    """Return the memories with the longest lines in the index, enough to shorten it by a number.

    None if no shorter lines would do: then only fewer memories help.
    """
    lines = decoded(read_bytes(folder / INDEX), folder / INDEX).splitlines()
    listed = [(len(line.encode()), name) for line in lines if (name := listed_name(line))]
    chosen = []
    for size, name in sorted(listed, reverse=True):
        if excess > 0 and size > _SHORT_LINE:
            chosen.append(name)
            excess -= size - _SHORT_LINE
    if excess > 0:
        return None
    return Untouched(
        f"with the longest lines in {INDEX}, of which a session does not load the end",
        "Let Claude Code shorten these lines: the files themselves keep the details.",
        tuple(chosen),
    )


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
