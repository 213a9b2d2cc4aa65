"""Claude Code's memory folder: a file a memory, and MEMORY.md as the index of them.

Claude Code 2.1.330. A memory is a .md file whose front matter has a name, a description and a type;
MEMORY.md has a line for each, which is what a session sees first. Below the fact may stand why it
is so and how to apply it: that goes to the memory which stands for it. A new file is written, then
the index, then what is retired is deleted: wherever that is cut off, nothing is lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from slowwave.store.errors import StoreError
from slowwave.store.records import in_utc, timestamp
from slowwave.store.sidecar import sync_folder

from .base import (
    Budget,
    Change,
    ChangedMeanwhile,
    Format,
    Image,
    New,
    OpenFile,
    Record,
    Successor,
    Unreadable,
    Written,
)
from .inherited_marks import inherit_marks
from .text_file import lines_of, read_bytes, write_in_place

INDEX = "MEMORY.md"
_TYPES = frozenset({"user", "feedback", "project", "reference"})
_FRONT = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
_FIELD = re.compile(r"[ \t]*([A-Za-z_]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# Lines below the fact that say why it is so, and how to apply it.
_REASONS = re.compile(r"(?:\n+\*\*(?:Why|How to apply):\*\*[^\n]*)+\Z")
_LINK = re.compile(r"\[\[([^\]]+)\]\]")
# The name of a file, with or without a path before it.
_PATH = re.compile(r"[^\s/()\[\]<>`'\"]+\.md\b")
_LISTED = re.compile(r"[-*] \[[^\]]*\]\(([^)]+\.md)\)")
# The key in the front matter of a file that slowwave wrote.
_MARK = "slowwave"
# Keys that may leave with a file; one with any other key stays.
_FIELDS = frozenset(
    ("name", "description", "metadata", "node_type", "type", "originSessionId", "modified", _MARK)
)
# "[since 2026-02-09] " in front of what was so since then.
_MARKS = re.compile(r"\[[^\]]*\d{4}-\d{2}-\d{2}\] ")
# Of an index, what a session loads.
_MOST_LINES = 200
_MOST_IN_A_HOOK = 100
# How many files a remark names.
_NAMED = 5
_WORDS_OF_A_NAME = 6
# How many lines above a line of the index are kept, to find its place again.
_NEAR = 20


@dataclass(frozen=True)
class _File:
    """A file of the folder that is a memory."""

    name: str
    content: bytes
    modified_ns: int
    fields: Mapping[str, str]
    body: str

    @property
    def fact(self) -> str:
        """What it says, without reasons."""
        return _REASONS.sub("", self.body)

    @property
    def reasons(self) -> list[str]:
        """Why it is so and how to apply it, line by line."""
        return [one for one in self.body[len(self.fact) :].split("\n") if one]

    @property
    def key(self) -> str:
        """Name it as it stands: another fact makes another of it."""
        said = f"{self.fields['type']}\0{self.fact}"
        return f"{self.name} {sha256(said.encode()).hexdigest()[:16]}"

    @property
    def observed_at(self) -> str:
        """When its agent wrote it last."""
        try:
            return in_utc(self.fields["modified"].strip("'\""))
        except (KeyError, ValueError):
            return timestamp(datetime.fromtimestamp(self.modified_ns / 1e9, UTC))


class ClaudeCode(Format):
    """A memory folder of Claude Code."""

    name = "claude-code"
    about = "Claude Code's memory folder (~/.claude/projects/.../memory)"
    holds = "a file with a front matter; nothing is joined across types, what is of type user stays"
    is_dated = True

    def recognises(self, path: Path) -> bool:
        """Whether it is a folder with such a file in it."""
        try:
            return path.is_dir() and any(_files(path))
        except (OSError, Unreadable):
            return False

    def budget(self, path: Path) -> Budget | None:
        """Count the lines of the index: a session loads no more of it."""
        index = path / INDEX
        lines = lines_of(_text(read_bytes(index), index)) if index.exists() else []
        return Budget(len(lines), _MOST_LINES, "lines")

    def remark(self, path: Path) -> str | None:
        """Say which memories stay because others link to them."""
        try:
            linked = _linked(path)
            names = [one.name for one in _files(path) if _is_linked(one, linked)]
        except (OSError, Unreadable):
            return None
        if not names:
            return None
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return (
            f"Memories that others link to stay as they are: {', '.join(names[:_NAMED])}{more}. "
            "What says the same may become part of them."
        )

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
        self._files = {one.key: one for one in _files(path)}
        index = path / INDEX
        self._index = read_bytes(index) if index.exists() else None
        self._lines = lines_of(_text(self._index or b"", index))
        linked = _linked(path)
        self.records = [_record(one, linked) for one in self._files.values()]
        listed = {one[1] for line in self._lines if (one := _LISTED.match(line))}
        self._unlisted = [
            one for one in self._files.values() if _MARK in one.fields and one.name not in listed
        ]
        # A run that was killed between a new file and its line in the index.
        self.is_unfinished = bool(self._unlisted)
        self._new: dict[str, tuple[bytes, int | None]] = {}
        self._gone: list[_File] = []
        # What takes reasons over or gives some back, and the text that it is to have.
        self._changed: list[tuple[_File, bytes]] = []

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
        for new in coming:
            made = self._back(new, lines) if new.image is not None else self._made(new, lines)
            keys[new.memory] = made.key
            names[new.memory] = made.name
        own = {one.memory: self._inherit_marks(one, images, names) for one in change.taking_over}
        gone = {one.name for one in self._gone} - self._new.keys()
        self._lines = [
            line for line in lines if not ((one := _LISTED.match(line)) and one[1] in gone)
        ]
        Budget(used, _MOST_LINES, "lines").refuse(self._path / INDEX, len(self._lines), change)
        return Written(keys, images, own=own)

    def commit(self) -> None:
        """Write what takes reasons over, new files and the index, then delete what is retired."""
        now = {one.name: one.content for one in _files(self._path)}
        if now != {one.name: one.content for one in self._files.values()}:
            raise ChangedMeanwhile(self._path)
        like = self._path / next(iter(self._files.values())).name
        try:
            for one, content in self._changed:
                write_in_place(self._path / one.name, content, one.content, like)
                os.utime(self._path / one.name, ns=(one.modified_ns, one.modified_ns))
            for name, (content, modified_ns) in self._new.items():
                write_in_place(self._path / name, content, None, like)
                if modified_ns is not None:
                    os.utime(self._path / name, ns=(modified_ns, modified_ns))
            index = "".join(self._lines).encode()
            if index != (self._index or b""):
                write_in_place(self._path / INDEX, index, self._index, like)
            for one in self._gone:
                if one.name not in self._new:
                    (self._path / one.name).unlink()
            sync_folder(self._path)
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be written: {error.strerror}.", "The next run goes on."
            ) from error

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
            spelled, own = inherit_marks(successor, text, left, _with_reasons)
            if spelled != text:
                self._changed.append((before, spelled.encode()))
            return own
        content, modified_ns = self._new[name]
        text = content.decode()
        if before is not None:
            # Another text in its place; what its agent wrote below the old one stays.
            if successor.own is None or before.content.decode() not in successor.own["as"]:
                text = _with_reasons(text, [before.content.decode()])
            successor = replace(successor, own=None)
        spelled, own = inherit_marks(successor, text, left, _with_reasons)
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
        }

    def _back(self, new: New, lines: list[str]) -> _File:
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
        return _parsed(name, content, int(image["modified_ns"]))

    def _made(self, new: New, lines: list[str]) -> _File:
        sources = [self._files[key] for key in new.replaces if key in self._files]
        name = self._free_name(new.text)
        modified = max((one.observed_at for one in sources), default=timestamp(datetime.now(UTC)))
        content = (
            f"---\nname: {name.removesuffix('.md')}\ndescription: {_hook(new.text)}\nmetadata:\n"
            f"  node_type: memory\n  type: {new.tenant}\n  modified: {modified}\n  {_MARK}: true\n"
            f"---\n\n{new.text.strip()}\n"
        ).encode()
        self._new[name] = content, None
        made = _parsed(name, content, 0)
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
    found = _LISTED.match(line)
    return found is not None and found[1] == name


def _index_line(one: _File) -> str:
    title = one.name.removesuffix(".md").replace("-", " ").capitalize()
    return f"- [{title}]({one.name}) — {_hook(one.fact)}\n"


def _hook(text: str) -> str:
    """Return a text on one line, as long as a line of the index may be, without YAML's signs."""
    line = _MARKS.sub("", " ".join(text.split()))
    short = line if len(line) <= _MOST_IN_A_HOOK else f"{line[: _MOST_IN_A_HOOK - 1]}…"
    return short.replace(": ", " - ").replace(" #", " ").strip("-'\"[]{}&*!|>%@` ")


