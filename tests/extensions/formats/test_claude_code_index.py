"""The index of a memory folder of Claude Code: shortened to a size without loss, and restored."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from agents_files import bytes_of, mirrored, write_note
from builders import NOW
from cli_calls import Cli
from hypothesis import given
from hypothesis import strategies as st

from slowwave.extensions.formats.claude_code_files import memories_in
from slowwave.extensions.formats.claude_code_index import hook_of, shortened
from slowwave.extensions.formats.mirror.mirror import Mirror
from slowwave.store.file import open_writing
from slowwave.store.records import timestamp
from slowwave.store.undo.undo import undo_runs

# What a file says, and what its line may say without saying more.
SAID = "The billing service retries a failed payment three times, ten minutes apart; it writes no "
SAID += "ticket for the finance team before the number of the invoice is known."
MORE = f"{SAID} Never on Sundays."
TEXTS = {
    "old.md": "Postgres of orders-api listens on port 5433 in staging; port 5432 of it "
    "belongs to the warehouse, which nobody dares to move.",
    "older-line.md": "Helvi reviews all migrations before they are merged; while she is away, they "
    "wait, except for those that only add an index.",
    "new.md": SAID,
    "more.md": "The nightly backup of the wiki is copied to Oulu at three; a restore is tried "
    "each month by whoever has the pager that week.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide a folder whose index repeats its files."""
    path = tmp_path / "project" / "memory"
    path.mkdir(parents=True)
    for day, (name, text) in enumerate(TEXTS.items(), start=1):
        write_note(path, name.removesuffix(".md"), day, text)
    write_note(path, "same", 5, "Deploys are frozen until 12 February 2026.")
    write_note(path, "same-too", 6, "Deploys are frozen until 12 February 2026.")
    write_note(path, "user", 7, f"I own this: {SAID}")
    user = path / "user.md"
    user.write_text(user.read_text().replace("type: project", "type: user"))
    lines = [f"- [Title]({name}) — {text}" for name, text in TEXTS.items()]
    lines[-1] += " Never on Sundays."
    lines += ["- [Frozen](same.md) — the freeze", "- [Frozen](same-too.md) — the freeze, too"]
    lines += [f"- [User](user.md) — {SAID}", "- [Gone](gone.md) — hm"]
    (path / "MEMORY.md").write_text("# Memory\n\n" + "\n".join(lines))
    return path


def maintained(cli: Cli, folder: Path, *more: object) -> dict[str, Any]:
    return dict(cli("maintain", folder, "--format", "claude-code", "--json", *more).ends(0).json)


def test_lines_are_shortened_to_a_target_and_undo_restores_them(folder: Path, cli: Cli) -> None:
    before = bytes_of(folder)
    size = len(before["MEMORY.md"])
    # Without the line of a merged file and the ends of two lines, it is a little smaller.
    options = ("--target", size - 140)
    planned = cli("maintain", folder, "--dry-run", "--json", *options).json["budget"]
    assert bytes_of(folder) == before
    report = maintained(cli, folder, *options)
    budget = report["budget"]
    assert planned["shortened"] == budget["shortened"] == ["old.md", "older-line.md"]
    assert planned["after"] == budget["after"] == budget["used"] <= size - 140
    assert planned["tokens_saved"] == budget["tokens_saved"] > 0
    assert planned["used"] == size
    after = bytes_of(folder)
    assert before.keys() - after.keys() == {"same.md"}
    assert {name for name in after if after[name] != before[name]} == {"MEMORY.md"}
    line = next(line for line in after["MEMORY.md"].decode().splitlines() if "(old.md)" in line)
    assert line.endswith(" …")
    assert TEXTS["old.md"].startswith(f"{line.split(' — ')[1].removesuffix(' …')};")
    assert maintained(cli, folder, *options)["run"] is None
    assert bytes_of(folder) == after
    assert cli("undo", folder).code == 0
    assert bytes_of(folder) == before
    # What was undone is not proposed again, only the next line.
    again = maintained(cli, folder, *options)["budget"]
    assert again["shortened"] == ["new.md"]


def test_a_line_with_facts_of_its_own_is_not_shortened(folder: Path, cli: Cli) -> None:
    before = (folder / "MEMORY.md").read_text().splitlines()
    ended = cli("maintain", folder, "--format", "claude-code", "--target", "0.2KB")
    assert "should have at most 200" in ended.out
    assert "nothing more can be shortened without losing content" in ended.out
    assert "3 entries shortened (old.md, older-line.md, new.md): the rest is in" in ended.out
    after = (folder / "MEMORY.md").read_text().splitlines()
    for name in ("more.md", "user.md", "gone.md"):
        (line,) = [line for line in before if f"({name})" in line]
        assert line in after
    assert "1 whose line in MEMORY.md is long, and contains what no sentence of " in ended.out
    assert "1 that MEMORY.md lists and that do not exist (gone.md)" in ended.out


