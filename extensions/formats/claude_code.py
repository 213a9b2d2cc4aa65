"""Claude Code's memory folder: a file per memory, and MEMORY.md as their index.

Claude Code 2.1.330. A memory is a .md file whose front matter has a name, a description and a type;
MEMORY.md has a line for each, which a session loads first. A text that replaces memories is written
into one's file: that which others link to, which is listed, or the newest. The file keeps its name,
and its front matter but for description and time. New files are written first, then the index, then
changed files; then files are deleted: an interruption loses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from slowwave.store.errors import StoreError, file_errors
from slowwave.store.places import Budget, Repeated, Untouched
from slowwave.store.records import timestamp
from slowwave.store.sidecar import sync_folder

from .base import (
    Change,
    ChangedMeanwhile,
    Format,
    Image,
    New,
    OpenFile,
    Unreadable,
    Written,
    put_each,
    refuse_losses,
    refuse_too_full,
)
from .claude_code_carried import (
    bodies,
    carry,
    inherited,
    restore_lines,
    revised,
    revised_lines,
    undone,
    without,
)
from .claude_code_files import (
    INDEX,
    MARK,
    File,
    free_name,
    linked_in,
    listed_name,
    memories_in,
    parsed,
    refuse_another_version,
)
from .claude_code_index import MARKS, budgets, ended, hook_of, index_line, shortened, to_shorten
from .text_file import decoded, lines_of, read_bytes, split_spelling, text_of, write_in_place

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
        with suppress(OSError, Unreadable):
            return path.is_dir() and any(memories_in(path))
        return False

    def files(self, path: Path) -> list[Path]:
        """Return the folder, its index and its memories."""
        with suppress(OSError, Unreadable):
            return [path, path / INDEX, *(path / file.name for file in memories_in(path))]
        return [path]

    def budget(self, path: Path, text: str | None = None) -> Budget | None:
        """Count the lines or the bytes of the index, of which a session loads a maximum."""
        text = text_of(path / INDEX) or "" if text is None else text
        lines, size = budgets(text, self.target)
        is_fuller = lines.used / lines.limit > size.used / size.limit
        return lines if is_fuller and self.target is None else size

    def untouched(self, path: Path) -> list[Untouched]:
        """Return which files stay because of their type, of links to them, or of their form."""
        from .claude_code_report import find_untouched

        with suppress(OSError, Unreadable):
            return find_untouched(path, self.target)
        return []

    def repeated(self, path: Path) -> list[Repeated]:
        """Return what several memories, or one and the project's instructions, say."""
        from .claude_code_report import find_repeated

        with suppress(OSError, Unreadable):
            return find_repeated(path)
        return []

    def dead_links(self, path: Path) -> frozenset[str]:
        """Return the targets of links that are not the name of a file or memory."""
        with suppress(OSError, Unreadable):
            names = {file.fields["name"] for file in memories_in(path)}
            return frozenset(linked_in(path) - names - {file.stem for file in path.glob("*.md")})
        return frozenset()

    @contextmanager
    def opened(self, path: Path, writes: bool) -> Iterator[OpenFile]:
        """Read a folder; its agent has no lock."""
        with file_errors("read", path, error_type=Unreadable):
            if not path.is_dir():
                raise Unreadable(
                    f"{path} is not a folder.", "Specify the folder that contains MEMORY.md."
                )
            folder = _OpenFolder(self, path)
        yield folder


