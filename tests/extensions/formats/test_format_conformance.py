"""The conformance check: our formats pass, and it finds the faults of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_files import RECORDED, recorded

from slowwave.extensions.formats.base import New
from slowwave.extensions.formats.conformance import faults
from slowwave.extensions.formats.document import Block, Document, Entry
from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.text_file import TextFormat


@pytest.mark.parametrize("name", RECORDED)
def test_our_own_formats_have_no_faults(name: str, tmp_path: Path) -> None:
    path = recorded(name, tmp_path / Path(RECORDED[name]).name)
    assert list(faults(format_named(name), path)) == []


class Lines(TextFormat):
    """One memory per line."""

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


class Uppercase(Lines):
    def spell(self, new: New, document: Document) -> str:
        return new.text.upper()


class RecognizesNothing(Lines):
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
    ("format", "message"),
    [(RecognizesNothing(), "not recognized"), (Empty(), "no entry was found")],
)
def test_a_fault_of_a_format_is_named(notes: Path, format: Lines, message: str) -> None:
    assert any(message in fault for fault in faults(format, notes))


def test_a_text_that_is_read_back_differently_is_refused(notes: Path) -> None:
    with pytest.raises(Exception, match="cannot store"):
        list(faults(Uppercase(), notes))
