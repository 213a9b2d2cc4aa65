"""Claude Code's memory folder: a file a memory, and MEMORY.md as the index of them.

Claude Code 2.1.330. A memory is a .md file whose front matter has a name, a description and a type;
MEMORY.md has a line for each, which is what a session sees first. Below the fact may stand why it
is so and how to apply it: that goes to the memory which stands for it. A new file is written, then
the index, then what is retired is deleted: wherever that is cut off, nothing is lost. A file of
slowwave's own whose text grows keeps its name.
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
    Format,
    Image,
    New,
    OpenFile,
    Successor,
    Unreadable,
    Written,
    refuse_too_full,
)
from .claude_code_files import (
    INDEX,
    LISTED,
    MARK,
    VERSION,
    File,
    is_linked,
    linked_in,
    memories_in,
    parsed,
    record,
    refuse_another_version,
    some_of,
    text_of_bytes,
    unknown,
    with_reasons,
)
from .coming_back import ComingBack
from .inherited_marks import inherit_marks
from .text_file import lines_of, read_bytes, write_in_place

# "[since 2026-02-09] " in front of what was so since then.
_MARKS = re.compile(r"\[[^\]]*\d{4}-\d{2}-\d{2}\] ")
# Of an index, what a session loads.
_MOST_LINES = 200
_MOST_IN_A_HOOK = 100
_WORDS_OF_A_NAME = 6
# How many lines above a line of the index are kept, to find its place again.
_NEAR = 20


class ClaudeCode(Format):
    """A memory folder of Claude Code."""

    name = "claude-code"
    about = "Claude Code's memory folder (~/.claude/projects/.../memory)"
    holds = "a file with a front matter; nothing is joined across types, what is of type user stays"
    is_dated = True

    def recognises(self, path: Path) -> bool:
        """Whether it is a folder with such a file in it."""
        try:
            return path.is_dir() and any(memories_in(path))
        except (OSError, Unreadable):
            return False

    def budget(self, path: Path) -> Budget | None:
        """Count the lines of the index: a session loads no more of it."""
        index = path / INDEX
        lines = lines_of(text_of_bytes(read_bytes(index), index)) if index.exists() else []
        return Budget(len(lines), _MOST_LINES, "lines")

    def remark(self, path: Path) -> str | None:
        """Say which files stay because others link to them, or are not as its agent writes them."""
        try:
            linked = linked_in(path)
            names = [one.name for one in memories_in(path) if is_linked(one, linked)]
            others = unknown(path)
        except (OSError, Unreadable):
            return None
        remarks = []
        if names:
            remarks.append(
                f"Memories that others link to stay as they are: {some_of(names)}. "
                "What says the same may become part of them."
            )
        if others:
            remarks.append(
                f"Files with a front matter that Claude Code {VERSION} does not write stay as "
                f"they are: {some_of(others)}."
            )
        return "\n".join(remarks) or None

    def dead_links(self, path: Path) -> frozenset[str]:
        """Return the targets of links that are no file of the folder and no memory's name."""
        try:
            names = {one.fields["name"] for one in memories_in(path)}
            return frozenset(linked_in(path) - names - {one.stem for one in path.glob("*.md")})
        except (OSError, Unreadable):
            return frozenset()

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenFile]:
        """Read a folder; its agent has no lock."""
        if not path.is_dir():
            raise Unreadable(
                f"{path} is not a folder.", "Name the folder that has MEMORY.md in it."
            )
        yield _OpenFolder(path)


