"""Forget deletes a text from an agent's file, from hidden rows, and from the mirror."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agents_files import consolidate, format_of, make_file, texts_in
from cli_calls import Cli
from format_writers import WRITERS
from nights import rows

from slowwave.extensions.formats.mirror.mirror import default_state

KEPT = "Refunds need a second signature."
SAFE = "The safe is opened with 5150-Kestrel."
# The night removes the shorter one in favor of the other.
TWINS = ("Billing listens on port 8081 for Zubrowka.", "Billing listens on port 8081 for Zubrowka")


def left_of(folder: Path, text: str) -> list[str]:
    """Return the files below a folder that have a text, in any of its spellings."""
    spelled = {text.encode(), json.dumps(text)[1:-1].encode(), text.lower().encode()}
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and any(each in path.read_bytes() for each in spelled)
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_forget_deletes_a_text_from_both_files(name: str, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "agent"
    path = make_file(name, folder, (KEPT, SAFE, *TWINS))
    consolidate(cli, format_of(name), path)
    assert left_of(folder, "5150-Kestrel")
    for text in ("5150-Kestrel", "Zubrowka"):
        cli("forget", path, "--matching", text, "--yes", "--json").ends(0)
        assert not left_of(folder, text)
    assert texts_in(name, path) == [KEPT]
    assert cli("check", path).code == 0
    assert not rows(default_state(path), "SELECT * FROM links WHERE key LIKE '{%'")
    assert cli("maintain", path, "--json").json["proposals"] == []


def test_a_forgotten_text_that_its_agent_writes_again_is_kept(tmp_path: Path, cli: Cli) -> None:
    path = make_file("markdown", tmp_path / "agent", (KEPT, SAFE, *TWINS))
    before = path.read_text("utf-8")
    consolidate(cli, "markdown", path)
    assert cli("forget", path, "--matching", "kestrel", "--yes").code == 0
    path.write_text(before, "utf-8")
    assert cli("maintain", path).code == 0
    assert SAFE in path.read_text("utf-8")
    assert left_of(path.parent, SAFE) == [str(path)]


def test_forget_names_what_is_left_in_headings_and_prose(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "MEMORY.md"
    lines = [
        "Maria Keller is prose.",
        "",
        "# Memory of Maria Keller",
        "",
        "- Maria Keller lives at Birkenweg 7.",
        f"- {KEPT}",
        "- A bullet of two lines",
        "  about Maria Keller.",
    ]
    path.write_text("\n".join(lines), "utf-8")
    forget = ("forget", path, "--format", "markdown", "--yes", "--json", "--matching")
    done = cli(*forget, "maria keller").ends(3)
    assert {f"{path}:{line}" for line in (1, 3, 7)} < {*done.json["left"]}
    assert "tenants" in done.json["left"]
    assert "Birkenweg" not in path.read_text("utf-8")
    assert cli(*forget, "maria keller").code == 3
    user_file = Path(path.with_name("USER.md")).resolve()
    user_file.write_text("\n".join(lines), "utf-8")
    prose = cli("forget", user_file, "--format", "markdown", "--yes", "--matching", "is prose")
    assert (prose.code, f"{user_file}:1" in prose.err) == (3, True)