class _OpenFolder(OpenFile):
    """A folder as it was read."""

    def __init__(self, format: ClaudeCode, path: Path) -> None:
        self._format, self._path = format, path
        self._files = {file.key: file for file in memories_in(path)}
        self._before = {file.name: file for file in self._files.values()}
        index = path / INDEX
        self._index = read_bytes(index) if index.exists() else None
        self._mark, self._end, text = split_spelling(decoded(self._index or b"", index))
        self._lines = lines_of(text)
        refuse_another_version(path, list(self._files.values()), self._lines)
        self._linked = linked_in(path)
        self.records = [file.record(self._linked) for file in self._files.values()]
        listed = set(map(listed_name, self._lines))
        self._unlisted = [
            file for file in self._files.values() if MARK in file.fields and file.name not in listed
        ]
        # A run was killed between a new file and its line in the index.
        self.is_unfinished = bool(self._unlisted)
        # Contents by name, with the time of a file that is restored; None for the current time.
        self._new: dict[str, tuple[bytes, int | None]] = {}
        # The modes of removed files that are restored, by name.
        self._modes: dict[str, int] = {}
        self._gone: list[File] = []
        self._renamed: dict[str, str] = {}
        # Whether slowwave had created the index, which is empty now.
        self._removes_index = False

    def prepare(self, change: Change) -> Written:
        marks = {"inherited": inherited(change)}
        images = {item.memory: self._image(item.key) | marks for item in change.removals}
        self._gone = [self._files[removal.key] for removal in change.removals]
        erased = {line for image in change.hidden.values() for line in image["carried"]}
        lines = without(self._lines, erased)
        unlisted_names = set(map(listed_name, self._lines)) - set(map(listed_name, lines))
        unlisted = [file for name, file in self._before.items() if name in unlisted_names]
        lines += map(index_line, [*self._unlisted, *unlisted])
        restored = [new.image for new in change.put if new.image is not None]
        coming = sorted(change.put, key=lambda new: new.image is not None)
        file_by_memory = put_each(coming, lambda new: self._insert(new, lines))
        restore_lines(lines, restored, undone(change))
        gone = {file.name for file in self._gone} - self._new.keys()
        for memory, carried in carry(change, self._files, file_by_memory, gone, lines).items():
            images[memory] |= {"carried": carried} if carried else {}
        for file in (file_by_memory[new.memory] for new in change.put if new.image is None):
            # As `to_shorten` would have them in the next run.
            if self._format.target is not None or file == self._before.get(file.name):
                lines[:] = shortened(lines, file)
        former = budgets("".join(self._lines))
        self._lines = ended(line for line in lines if listed_name(line) not in gone)
        self._removes_index = not self._lines and any(
            image.get("has_index") is False for image in restored
        )
        for before, after in zip(former, budgets("".join(self._lines)), strict=True):
            refuse_too_full(self._path / INDEX, before, after.used, change)
        keys = {memory: file.key for memory, file in file_by_memory.items()}
        written = Written(keys, images, self._renamed)
        now = {name: file.key for name, file in self._before.items() if name not in gone}
        now |= {name: parsed(name, text, 0).key for name, (text, _) in self._new.items()}
        refuse_losses(self.records, change, written, now.values())
        return written

    def budget(self) -> Budget | None:
        return self._format.budget(self._path, "".join(self._lines))

    def to_shorten(self) -> dict[str, str]:
        if self._format.target is None:
            return {}
        changed = self._new.keys() | {file.name for file in self._gone}
        files = {
            name: file
            for name, file in self._before.items()
            if name not in changed and not file.is_users and not file.has_unknown_keys
        }
        return {
            file.key: "".join(line for line in self._lines if listed_name(line) == file.name)
            for file in to_shorten(self._lines, files, self._format.target)
        }

    def commit(self) -> None:
        """Write new files, the index and changed files, then delete the removed ones."""
        expected = {name: file.content for name, file in self._before.items()}
        self._refuse_changes(expected)
        # The index, if the agent deleted all other files.
        like, self.has_written = self._path / next(iter(self._before), INDEX), True
        try:
            changed = [name for name in self._new if name in self._before]
            for name in self._new.keys() - self._before.keys():
                self._write(name, expected, like)
            self._refuse_changes(expected)
            self._write_index(like)
            for name in changed:
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

    def _write(self, name: str, expected: dict[str, bytes], like: Path) -> None:
        content, modified_ns = self._new[name]
        if content != expected.get(name):
            mode = self._modes.get(name)
            write_in_place(self._path / name, content, expected.get(name), like, mode)
        expected[name] = content
        if modified_ns is not None:
            os.utime(self._path / name, ns=(modified_ns, modified_ns))

    def _write_index(self, like: Path) -> None:
        index = (self._mark + "".join(self._lines).replace("\n", self._end)).encode()
        if index == (self._index or b""):
            return
        path = self._path / INDEX
        write_in_place(path, index, self._index, like)
        if self._removes_index and read_bytes(path) == b"":
            path.unlink()

    def _image(self, key: str) -> Image:
        file = self._files[key]
        names = enumerate(map(listed_name, self._lines))
        places = [place for place, name in names if name == file.name]
        position = places[0] if places else None
        return {
            "name": file.name,
            "content": file.content.decode(),
            "modified_ns": file.modified_ns,
            "mode": file.mode,
            "line": None if position is None else self._lines[position],
            "above": [] if position is None else self._lines[max(0, position - _NEAR) : position],
            "place": len(self._lines) if position is None else position,
            # A file may be listed more than once.
            "again": [(place, self._lines[place]) for place in places[1:]],
            "has_index": self._index is not None,
            "unended": self._lines[-1] if self._lines and self._lines[-1][-1:] != "\n" else None,
        }

    def _insert(self, new: New, lines: list[str]) -> File:
        """Write a text into a file, and its line of the index."""
        if new.image is not None:
            return self._restore(new.image, lines)
        replaced = [self._files[key] for key in new.replaces if key in self._files]
        free = [file for file in replaced if file.name not in self._new]
        if not free:
            return self._create(new, lines)
        listed = set(map(listed_name, lines))
        # Links to a file keep their target.
        target = max(
            free,
            key=lambda file: (file.is_linked(self._linked), file.name in listed, file.observed_at),
        )
        return self._rewrite(target, new, replaced, lines)

    def _restore(self, image: Image, lines: list[str]) -> File:
        """Restore a file, but not its lines."""
        name, content = str(image["name"]), str(image["content"]).encode()
        modified_ns = int(image["modified_ns"])
        if name in self._before and self._before[name] not in self._gone:
            self._move(self._before[name], lines)
        self._new[name] = content, modified_ns
        if image.get("mode") is not None:
            self._modes[name] = int(image["mode"])
        return parsed(name, content, modified_ns)

    def _move(self, file: File, lines: list[str]) -> None:
        """Make room for the memory whose file got another text. Raises `Unreadable`."""
        if MARK not in file.fields:
            raise Unreadable(f"{self._path / file.name} now contains another memory.")
        name = self._free_name(file.body)
        moved = self._add(name, file.content.decode(), file.modified_ns)
        self._modes[name] = file.mode
        self._gone.append(file)
        self._renamed[file.key] = moved.key
        for place, line in enumerate(lines):
            if listed_name(line) == file.name:
                lines[place] = line.replace(f"({file.name})", f"({name})", 1)

    def _rewrite(self, file: File, new: New, replaced: Sequence[File], lines: list[str]) -> File:
        """Replace the text of a file, and its line; its time stays if only that tells the day."""
        if replaced == [file] and new.text.strip() == file.body:
            # Only its line is shortened.
            return self._add(file.name, file.content.decode(), file.modified_ns)
        old, newest = bodies(replaced), max(source.observed_at for source in replaced)
        description = revised(file.description, old, new.text)
        modified_ns = None if "modified" in file.fields else file.modified_ns
        written = self._add(file.name, file.with_text(new.text, description, newest), modified_ns)
        names = [listed_name(line) for line in lines]
        if file.name in names:
            lines[:] = revised_lines(lines, file.name, old, new.text)
        else:
            places = [names.index(gone.name) for gone in replaced if gone.name in names]
            lines.insert(max(places, default=len(lines) - 1) + 1, index_line(written))
        return written

    def _create(self, new: New, lines: list[str]) -> File:
        """Add a file, and its line at the end of the index."""
        name = self._free_name(new.text)
        file = self._add(
            name,
            f"---\nname: {name.removesuffix('.md')}\ndescription: {hook_of(new.text)}\nmetadata:\n"
            f"  node_type: memory\n  type: {new.tenant}\n"
            f"  modified: {timestamp(datetime.now(UTC))}\n  {MARK}: true\n"
            f"---\n\n{new.text.strip()}\n",
            None,
        )
        lines.append(index_line(file))
        return file

    def _add(self, name: str, text: str, modified_ns: int | None) -> File:
        self._new[name] = text.encode(), modified_ns
        return parsed(name, text.encode(), modified_ns or 0)

    def _free_name(self, text: str) -> str:
        taken = {path.name for path in self._path.iterdir()} | self._new.keys() | {INDEX}
        return free_name(MARKS.sub("", text), taken)