def test_a_report_on_a_long_index_names_the_command(folder: Path, cli: Cli) -> None:
    for number in range(160):
        text = SAID.replace("payment", f"payment of tenant {number}")
        write_note(folder, f"tenant-{number}", 8, text)
        with (folder / "MEMORY.md").open("a") as file:
            file.write(f"\n- [Tenant {number}](tenant-{number}.md) — {text}")
    options = ("--format", "claude-code", "--only", "synthesize")
    before = bytes_of(folder)["MEMORY.md"]
    assert len(before) > 25_000
    report = cli("maintain", folder, *options).out
    assert bytes_of(folder)["MEMORY.md"] == before
    assert f"{folder} --format claude-code --target 25KB --dry-run" in report
    assert "entries shortened (" not in report
    waiting = cli("maintain", folder, *options, "--target", "25KB", "--review", "always").out
    assert "entries are shortened only by a complete run without --review always" in waiting
    assert "nothing more" not in waiting
    assert bytes_of(folder)["MEMORY.md"] == before
    assert cli("maintain", folder, *options, "--target", "25KB").code == 0
    assert 24_800 < len(bytes_of(folder)["MEMORY.md"]) <= 25_000
    assert cli("undo", folder).code == 0
    assert bytes_of(folder)["MEMORY.md"] == before


@pytest.mark.parametrize(
    ("size", "sentence"), [("much", "takes a size as in 17KB"), ("17KB", "does not apply to")]
)
def test_impossible_targets_are_refused(size: str, sentence: str, tmp_path: Path, cli: Cli) -> None:
    assert cli("init", tmp_path / "memory.db").code == 0
    ended = cli("maintain", tmp_path / "memory.db", "--target", size).ends(2)
    assert sentence in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("hook", "kept"),
    [
        # No semicolon, and no end of a sentence.
        (SAID.replace(";", ","), None),
        # The file does not deny it, or another sentence does.
        (SAID.replace("writes no", "writes a"), None),
        # Within brackets.
        (f"Payments ({SAID})", None),
        (
            f"{SAID} {SAID}",
            "The billing service retries a failed payment three times, ten minutes apart",
        ),
    ],
)
def test_a_line_is_cut_after_a_clause_or_not_at_all(
    hook: str, kept: str | None, tmp_path: Path
) -> None:
    write_note(tmp_path, "a", 1, SAID)
    (file,) = memories_in(tmp_path)
    line = f"- [Title](a.md) — {hook}\n"
    (short,) = shortened([line], file)
    assert short == (line if kept is None else f"- [Title](a.md) — {kept} …\n")
    assert [*shortened([short], file)] == [short]


LINES = st.sampled_from(
    [
        *(f"- [Title]({name}.md) — {text}" for name in "abc" for text in (SAID, MORE, "short")),
        *("# Index", "", "- [Gone](gone.md) — gone", "See the files."),
    ]
)


def shorten(mirror: Mirror) -> tuple[str, ...]:
    """Shorten lines to the target, and return their entries."""
    budget = mirror.fit(None, NOW)
    mirror.settle(NOW)
    assert budget is not None
    return budget.shortened or ()


@given(st.lists(LINES, min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_undo_restores_any_index_to_the_byte(lines: list[str], end: str, is_ended: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "memory"
        folder.mkdir()
        for day, file in enumerate("abc", start=1):
            write_note(folder, file, day, f"{SAID} {file}")
        lines = ["- [Title](a.md) — first", *lines]
        (folder / "MEMORY.md").write_bytes((end.join(lines) + end * is_ended).encode())
        before = bytes_of(folder)
        mirror = mirrored(folder, target=50)
        shortened = shorten(mirror)
        after = bytes_of(folder)
        assert (after != before) == bool(shortened)
        assert {name for name in after if after[name] != before[name]} <= {"MEMORY.md"}
        rest = after["MEMORY.md"].decode()
        assert all(line in rest for line in lines if MORE in line or "Title" not in line)
        assert shorten(mirror) == ()
        with open_writing(mirror.state) as file:
            (run,) = file.conn.execute("SELECT max(id) FROM runs").fetchone()
            if shortened:
                undo_runs(file, [run], timestamp(NOW + timedelta(hours=1)))
        mirror.settle(NOW)
        assert bytes_of(folder) == before


def test_a_description_is_cut_after_a_word_and_never_inside_a_value() -> None:
    text = "The staging cluster is deployed by make deploy from a clean main, and listens on port"
    assert hook_of(f"{text} number 0123456789012345 there.") == f"{text} number…"
    assert len(hook_of("x" * 200)) == 100
