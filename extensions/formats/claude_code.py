"""Claude Code's memory folder: a file per memory, and MEMORY.md as their index.

Claude Code 2.1.330. A memory is a .md file whose front matter has a name, a description and a type;
MEMORY.md has a line for each, which a session loads first. A fact may be followed by its reasons,
which the memory that replaces it inherits. New files are written first, then the index, then files
are deleted: an interruption loses nothing. A file of slowwave whose text grows keeps its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.places import Budget
from slowwave.store.records import timestamp
from slowwave.store.sidecar import sync_folder

from .base import (
    Change,
    ChangedMeanwhile,
    ComingBack,
    Format,
    Image,
    New,
    OpenFile,
    Successor,
    Unreadable,
    Written,
    inherit_marks,
    refuse_losses,
    refuse_too_full,
)
from .claude_code_files import (
    INDEX,
    MARK,
    VERSION,
    File,
    linked_in,
    listed_name,
    memories_in,
    parsed,
    refuse_another_version,
    shorten,
    unknown,
    with_reasons,
)
from .text_file import decoded, lines_of, read_bytes, write_in_place

# "[since 2026-02-09] " before a text that is true since then.
_MARKS = re.compile(r"\[[^\]]*\d{4}-\d{2}-\d{2}\] ")
# Lines of the index that a session loads.
_MAX_LINES = 200
# Characters of a fact in the index, and words of it in a file name.
_MAX_HOOK = 100
_NAME_WORDS = 6
# How many lines above a line of the index an image contains, to find its place again.
_NEAR = 20


class ClaudeCode(Format):
    """A memory folder of Claude Code."""

    name = "claude-code"
    about = "Claude Code's memory folder (~/.claude/projects/.../memory)"
    holds = "a file with front matter; different types are never merged, and type user stays"
    is_dated = True

    def recognises(self, path: Path) -> bool:
        """Whether it is a folder with such a file."""
        try:
            return path.is_dir() and any(memories_in(path))
        except (OSError, Unreadable):
            return False

    def budget(self, path: Path) -> Budget | None:
        """Count the lines of the index that a session loads."""
        index = path / INDEX
        lines = lines_of(decoded(read_bytes(index), index)) if index.exists() else []
        return Budget(len(lines), _MAX_LINES, "lines")

    def remark(self, path: Path) -> str | None:
        """Return which files stay because others link to them, or because they are unknown."""
        try:
            linked = linked_in(path)
            names = [file.name for file in memories_in(path) if file.is_linked(linked)]
            strange = unknown(path)
        except (OSError, Unreadable):
            return None
        remarks = []
        if names:
            remarks.append(
                f"Memories that others link to are not removed: {shorten(names)}. "
                "Duplicates may be merged into them."
            )
        if strange:
            remarks.append(
                f"Files whose front matter Claude Code {VERSION} does not write are not changed: "
                f"{shorten(strange)}."
            )
        return "\n".join(remarks) or None

    def dead_links(self, path: Path) -> frozenset[str]:
        """Return the targets of links that are not the name of a file or memory."""
        try:
            names = {file.fields["name"] for file in memories_in(path)}
            return frozenset(linked_in(path) - names - {file.stem for file in path.glob("*.md")})
        except (OSError, Unreadable):
            return frozenset()

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenFile]:
        """Read a folder; its agent has no lock."""
        if not path.is_dir():
            raise Unreadable(
                f"{path} is not a folder.", "Specify the folder that contains MEMORY.md."
            )
        yield _OpenFolder(path)


class _OpenFolder(OpenFile):
    """A folder as it was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = {file.key: file for file in memories_in(path)}
        self._before = {file.name: file for file in self._files.values()}
        index = path / INDEX
        self._index = read_bytes(index) if index.exists() else None
        self._lines = lines_of(decoded(self._index or b"", index))
        refuse_another_version(path, list(self._files.values()), self._lines)
        linked = linked_in(path)
        self.records = [file.record(linked) for file in self._files.values()]
        listed = set(map(listed_name, self._lines))
        self._unlisted = [
            file for file in self._files.values() if MARK in file.fields and file.name not in listed
        ]
        # A run was killed between a new file and its line in the index.
        self.is_unfinished = bool(self._unlisted)
        # Contents by name, with the time of a file that is restored; None for the current time.
        self._new: dict[str, tuple[bytes, int | None]] = {}
        self._gone: list[File] = []
        # Whether slowwave had created the index, which is empty now.
        self._removes_index = False

    def prepare(self, change: Change) -> Written:
        """Compute the new files and the new index."""
        images = {memory: self._image(key) for key, memory in change.retire.items()}
        self._gone = [self._files[key] for key in change.retire]
        lines = list(self._lines)
        if (self._unlisted or change.put) and lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines += [_index_line(file) for file in self._unlisted]
        made: dict[str, File] = {}
        coming = sorted(change.put, key=lambda new: int((new.image or {"place": -1})["place"]))
        coming_back = ComingBack()
        for new in coming:
            with coming_back.collecting(new):
                made[new.memory] = self._insert(new, change, lines)
        coming_back.refuse()
        own = {
            successor.memory: self._inherit_marks(successor, images, made)
            for successor in change.taking_over
        }
        gone = {file.name for file in self._gone} - self._new.keys()
        used = len(self._lines)
        self._lines = [line for line in lines if listed_name(line) not in gone]
        self._removes_index = not self._lines and any(
            new.image is not None and new.image.get("has_index") is False for new in coming
        )
        budget = Budget(used, _MAX_LINES, "lines")
        refuse_too_full(self._path / INDEX, budget, len(self._lines), change)
        written = Written({memory: file.key for memory, file in made.items()}, images, own=own)
        now = {name: file.key for name, file in self._before.items() if name not in gone}
        now |= {name: parsed(name, text, 0).key for name, (text, _) in self._new.items()}
        refuse_losses(self.records, change, written, now.values())
        return written

    def commit(self) -> None:
        """Write new files, the index and changed files, then delete the removed ones."""
        expected = {name: file.content for name, file in self._before.items()}
        self._refuse_changes(expected)
        like = self._path / next(iter(self._before))
        try:
            # Files that only get reasons keep their time; those that get another fact are written
            # after the index.
            kept = [
                name for name, (_, modified) in self._new.items() if self._keeps(name, modified)
            ]
            added = [name for name in self._new if name not in self._before]
            rest = [name for name in self._new if name in self._before and name not in kept]
            for name in (*kept, *added):
                self._write(name, expected, like)
            self._refuse_changes(expected)
            self._write_index(like)
            for name in rest:
                self._write(name, expected, like)
            # The agent may have changed a file that replaces another: then none is deleted.
            self._refuse_changes(expected)
            for file in self._gone:
                if file.name not in self._new:
                    (self._path / file.name).unlink()
            sync_folder(self._path)
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be written: {error.strerror}.", "The next run continues."
            ) from error

    def _refuse_changes(self, expected: Mapping[str, bytes]) -> None:
        if {file.name: file.content for file in memories_in(self._path)} != expected:
            raise ChangedMeanwhile(self._path)

    def _keeps(self, name: str, modified_ns: int | None) -> bool:
        before = self._before.get(name)
        return before is not None and before not in self._gone and modified_ns is not None

    def _write(self, name: str, expected: dict[str, bytes], like: Path) -> None:
        content, modified_ns = self._new[name]
        write_in_place(self._path / name, content, expected.get(name), like)
        expected[name] = content
        if modified_ns is not None:
            os.utime(self._path / name, ns=(modified_ns, modified_ns))

    def _write_index(self, like: Path) -> None:
        index = "".join(self._lines).encode()
        if index == (self._index or b""):
            return
        path = self._path / INDEX
        write_in_place(path, index, self._index, like)
        if self._removes_index and read_bytes(path) == b"":
            path.unlink()

    def _inherit_marks(
        self, successor: Successor, images: Mapping[str, Image], made: Mapping[str, File]
    ) -> Image | None:
        """Let a file inherit the reasons of those that it replaces."""
        before = self._files.get(successor.key or "")
        file = made.get(successor.memory, before)
        if file is None:
            raise Unreadable(f'The memory that should inherit "Why" is no longer in {self._path}.')
        left = {
            memory: str((image or images[memory])["content"])
            for memory, image in successor.stands_for.items()
        }
        content, modified_ns = self._new.get(file.name, (file.content, file.modified_ns))
        text = content.decode()
        if before is not None and before is not file:
            # It gets another text; reasons that its agent added to the old one stay.
            if successor.own is None or before.content.decode() not in successor.own["as"]:
                text = with_reasons(text, [before.content.decode()])
            successor = replace(successor, own=None)
        spelled, own = inherit_marks(successor, text, left, with_reasons)
        if file is not before or spelled != text:
            self._new[file.name] = spelled.encode(), modified_ns
        return own

    def _image(self, key: str) -> Image:
        file = self._files[key]
        names = [listed_name(line) for line in self._lines]
        at = names.index(file.name) if file.name in names else None
        return {
            "name": file.name,
            "content": file.content.decode(),
            "modified_ns": file.modified_ns,
            "line": None if at is None else self._lines[at],
            "above": [] if at is None else self._lines[max(0, at - _NEAR) : at],
            "place": len(self._lines) if at is None else at,
            "has_index": self._index is not None,
        }

    def _insert(self, new: New, change: Change, lines: list[str]) -> File:
        """Add a file and its line of the index; reasons are added to it later."""
        if new.image is not None:
            return self._restore(new.image, lines)
        for key in new.replaces:
            if change.retire.get(key) == new.memory and MARK in self._files[key].fields:
                return self._grow(self._files[key], new, lines)
        return self._create(new, lines)

    def _restore(self, image: Image, lines: list[str]) -> File:
        """Restore a file, and its line after those that were above it."""
        name, content = str(image["name"]), str(image["content"]).encode()
        modified_ns = int(image["modified_ns"])
        if name in self._before and self._before[name] not in self._gone:
            raise Unreadable(f"{self._path / name} now contains another memory.")
        self._new[name] = content, modified_ns
        if image["line"] is not None:
            above = [at for at, line in enumerate(lines, start=1) if line in image["above"]]
            place = int(image["place"])
            at = max(above, default=0 if place <= _NEAR else place)
            lines.insert(at, str(image["line"]))
        return parsed(name, content, modified_ns)

    def _grow(self, before: File, new: New, lines: list[str]) -> File:
        """Replace the text of a file of slowwave, and its line."""
        text = before.content.decode()
        front = text[: text.index("\n---\n") + len("\n---\n")].replace(
            f"\ndescription: {_hook(before.fact)}\n", f"\ndescription: {_hook(new.text)}\n"
        )
        file = self._add(before.name, f"{front}\n{new.text.strip()}\n")
        lines[:] = [_index_line(file) if line == _index_line(before) else line for line in lines]
        return file

    def _create(self, new: New, lines: list[str]) -> File:
        sources = [self._files[key] for key in new.replaces if key in self._files]
        name = self._free_name(new.text)
        now = timestamp(datetime.now(UTC))
        modified = max((file.observed_at for file in sources), default=now)
        file = self._add(
            name,
            f"---\nname: {name.removesuffix('.md')}\ndescription: {_hook(new.text)}\nmetadata:\n"
            f"  node_type: memory\n  type: {new.tenant}\n  modified: {modified}\n  {MARK}: true\n"
            f"---\n\n{new.text.strip()}\n",
        )
        names = {source.name for source in sources}
        at = [number for number, line in enumerate(lines, start=1) if listed_name(line) in names]
        lines.insert(at[-1] if at else len(lines), _index_line(file))
        return file

    def _add(self, name: str, text: str) -> File:
        self._new[name] = text.encode(), None
        return parsed(name, text.encode(), 0)

    def _free_name(self, text: str) -> str:
        words = re.findall(r"[a-z0-9]+", _MARKS.sub("", text).lower())[:_NAME_WORDS] or ["memory"]
        taken = {path.name for path in self._path.iterdir()} | self._new.keys() | {INDEX}
        stem = "-".join(words)
        names = (f"{stem}{'' if n == 1 else f'-{n}'}.md" for n in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)


def _index_line(file: File) -> str:
    title = file.name.removesuffix(".md").replace("-", " ").capitalize()
    return f"- [{title}]({file.name}) — {_hook(file.fact)}\n"


def _hook(text: str) -> str:
    """Return a text on one line of limited length, without characters that YAML interprets."""
    line = _MARKS.sub("", " ".join(text.split()))
    short = line if len(line) <= _MAX_HOOK else f"{line[: _MAX_HOOK - 1]}…"
    return short.replace(": ", " - ").replace(" #", " ").strip("-'\"[]{}&*!|>%@` ")
