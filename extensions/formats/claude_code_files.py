"""The files of a memory folder of Claude Code: their front matter, and what it says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from slowwave.store.records import in_utc, timestamp

from .base import Record, Unreadable
from .text_file import lines_of, read_bytes

# The version whose files these are.
VERSION = "2.1.330"
INDEX = "MEMORY.md"
LISTED = re.compile(r"[-*] \[[^\]]*\]\(([^)]+\.md)\)")
_TYPES = frozenset({"user", "feedback", "project", "reference"})
_FRONT = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
_FIELD = re.compile(r"[ \t]*([A-Za-z_]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# Lines below the fact that say why it is so, and how to apply it.
_REASONS = re.compile(r"(?:\n+\*\*(?:Why|How to apply):\*\*[^\n]*)+\Z")
_LINK = re.compile(r"\[\[([^\]]+)\]\]")
# The name of a file, with or without a path before it.
_PATH = re.compile(r"[^\s/()\[\]<>`'\"]+\.md\b")
# The key in the front matter of a file that slowwave wrote.
MARK = "slowwave"
# Keys that may leave with a file; one with any other key stays.
_FIELDS = frozenset(
    ("name", "description", "metadata", "node_type", "type", "originSessionId", "modified", MARK)
)
# How many files a remark names.
_NAMED = 5


@dataclass(frozen=True)
class File:
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


def linked_in(folder: Path) -> set[str]:
    """Return the names of files, without ".md", and of memories that others mention or link to.

    A line of the index leads to each memory, and is no such link.
    """
    linked: set[str] = set()
    for path in sorted(folder.glob("*.md")):
        if path.is_symlink() or not path.is_file():
            continue
        text = text_of_bytes(read_bytes(path), path)
        if path.name == INDEX:
            text = "".join(line for line in lines_of(text) if not LISTED.match(line))
        names = {*_LINK.findall(text), *(one.removesuffix(".md") for one in _PATH.findall(text))}
        linked |= names - {path.stem, (_fields(text) or {}).get("name")}
    return linked


def is_linked(one: File, linked: set[str]) -> bool:
    """Whether a memory is among those that `linked_in` found."""
    return not linked.isdisjoint({one.fields["name"], one.name.removesuffix(".md")})


def record(one: File, linked: set[str]) -> Record:
    """Return a file as a memory; one of `linked` stays where it is."""
    # A link must keep its target, and what other lines or keys mean is unknown.
    stays = "\n" in one.fact or is_linked(one, linked) or one.fields.keys() - _FIELDS
    return Record(
        one.key,
        one.fields["type"],
        one.fact,
        one.observed_at,
        one.fields.get("originSessionId"),
        "human" if one.fields["type"] == "user" else "agent",
        pinned=bool(stays),
    )


def memories_in(folder: Path) -> Iterator[File]:
    """Yield the files that are memories, in the order of their names."""
    for path in _paths(folder):
        content = read_bytes(path)
        if content.startswith(b"---\n") and _fields(text_of_bytes(content, path)) is not None:
            yield parsed(path.name, content, path.stat().st_mtime_ns)


def _fields(text: str) -> dict[str, str] | None:
    """Return the fields of a front matter, at any depth; None if it is not of a memory."""
    front = _FRONT.fullmatch(text)
    fields = dict(_FIELD.findall(front[1])) if front else {}
    is_memory = bool(fields.get("name")) and fields.get("type") in _TYPES
    return fields if is_memory and front and front[2].strip() else None


def parsed(name: str, content: bytes, modified_ns: int) -> File:
    """Return a file that is a memory. Raises `Unreadable` if it is none."""
    text = content.decode()
    front = _FRONT.fullmatch(text)
    fields = _fields(text)
    if front is None or fields is None:
        raise Unreadable(f"{name} is not a memory.")
    return File(name, content, modified_ns, fields, front[2].strip())


def with_reasons(content: str, others: Sequence[str]) -> str:
    """Return a file's text with the reasons of others below its own."""
    here = parsed("", content.encode(), 0)
    lines = [line for one in others for line in parsed("", one.encode(), 0).reasons]
    more = [one for one in dict.fromkeys(lines) if one not in here.reasons]
    if not more:
        return content
    text = content.rstrip()
    below = "\n" if here.reasons else "\n\n"
    return text + below + "\n".join(more) + content[len(text) :]


def text_of_bytes(content: bytes, path: Path) -> str:
    """Return the text of a file's bytes. Raises `Unreadable`."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is not UTF-8 throughout.") from None


def refuse_another_version(folder: Path, files: Sequence[File], lines: Sequence[str]) -> None:
    """Refuse a folder of which no file, or no line of the index, is as known. Raises `Unreadable`.

    files, lines: its memories, and the lines of its index.
    """
    hint = "Nothing was changed. Another version may have made it, or somebody by hand."
    if not files and (others := unknown(folder)):
        raise Unreadable(
            f"No file of {folder} is a memory as Claude Code {VERSION} writes it: "
            f"{some_of(others)}.",
            hint,
        )
    said = [line for line in lines if line.strip() and not line.startswith("#")]
    if files and said and not any(LISTED.match(line) for line in said):
        raise Unreadable(
            f"{folder / INDEX} lists no memory as Claude Code {VERSION} does: "
            "- [title](file.md) — what it says.",
            hint,
        )


def unknown(folder: Path) -> list[str]:
    """Return the names of files with a front matter that is not, or not only, a memory's."""
    found = []
    for path in _paths(folder):
        content = read_bytes(path)
        if not content.startswith((b"---\n", b"---\r\n")):
            continue
        known = _fields(text_of_bytes(content, path))
        if known is None or known.keys() - _FIELDS:
            found.append(path.name)
    return found


def some_of(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _paths(folder: Path) -> Iterator[Path]:
    """Yield the files that may be memories, in the order of their names."""
    for path in sorted(folder.glob("*.md")):
        if path.name != INDEX and not path.is_symlink() and path.is_file():
            yield path