class _OpenFolder(OpenFile):
    """A folder as it was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = {one.key: one for one in memories_in(path)}
        index = path / INDEX
        self._index = read_bytes(index) if index.exists() else None
        self._lines = lines_of(text_of_bytes(self._index or b"", index))
        refuse_another_version(path, list(self._files.values()), self._lines)
        linked = linked_in(path)
        self.records = [record(one, linked) for one in self._files.values()]
        listed = {one[1] for line in self._lines if (one := LISTED.match(line))}
        self._unlisted = [
            one for one in self._files.values() if MARK in one.fields and one.name not in listed
        ]
        # A run that was killed between a new file and its line in the index.
        self.is_unfinished = bool(self._unlisted)
        self._new: dict[str, tuple[bytes, int | None]] = {}
        # Whether there was no index before slowwave made one, and nothing is left in it.
        self._index_goes = False
        self._gone: list[File] = []
        # What takes reasons over or gives some back, and the text that it is to have.
        self._changed: list[tuple[File, bytes]] = []

    def prepare(self, change: Change) -> Written:
        """Work out the new files and the new index."""
        images = {memory: self._image(key) for key, memory in change.retire.items()}
        self._gone = [self._files[key] for key in change.retire]
        lines = list(self._lines)
        used = len(lines)
        if (self._unlisted or change.put) and lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines += [_index_line(one) for one in self._unlisted]
        keys: dict[str, str] = {}
        names: dict[str, str] = {}
        coming = sorted(change.put, key=lambda one: _order(one.image))
        coming_back = ComingBack()
        for new in coming:
            with coming_back.collecting(new):
                grows = self._growing(new, change)
                if new.image is not None:
                    made = self._back(new, lines)
                else:
                    made = self._grown(grows, new, lines) if grows else self._made(new, lines)
                keys[new.memory] = made.key
                names[new.memory] = made.name
        coming_back.refuse()
        own = {one.memory: self._inherit_marks(one, images, names) for one in change.taking_over}
        gone = {one.name for one in self._gone} - self._new.keys()
        self._lines = [
            line for line in lines if not ((one := LISTED.match(line)) and one[1] in gone)
        ]
        self._index_goes = not self._lines and any(
            new.image is not None and new.image.get("has_index") is False for new in coming
        )
        budget = Budget(used, _MOST_LINES, "lines")
        refuse_too_full(self._path / INDEX, budget, len(self._lines), change)
        return Written(keys, images, own=own)

    def commit(self) -> None:
        """Write what takes reasons over, new files and the index, then delete what is retired."""
        now = {one.name: one.content for one in memories_in(self._path)}
        if now != {one.name: one.content for one in self._files.values()}:
            raise ChangedMeanwhile(self._path)
        like = self._path / next(iter(self._files.values())).name
        try:
            for one, content in self._changed:
                write_in_place(self._path / one.name, content, one.content, like)
                os.utime(self._path / one.name, ns=(one.modified_ns, one.modified_ns))
            before = {one.name: one.content for one in self._files.values()}
            for name in (one for one in self._new if one not in before):
                self._write_new(name, None, like)
            self._write_index(like)
            for name in (one for one in self._new if one in before):
                self._write_new(name, before[name], like)
            for one in self._gone:
                if one.name not in self._new:
                    (self._path / one.name).unlink()
            sync_folder(self._path)
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be written: {error.strerror}.", "The next run goes on."
            ) from error

    def _write_new(self, name: str, expected: bytes | None, like: Path) -> None:
        content, modified_ns = self._new[name]
        write_in_place(self._path / name, content, expected, like)
        if modified_ns is not None:
            os.utime(self._path / name, ns=(modified_ns, modified_ns))

    def _write_index(self, like: Path) -> None:
        index = "".join(self._lines).encode()
        if index == (self._index or b""):
            return
        path = self._path / INDEX
        write_in_place(path, index, self._index, like)
        if self._index_goes and read_bytes(path) == b"":
            path.unlink()

    def _inherit_marks(
        self, successor: Successor, images: Mapping[str, Image], names: Mapping[str, str]
    ) -> Image | None:
        """Let a file inherit the reasons of those that it replaces."""
        before = self._files.get(successor.key or "")
        name = names.get(successor.memory)
        left = {
            one: str((kept or images[one])["content"]) for one, kept in successor.stands_for.items()
        }
        if name is None:
            if before is None:
                raise Unreadable(f"What should take reasons over is not in {self._path} any more.")
            text = before.content.decode()
            spelled, own = inherit_marks(successor, text, left, with_reasons)
            if spelled != text:
                self._changed.append((before, spelled.encode()))
            return own
        content, modified_ns = self._new[name]
        text = content.decode()
        if before is not None:
            # Another text in its place; what its agent wrote below the old one stays.
            if successor.own is None or before.content.decode() not in successor.own["as"]:
                text = with_reasons(text, [before.content.decode()])
            successor = replace(successor, own=None)
        spelled, own = inherit_marks(successor, text, left, with_reasons)
        self._new[name] = spelled.encode(), modified_ns
        return own

    def _image(self, key: str) -> Image:
        one = self._files[key]
        at = next(
            (at for at, line in enumerate(self._lines) if _names(line, one.name)),
            None,
        )
        return {
            "name": one.name,
            "content": one.content.decode(),
            "modified_ns": one.modified_ns,
            "line": None if at is None else self._lines[at],
            "above": [] if at is None else self._lines[max(0, at - _NEAR) : at],
            "place": len(self._lines) if at is None else at,
            "has_index": self._index is not None,
        }

    def _back(self, new: New, lines: list[str]) -> File:
        """Let a file come back, and its line behind those that it stood below."""
        image = new.image or {}
        name, content = str(image["name"]), str(image["content"]).encode()
        if any(one.name == name and one not in self._gone for one in self._files.values()):
            raise Unreadable(f"{self._path / name} now holds another memory.")
        self._new[name] = content, int(image["modified_ns"])
        if image["line"] is not None:
            above = [at for at, line in enumerate(lines, start=1) if line in image["above"]]
            place = int(image["place"])
            at = max(above, default=0 if place <= _NEAR else place)
            lines.insert(at, str(image["line"]))
        return parsed(name, content, int(image["modified_ns"]))

    def _growing(self, new: New, change: Change) -> File | None:
        """Return the file of slowwave's own that is to say something else; None if it is none."""
        for key in new.replaces:
            if change.retire.get(key) == new.memory and MARK in self._files[key].fields:
                return self._files[key]
        return None

    def _grown(self, before: File, new: New, lines: list[str]) -> File:
        """Let a file say something else, and its line; reasons are added to it later."""
        text = before.content.decode()
        front = text[: text.index("\n---\n") + len("\n---\n")].replace(
            f"\ndescription: {_hook(before.fact)}\n", f"\ndescription: {_hook(new.text)}\n"
        )
        content = f"{front}\n{new.text.strip()}\n".encode()
        self._new[before.name] = content, None
        made = parsed(before.name, content, 0)
        lines[:] = [_index_line(made) if line == _index_line(before) else line for line in lines]
        return made

    def _made(self, new: New, lines: list[str]) -> File:
        sources = [self._files[key] for key in new.replaces if key in self._files]
        name = self._free_name(new.text)
        modified = max((one.observed_at for one in sources), default=timestamp(datetime.now(UTC)))
        content = (
            f"---\nname: {name.removesuffix('.md')}\ndescription: {_hook(new.text)}\nmetadata:\n"
            f"  node_type: memory\n  type: {new.tenant}\n  modified: {modified}\n  {MARK}: true\n"
            f"---\n\n{new.text.strip()}\n"
        ).encode()
        self._new[name] = content, None
        made = parsed(name, content, 0)
        at = [n for n, line in enumerate(lines) if any(_names(line, one.name) for one in sources)]
        lines.insert(at[-1] + 1 if at else len(lines), _index_line(made))
        return made

    def _free_name(self, text: str) -> str:
        words = re.findall(r"[a-z0-9]+", _MARKS.sub("", text).lower())[:_WORDS_OF_A_NAME] or [
            "memory"
        ]
        stem = "-".join(words)
        taken = {one.name for one in self._path.iterdir()} | self._new.keys()
        names = (f"{stem}{'' if n == 1 else f'-{n}'}.md" for n in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken and name != INDEX)


def _order(image: Image | None) -> int:
    return -1 if image is None else int(image["place"])


def _names(line: str, name: str) -> bool:
    found = LISTED.match(line)
    return found is not None and found[1] == name


def _index_line(one: File) -> str:
    title = one.name.removesuffix(".md").replace("-", " ").capitalize()
    return f"- [{title}]({one.name}) — {_hook(one.fact)}\n"


def _hook(text: str) -> str:
    """Return a text on one line, as long as a line of the index may be, without YAML's signs."""
    line = _MARKS.sub("", " ".join(text.split()))
    short = line if len(line) <= _MOST_IN_A_HOOK else f"{line[: _MOST_IN_A_HOOK - 1]}…"
    return short.replace(": ", " - ").replace(" #", " ").strip("-'\"[]{}&*!|>%@` ")