def _linked(folder: Path) -> set[str]:
    """Return the names of files, without ".md", and of memories that others mention or link to.

    A line of the index leads to each memory, and is no such link.
    """
    linked: set[str] = set()
    for path in sorted(folder.glob("*.md")):
        if path.is_symlink() or not path.is_file():
            continue
        text = _text(read_bytes(path), path)
        if path.name == INDEX:
            text = "".join(line for line in lines_of(text) if not _LISTED.match(line))
        names = {*_LINK.findall(text), *(one.removesuffix(".md") for one in _PATH.findall(text))}
        linked |= names - {path.stem, (_fields(text) or {}).get("name")}
    return linked


def _is_linked(one: _File, linked: set[str]) -> bool:
    return not linked.isdisjoint({one.fields["name"], one.name.removesuffix(".md")})


def _record(one: _File, linked: set[str]) -> Record:
    # A link must keep its target, and what other lines or keys mean is unknown.
    stays = "\n" in one.fact or _is_linked(one, linked) or one.fields.keys() - _FIELDS
    return Record(
        one.key,
        one.fields["type"],
        one.fact,
        one.observed_at,
        one.fields.get("originSessionId"),
        "human" if one.fields["type"] == "user" else "agent",
        pinned=bool(stays),
    )


def _files(folder: Path) -> Iterator[_File]:
    """Yield the files that are memories, in the order of their names."""
    for path in sorted(folder.glob("*.md")):
        if path.name == INDEX or path.is_symlink() or not path.is_file():
            continue
        content = read_bytes(path)
        if content.startswith(b"---\n") and _fields(_text(content, path)) is not None:
            yield _parsed(path.name, content, path.stat().st_mtime_ns)


def _fields(text: str) -> dict[str, str] | None:
    """Return the fields of a front matter, at any depth; None if it is not of a memory."""
    front = _FRONT.fullmatch(text)
    fields = dict(_FIELD.findall(front[1])) if front else {}
    is_memory = bool(fields.get("name")) and fields.get("type") in _TYPES
    return fields if is_memory and front and front[2].strip() else None


def _parsed(name: str, content: bytes, modified_ns: int) -> _File:
    text = content.decode()
    front = _FRONT.fullmatch(text)
    fields = _fields(text)
    if front is None or fields is None:
        raise Unreadable(f"{name} is not a memory.")
    return _File(name, content, modified_ns, fields, front[2].strip())


def _with_reasons(content: str, others: Sequence[str]) -> str:
    """Return a file's text with the reasons of others below its own."""
    here = _parsed("", content.encode(), 0)
    lines = [line for one in others for line in _parsed("", one.encode(), 0).reasons]
    more = [one for one in dict.fromkeys(lines) if one not in here.reasons]
    if not more:
        return content
    text = content.rstrip()
    below = "\n" if here.reasons else "\n\n"
    return text + below + "\n".join(more) + content[len(text) :]


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is not UTF-8 throughout.") from None
