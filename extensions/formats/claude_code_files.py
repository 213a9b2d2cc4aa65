"""The files of a memory folder of Claude Code, and their front matter."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from slowwave.consolidation.text.tokens import split_sentences
from slowwave.store.records import in_utc, timestamp
from slowwave.store.sidecar import file_mode

from .base import Record, Unreadable, first_few
from .text_file import decoded, lines_of, read_bytes, split_spelling

# The version that slowwave was tried with.
VERSION = "2.1.330"
INDEX = "MEMORY.md"
_TYPES = frozenset({"user", "feedback", "project", "reference"})
LISTED = re.compile(r"[-*] \[[^\]]*\]\(([^)]+\.md)\)")
_FRONT = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
_FIELD = re.compile(r"[ \t]*([A-Za-z_]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# A field with its further lines, which YAML indents.
_DESCRIPTION = re.compile(r"^description:.*(?:\n[ \t]+.*)*$", re.MULTILINE)
_MODIFIED = re.compile(r"^([ \t]*modified:[ \t]*).*$", re.MULTILINE)
_LINK = re.compile(r"\[\[([^\]]+)\]\]")
_CLAUSE_END = re.compile(r"(?<=;)\s+")
# The name of a file, with or without a path before it.
_PATH = re.compile(r"[^\s/()\[\]<>`'\"]+\.md\b")
# The key in the front matter of files that slowwave wrote.
MARK = "slowwave"
# A file with any other key stays.
_FIELDS = frozenset(
    ("name", "description", "metadata", "node_type", "type", "originSessionId", "modified", MARK)
)
# Words of a fact in a file name.
_NAME_WORDS = 6


@dataclass(frozen=True)
class File:
    """A file of the folder that is a memory."""

    name: str
    content: bytes
    modified_ns: int
    fields: Mapping[str, str]
    body: str
    mode: int = 0o600

    @property
    def key(self) -> str:
        """Its name, and a hash of its type and text."""
        text = f"{self.fields['type']}\0{self.body}"
        return f"{self.name} {sha256(text.encode()).hexdigest()[:16]}"

    @property
    def observed_at(self) -> str:
        """When its agent last wrote it."""
        try:
            return in_utc(self.fields["modified"].strip("'\""))
        except (KeyError, ValueError):
            return timestamp(datetime.fromtimestamp(self.modified_ns / 1e9, UTC))

    @property
    def is_users(self) -> bool:
        """Whether it says what the user is like."""
        return self.fields["type"] == "user"

    @property
    def has_unknown_keys(self) -> bool:
        """Whether its front matter has keys that Claude Code does not write."""
        return bool(self.fields.keys() - _FIELDS)

    @property
    def description(self) -> str:
        """The description of its front matter, on one line."""
        match = _DESCRIPTION.search(split_spelling(self.content.decode())[2])
        value = match[0].removeprefix("description:") if match else ""
        return " ".join(value.split()).strip("|>-'\" ")

    def says(self, text: str) -> bool:
        """Whether a sentence or a clause of it states each clause of a text."""
        content = self.content.decode()
        own = [*split_sentences(content), *clauses(content)]
        return all(any(states(each, clause) for each in own) for clause in clauses(text))

    def is_linked(self, linked: set[str]) -> bool:
        """Whether `linked_in` found it."""
        return not linked.isdisjoint({self.fields["name"], self.name.removesuffix(".md")})

    def record(self, linked: set[str]) -> Record:
        """Return it as a memory. Links must keep their targets, so a linked file stays."""
        is_linked = self.is_linked(linked)
        return Record(
            self.key,
            self.fields["type"],
            self.body,
            self.observed_at,
            self.fields.get("originSessionId"),
            "human" if self.is_users else "agent",
            pinned=is_linked or self.has_unknown_keys,
            is_markdown=True,
            is_linked=is_linked and not self.has_unknown_keys,
            file=self.name,
        )

    def with_text(self, text: str, description: str, modified: str) -> str:
        """Return its content with another text and description, marked as written by slowwave.

        modified: when the text was observed, for a file that has such a time.
        """
        mark, end, content = split_spelling(self.content.decode())
        front = content[len("---\n") :].partition("\n---\n")[0]
        if description != self.description:
            front = _DESCRIPTION.sub(lambda _: f"description: {plain(description)}", front)
        if self.observed_at != modified:
            front = _MODIFIED.sub(lambda match: f"{match[1]}{modified}", front)
        if MARK not in self.fields:
            last = front.rpartition("\n")[2]
            front += f"\n{last[: len(last) - len(last.lstrip())]}{MARK}: true"
        return mark + f"---\n{front}\n---\n\n{text.strip()}\n".replace("\n", end)


def says(whole: str, text: str) -> bool:
    """Whether one text has each word, value and quotation of another."""
    from slowwave.consolidation.facts.lookup import has_specifics
    from slowwave.consolidation.text.tokens import content_words

    return content_words(text) <= content_words(whole) and has_specifics(whole, text)


def states(whole: str, text: str) -> bool:
    """Whether one text says another, and is negated as it is."""
    from slowwave.consolidation.comparison.rivals import is_negated

    return is_negated(whole) == is_negated(text) and says(whole, text)


def clauses(text: str) -> list[str]:
    """Return the sentences of a text, or their parts up to a semicolon."""
    return [part for sentence in split_sentences(text) for part in _CLAUSE_END.split(sentence)]


def plain(text: str) -> str:
    """Return a text without characters that YAML interprets."""
    return text.replace(": ", " - ").replace(" #", " ").strip("-'\"[]{}&*!|>%@` ")


def listed_name(line: str) -> str | None:
    """Return the file that a line of the index lists."""
    match = LISTED.match(line)
    return None if match is None else match[1]


def linked_in(folder: Path) -> set[str]:
    """Return the names of files, without ".md", and of memories that files mention or link to.

    The list in the index does not count.
    """
    linked: set[str] = set()
    for path in _paths(folder, with_index=True):
        text = split_spelling(decoded(read_bytes(path), path))[2]
        if path.name == INDEX:
            text = "".join(line for line in lines_of(text) if listed_name(line) is None)
        names = {name.removesuffix(".md") for name in _PATH.findall(text)}
        own = (_parts(text) or ({}, ""))[0].get("name")
        linked |= {*_LINK.findall(text), *names} - {path.stem, own}
    return linked


def memories_in(folder: Path) -> Iterator[File]:
    """Yield the files that are memories, ordered by name."""
    for path in _paths(folder):
        content = read_bytes(path)
        is_text = content.removeprefix(BOM_UTF8).startswith(b"---")
        if is_text and (parts := _parts(decoded(content, path))) is not None:
            yield File(path.name, content, path.stat().st_mtime_ns, *parts, file_mode(path))


def free_name(text: str, taken: Collection[str]) -> str:
    """Return a name for the file of a text that is not taken."""
    stem = "-".join(re.findall(r"[a-z0-9]+", text.lower())[:_NAME_WORDS] or ["memory"])
    names = (f"{stem}{'' if n == 1 else f'-{n}'}.md" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def other_files(folder: Path) -> list[str]:
    """Return the names of files that are not memories as Claude Code writes them."""
    memories = {file.name for file in memories_in(folder)}
    return [path.name for path in _paths(folder) if path.name not in memories]


def _paths(folder: Path, with_index: bool = False) -> Iterator[Path]:
    """Yield the files that may be memories, ordered by name."""
    # Unlike `glob`, this does not take a folder that cannot be read for an empty one.
    for path in sorted(path for path in folder.iterdir() if path.name.endswith(".md")):
        if (with_index or path.name != INDEX) and not path.is_symlink() and path.is_file():
            yield path


def _parts(text: str) -> tuple[dict[str, str], str] | None:
    """Return the fields of a memory, at any depth, and its body; None if it is not a memory."""
    front = _FRONT.fullmatch(split_spelling(text)[2])
    fields = dict(_FIELD.findall(front[1])) if front else {}
    is_memory = bool(fields.get("name")) and fields.get("type") in _TYPES
    return (fields, front[2].strip()) if is_memory and front and front[2].strip() else None


def parsed(name: str, content: bytes, modified_ns: int) -> File:
    """Return a file that is a memory. Raises `Unreadable` if it is not."""
    parts = _parts(content.decode())
    if parts is None:
        raise Unreadable(f"{name} is not a memory.")
    return File(name, content, modified_ns, *parts)


def refuse_another_version(folder: Path, files: Sequence[File], lines: Sequence[str]) -> None:
    """Refuse a folder whose files, or lines of the index, are all unknown. Raises `Unreadable`.

    files, lines: its memories, and the lines of its index.
    """
    hint = "Nothing was changed. Another version, or a person, may have written it."
    if not files and (names := other_files(folder)):
        raise Unreadable(
            f"No file in {folder} is a memory as Claude Code {VERSION} writes it: "
            f"{first_few(names)}.",
            hint,
        )
    entries = [line for line in lines if line.strip() and not line.startswith("#")]
    if files and entries and not any(map(listed_name, entries)):
        raise Unreadable(
            f"{folder / INDEX} does not list memories as Claude Code {VERSION} does: "
            "- [title](file.md) — fact.",
            hint,
        )
