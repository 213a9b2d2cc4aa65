"""Markdown files of any structure: what is merged, and that an undo restores each byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cli_calls import Cli
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from nights import unchanged

_BUILD, _PUSH = "The build runs at 02:00.", "Never push to main."
_FACTS = (_BUILD, _BUILD[:-1], _PUSH, "Novelty: 4/5")
_NIGHT = ("--format", "markdown", "--json")
_SECTION = f"## Drive\n\nChecked today:\n- {_BUILD}\n- {_PUSH}\n"

# What a night leaves of a file.
_FILES = {
    "a label": (
        f"**Dev:**\n- {_BUILD}\n- {_PUSH}\n\n**Test:**\n- {_BUILD}\n",
        f"**Dev:**\n- {_BUILD}\n- {_PUSH}\n\n**Test:**\n- {_BUILD}\n",
    ),
    "a label that is repeated": (
        f"**D1**\n\nRating:\n- {_PUSH}\n\n**D2**\n\nRating:\n- {_PUSH}\n",
        f"**D1**\n\nRating:\n- {_PUSH}\n\n**D2**\n\nRating:\n- {_PUSH}\n",
    ),
    "a label directly below a bullet": (
        f"# A\n- {_PUSH}\n- {_BUILD}\n**Dev:**\n- {_PUSH}\n",
        f"# A\n- {_PUSH}\n- {_BUILD}\n**Dev:**\n- {_PUSH}\n",
    ),
    "prose": (f"- {_BUILD}\n\nProse.\n\n- {_BUILD}\n", f"- {_BUILD}\n\nProse.\n\n- {_BUILD}\n"),
    "an underlined heading": (
        f"Dev\n===\n- {_PUSH}\n\nTest\n---\n- {_PUSH}\n",
        f"Dev\n===\n- {_PUSH}\n\nTest\n---\n- {_PUSH}\n",
    ),
    "front matter": (
        f"---\ntags:\n- {_PUSH}\n- {_PUSH}\n---\n- {_PUSH}\n- {_PUSH}\n",
        f"---\ntags:\n- {_PUSH}\n- {_PUSH}\n---\n- {_PUSH}\n",
    ),
    "a rule": (
        f"# A\n\n- {_PUSH}\n\n---\n\n- {_PUSH}\n\n---\n\nProse.\n",
        f"# A\n\n- {_PUSH}\n\n---\n\n---\n\nProse.\n",
    ),
    "a section that is repeated": (
        f"{_SECTION}\n{_SECTION}\n{_SECTION}",
        _SECTION + "\n## Drive\n\nChecked today:\n" * 2,
    ),
    "blank lines between bullets": (
        f"# A\n\n- {_PUSH}\n\n- {_BUILD}\n\n- {_PUSH}\n\nProse.\n",
        f"# A\n\n- {_PUSH}\n\n- {_BUILD}\n\nProse.\n",
    ),
    "CRLF without a final line end": (
        f"# A\r\n- {_BUILD}\r\n- {_PUSH}\r\n- {_BUILD}",
        f"# A\r\n- {_BUILD}\r\n- {_PUSH}",
    ),
}


def contexts_of(text: str) -> set[tuple[str, ...]]:
    """Return the bullets outside of front matter and fences, each with its heading and label."""
    lines = text.splitlines()
    if lines[:1] == ["---"]:
        lines = lines[lines.index("---", 1) + 1 :]
    heading, label, is_code, bullets = "", "", False, set()
    for line in lines:
        is_code ^= line == "```"
        if line.startswith("## ") or line == "====":
            heading, label = line if line[0] == "#" else label, ""
        elif not is_code and line.startswith("- "):
            bullets.add((heading, label, line.rstrip(".")))
        elif line[:1].isalpha() or line.startswith("**"):
            label = line
    return bullets


_BULLETS = st.lists(st.sampled_from(_FACTS), min_size=1, max_size=4).map(
    lambda facts: [f"- {fact}" for fact in facts]
)
_PIECES = st.one_of(
    _BULLETS,
    _BULLETS,
    _BULLETS.map(lambda bullets: [line for bullet in bullets for line in (bullet, "")]),
    _BULLETS.map(lambda bullets: ["- parent", *(f"  {bullet}" for bullet in bullets)]),
    _BULLETS.map(lambda bullets: ["```", *bullets, "```"]),
    st.sampled_from(["## Dev", "## Test", "**Dev:**", "**Test:**", "Prose of a day."]).map(
        lambda line: [line, ""] if line[0] == "P" else [line]
    ),
    st.sampled_from([["", "Title", "===="], ["", "---"], ["", "1. first"], ["> quoted", ""]]),
)


def test_undo_restores_any_markdown(cli: Cli, rounds: Callable[[int, int], int]) -> None:
    @settings(max_examples=rounds(6, 100), suppress_health_check=list(HealthCheck), database=None)
    @given(
        pieces=st.lists(st.tuples(_PIECES, st.integers(0, 2)), min_size=2, max_size=9),
        has_front_matter=st.booleans(),
        end=st.sampled_from(["\n", "\r\n"]),
        has_end=st.booleans(),
    )
    @example([(["---"], 1), ([f"- {_PUSH}"], 1)] * 2, False, "\n", True)
    def undone(
        pieces: list[tuple[list[str], int]], has_front_matter: bool, end: str, has_end: bool
    ) -> None:
        lines = ["---", f"- {_PUSH}", f"- {_PUSH}", "---"] if has_front_matter else ["Notes", ""]
        for piece, blank in pieces:
            lines += [*piece, *[""] * blank]
        before = end.join([*lines, f"- {_PUSH}"]) + (end if has_end else "")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "MEMORY.md"
            path.write_bytes(before.encode())
            run = cli("maintain", path, *_NIGHT).ends(0).json
            after = path.read_bytes().decode()
            assert contexts_of(after) == contexts_of(before)
            assert after.count("\n") == after.count(end)
            if run["proposals"]:
                cli("undo", path, run["run"]).ends(0)
            assert path.read_bytes().decode() == before

    undone()


@pytest.mark.parametrize(("before", "after"), _FILES.values(), ids=_FILES)
def test_bullets_are_merged_only_below_the_same_heading_and_label(
    before: str, after: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(before.encode())
    proposals = cli("maintain", path, *_NIGHT).ends(0).json["proposals"]
    assert path.read_bytes().decode() == after
    for proposal in proposals:
        cli("undo", path, proposal["id"]).ends(0)
    assert path.read_bytes().decode() == before


def test_undo_inserts_a_bullet_where_its_agent_has_changed_the_file(
    tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(f"# A\n\n- {_PUSH}\n\n---\n- {_PUSH}\n\n# B\n- {_BUILD}\n")
    cli("maintain", path, *_NIGHT).ends(0)
    short = path.read_text()
    path.write_text(f"# New\n\n{short}- The agent adds this.\n".replace("# B", "Prose.\n\n# B"))
    cli("undo", path).ends(0)
    assert f"---\n- {_PUSH}\n\nProse.\n\n# B" in path.read_text()


def test_undo_refuses_a_bullet_whose_section_its_agent_has_removed(
    tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(f"# A\n\n- {_PUSH}\n- {_PUSH}\n\n# B\n\n- {_BUILD}\n")
    cli("maintain", path, *_NIGHT).ends(0)
    path.write_text(path.read_text().partition(f"- {_PUSH}\n\n")[2])
    with unchanged(path.read_text):
        assert cli("undo", path).code != 0
