"""The trial that a format has to stand: ours stand it, and it finds what is wrong with others."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from places import FORMATS

from slowwave.extensions.formats.base import New
from slowwave.extensions.formats.conformance import faults
from slowwave.extensions.formats.document import Block, Document, Entry
from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.text_file import TextFormat

FILES = {
    "mcp-server-memory": "mcp-server-memory/memory.jsonl",
    "hermes": "hermes/memories/MEMORY.md",
    "markdown": "markdown/MEMORY.md",
    "claude-code": "claude-code/memory",
    "mcp-memory-service": "mcp-memory-service.sql",
    "langgraph": "langgraph.sql",
    "claude-mem": "claude-mem.sql",
}


@pytest.mark.parametrize("name", FILES)
def test_our_own_formats_stand_the_trial(name: str, tmp_path: Path) -> None:
    path = FORMATS / FILES[name]
    if path.suffix == ".sql":
        made = tmp_path / "agent.db"
        with closing(sqlite3.connect(made)) as db:
            db.executescript(path.read_text("utf-8"))
        path = made
    assert list(faults(format_named(name), path)) == []


class Lines(TextFormat):
    """A memory a line, and each mistake that one may make of it."""

    name = "lines"
    about = "notes.txt"
    holds = "a line"

    def recognises(self, path: Path) -> bool:
        return path.name == "notes.txt"

    def parse(self, text: str, path: Path) -> Document:
        entries = [Entry(line, line) for line in text.split("\n")]
        return Document([Block("notes", "\n", entries)])

    def spell(self, new: New, document: Document) -> str:
        return new.text


class Shouting(Lines):
    def spell(self, new: New, document: Document) -> str:
        return new.text.upper()


class Shy(Lines):
    def recognises(self, path: Path) -> bool:
        return False


class Empty(Lines):
    def parse(self, text: str, path: Path) -> Document:
        return Document([text])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("The boat is green\nThe boat is green\nThe oar is red")
    return path


def test_a_sound_format_has_no_faults(notes: Path) -> None:
    assert list(faults(Lines(), notes)) == []


@pytest.mark.parametrize(
    ("format", "said"), [(Shy(), "not recognized"), (Empty(), "no entry was found")]
)
def test_what_is_wrong_with_a_format_is_said(notes: Path, format: Lines, said: str) -> None:
    assert any(said in fault for fault in faults(format, notes))


def test_a_text_that_is_spelled_otherwise_than_it_reads_is_refused(notes: Path) -> None:
    with pytest.raises(Exception, match="cannot store"):
        list(faults(Shouting(), notes))
