"""The screen of `slowwave review --tui`: driven by keys and the mouse, on a real file."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from builders import copied
from cli_calls import Cli
from nights import active, execute, picture, rows, unchanged
from reviews import IN_ONE, MERGE, SYNTHESIS, UPDATE, states
from screens import Shown, drive, pictures, waiting_file

from slowwave.cli.nights.chosen_proposals import Choice
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.screen.session import Session
from slowwave.store.file import maintenance_lock
from slowwave.store.places import Place

pytestmark = pytest.mark.usefixtures("smoke_model")

WRITTEN = ["memories", "synthesized_from"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a file in which a merge, an update and a synthesis wait; nobody changes it."""
    return waiting_file(tmp_path_factory.mktemp("waiting") / "memory.db")


waiting = copied("kept")


# ---- what is seen ----


def test_the_screens_look_like_their_pictures(
    tmp_path: Path, embedder: SentenceEmbedder, subtests: pytest.Subtests
) -> None:
    for name, shown in pictures(tmp_path, embedder).items():
        with subtests.test(name):
            assert shown.is_like(name), shown.text


def test_sources_and_draft_are_side_by_side(waiting: Path, embedder: SentenceEmbedder) -> None:
    update = drive(waiting, embedder, ["n", "n"])
    assert "superseded · 2026-02-11 · agent · " in update.text
    beside = "working · trust 0.5 · smoke-05          │ The backup of the wiki runs at 03:30"
    assert beside in update.lines
    assert "02:30" in "".join(update.marked("reversed"))
    assert "03:30" in update.marked("reversed")
    assert re.search("Values kept  .*03:30", update.text)
    assert re.search("Only in a source  .*02:30", update.text)
    assert "Every" in drive(waiting, embedder, ["n"]).marked("bold")
    merge = drive(waiting, embedder)
    assert "unchanged" in merge.text
    assert "User said that" in merge.marked("underlined")
    assert "Similarity  minimum 0.9" in merge.text


def test_without_colour_everything_is_said_by_letters_and_marks(
    waiting: Path, embedder: SentenceEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_colour = drive(waiting, embedder, ["n", "n"])
    monkeypatch.setenv("NO_COLOR", "1")
    without = drive(waiting, embedder, ["n", "n"])
    assert without.lines == in_colour.lines
    for look in ("bold", "underlined"):
        assert without.marked(look) == in_colour.marked(look)
    assert "02:30" in "".join(without.marked("reversed"))
    assert "03:30" in without.marked("reversed")
    assert _greys(without)
    assert not _greys(in_colour)


def _greys(shown: Shown) -> bool:
    """Whether a picture has no colours inside its frame."""
    import re

    looks = re.findall(r"-r\d+ \{ fill: #(..)(..)(..)", shown.svg)
    return all(len(set(look)) == 1 for look in looks if "".join(look) != "c5c8c6")


def test_a_memory_is_shown_as_plain_text(waiting: Path, embedder: SentenceEmbedder) -> None:
    execute(
        waiting,
        "UPDATE memories SET content = '[red]up[/red] [@click=quit]x[/] \x1b[2J in ' || content "
        "WHERE content LIKE '%02:30%'",
    )
    shown = drive(waiting, embedder, ["n", "n"])
    assert "[red]up[/red] [@click=quit]x[/] \\x1b" in shown.text
    assert f"{UPDATE} stale" in shown.text


def test_lineage_is_a_complete_tree(waiting: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    assert cli("review", "approve", waiting, UPDATE).code == 0
    cli("add", waiting, "The backup of the wiki now runs at 04:45 every night.")
    assert cli("maintain", waiting, "--review", "always").code == 0
    shown = drive(waiting, embedder, ["slash", '"04:45', "enter", "l"])
    assert "1 of 1" in shown.lines[0]
    assert any(
        "└── update: The backup of the wiki" in line or "── update: " in line
        for line in shown.lines
    )


def test_a_search_requires_all_words(waiting: Path, embedder: SentenceEmbedder) -> None:
    found = drive(waiting, embedder, ["slash", '"WIKI backup', "enter"])
    assert f"1 of 1 · {UPDATE} waits" in found.lines[0]
    again = drive(waiting, embedder, ["slash", '"WIKI backup', "enter", "escape"])
    assert f"3 of 3 · {UPDATE}" in again.lines[0]
    nothing = drive(waiting, embedder, ["slash", '"no such words', "enter", "a", "d", "e", "l"])
    assert "nothing found" in nothing.text


def test_operation_filters_the_list(waiting: Path, embedder: SentenceEmbedder) -> None:
    shown = drive(waiting, embedder, choice=Choice((), "merge"))
    assert f"1 of 1 · {MERGE}" in shown.lines[0]


# ---- what is decided ----


def test_undo_reverts_an_approval(waiting: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    before = picture(waiting, WRITTEN)
    queued = cli("review", waiting, "--json").json["proposals"]
    session = Session(Place(waiting), embedder, Choice())
    shown = drive(waiting, embedder, ["n", "n", "a"], session=session)
    assert states(waiting)[UPDATE] == "applied"
    assert " applied   update" in shown.text
    assert f"1 of 3 · {MERGE} waits" in shown.lines[0]
    assert picture(waiting, WRITTEN) != before
    shown = drive(waiting, embedder, ["u"], session=session)
    assert f"3 of 3 · {UPDATE} waits" in shown.lines[0]
    assert picture(waiting, WRITTEN) == before
    again = cli("review", waiting, "--json").json["proposals"]
    assert [item | {"decided_at": ""} for item in again] == [
        found | {"decided_at": ""} for found in queued
    ]
    # The decision can be made once more, and the night does not propose it a second time.
    assert cli("maintain", waiting, "--json").json["proposals"] == []
    assert cli("review", "approve", waiting, UPDATE).code == 0


def test_all_are_applied_after_one_question(waiting: Path, embedder: SentenceEmbedder) -> None:
    before = picture(waiting, WRITTEN)
    session = Session(Place(waiting), embedder, Choice())
    asked = drive(waiting, embedder, ["A"], session=session)
    assert "Apply 3 pending proposals as one run?" in asked.text
    assert "1 merge, 1 synthesize, 1 update: 7 memories are superseded, 2 texts" in asked.text
    drive(waiting, embedder, ["A", "escape"], session=session)
    assert picture(waiting, WRITTEN) == before
    found = drive(waiting, embedder, ["slash", '"wiki backup', "enter", "A"], session=session)
    assert "Apply 1 pending proposal found as one run?" in found.text
    done = drive(waiting, embedder, ["A", "@#yes"], session=session)
    assert any(message.startswith("Applied 3 of 3.") for message in done.said)
    assert set(states(waiting).values()) == {"applied"}
    drive(waiting, embedder, ["u", "u", "u"], session=session)
    assert picture(waiting, WRITTEN) == before
    assert session.summary() == "3 proposals pending."


def test_concurrent_decisions_stop_all(waiting: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    session = Session(Place(waiting), embedder, Choice())
    session.load()
    assert cli("review", "decline", waiting, UPDATE).code == 0
    with unchanged(picture, waiting, WRITTEN):
        drive(waiting, embedder, ["A", "@#yes"], session=session)
    drive(waiting, embedder, ["A", "@#yes"], session=session)
    assert sorted(states(waiting).values()) == ["applied", "applied", "declined"]


def test_undo_reverts_a_decline(waiting: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    session = Session(Place(waiting), embedder, Choice())
    drive(waiting, embedder, ["d", '"not so', "enter"], session=session)
    shown = cli("review", "show", waiting, MERGE, "--json").json["proposals"][0]
    assert (shown["state"], shown["why"]) == ("declined", "declined by a person: not so")
    drive(waiting, embedder, ["u"], session=session)
    shown = cli("review", "show", waiting, MERGE, "--json").json["proposals"][0]
    assert (shown["state"], shown["why"]) == ("pending", "queued for review")
    drive(waiting, embedder, ["d", '"not so', "escape"], session=session)
    assert states(waiting)[MERGE] == "pending"
    assert session.summary() == "3 proposals pending."


def test_only_supported_words_are_applied(waiting: Path, embedder: SentenceEmbedder) -> None:
    clear = ["n", "e", "f7", "delete"]
    shown = drive(waiting, embedder, [*clear, '"Helvi settles 17 invoices.', "ctrl+s"])
    assert "Not applied, rejected:" in shown.text
    assert "Helvi settles 17 invoices." in shown.text
    assert states(waiting)[SYNTHESIS] == "pending"
    shown = drive(waiting, embedder, [*clear, f'"{IN_ONE}', "ctrl+s"])
    assert IN_ONE in active(waiting)
    (made,) = rows(waiting, "SELECT content FROM memories WHERE origin = 'human'")
    assert made["content"] == IN_ONE
    assert " edited    synthesize" in shown.text


def test_a_key_that_can_do_nothing_says_why(waiting: Path, embedder: SentenceEmbedder) -> None:
    said = " ".join(drive(waiting, embedder, ["e", "u"]).said)
    assert "This proposal writes no new text" in said
    assert "There is no decision to undo" in said


def test_the_mouse_does_what_the_keys_do(waiting: Path, embedder: SentenceEmbedder) -> None:
    # The third line of the list, "Approve" in the footer, and the button of a question.
    shown = drive(waiting, embedder, ["@20,3"])
    assert f"3 of 3 · {UPDATE}" in shown.lines[0]
    (footer,) = (n for n, line in enumerate(shown.lines) if "a Approve" in line)
    approve = shown.lines[footer].index("Approve")
    drive(waiting, embedder, ["@20,3", f"@{approve},{footer}"])
    assert states(waiting)[UPDATE] == "applied"
    drive(waiting, embedder, ["@20,1", "d", "@#yes"])
    assert states(waiting)[MERGE] == "declined"


def test_a_changed_source_makes_it_stale(waiting: Path, embedder: SentenceEmbedder) -> None:
    execute(waiting, "UPDATE memories SET content = content || '!' WHERE content LIKE '%02:30%'")
    with unchanged(picture, waiting, WRITTEN):
        shown = drive(waiting, embedder, ["n", "n", "a"])
        assert any(item.startswith("Not applied, stale: memory smoke-05") for item in shown.said)
        assert " stale     update" in shown.text


@pytest.mark.parametrize("keys", [["a"], ["d", "@#yes"]])
def test_stale_screens_catch_up(keys: list[str], waiting: Path, embedder: SentenceEmbedder) -> None:
    session = Session(Place(waiting), embedder, Choice())
    session.load()
    drive(waiting, embedder, ["a", "n", "a"])
    with unchanged(picture, waiting):
        shown = drive(waiting, embedder, [*keys, "a"], session=session)
        assert "It was decided by another program." in shown.said
        assert f"{MERGE} is no longer pending: it was decided elsewhere." in shown.said
        assert f"1 of 3 · {MERGE} decided" in shown.lines[0]
        assert session.summary() == "1 proposal pending."


def test_a_run_that_holds_the_file_is_named(waiting: Path, embedder: SentenceEmbedder) -> None:
    session = Session(Place(waiting), embedder, Choice())
    with maintenance_lock(waiting):
        shown = drive(waiting, embedder, ["a"], session=session)
    assert any("maintenance run" in item for item in shown.said), shown.said
    assert f"1 of 3 · {MERGE} waits" in shown.lines[0]
    drive(waiting, embedder, ["a"], session=session)
    assert states(waiting)[MERGE] == "applied"


def test_an_empty_queue_is_an_empty_list(memory_file: Path, embedder: SentenceEmbedder) -> None:
    shown = drive(memory_file, embedder, ["a", "d", "e", "n", "p", "l", "pagedown"])
    assert "nothing is pending" in shown.lines[0]


# ---- at a terminal ----


def at_a_terminal(
    path: Path, keys: bytes = b"", number: int | None = None
) -> tuple[int, str, bool]:
    """Run the command at a terminal; give its code, what it wrote, and whether the terminal is
    as it was."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-m", "slowwave.cli", "review", str(path), "--tui"]
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        start_new_session=True,
    ) as process:
        shown = _read_until(ours, b"Approve")
        if number is not None:
            process.send_signal(number)
        os.write(ours, keys)
        while process.poll() is None:
            shown += _read(ours)
        restored = termios.tcgetattr(theirs) == before
        shown += _read(ours)
    os.close(ours)
    os.close(theirs)
    return process.returncode, shown.decode(errors="replace"), restored


def _read(terminal: int) -> bytes:
    ready, _, _ = select.select([terminal], [], [], 0.2)
    return os.read(terminal, 65_536) if ready else b""


def _read_until(terminal: int, wanted: bytes) -> bytes:
    shown = b""
    give_up = time.monotonic() + 60
    while wanted not in shown and time.monotonic() < give_up:
        shown += _read(terminal)
    return shown


def test_the_command_opens_it_and_says_in_the_end_what_waits(waiting: Path) -> None:
    code, shown, restored = at_a_terminal(waiting, b"q")
    assert code == 0, shown
    assert "3 proposals pending." in shown
    assert restored


def test_sigterm_ends_it_and_gives_the_terminal_back(waiting: Path) -> None:
    code, shown, restored = at_a_terminal(waiting, number=signal.SIGTERM)
    assert code == 143, shown
    assert restored
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("arguments", "output"),
    [(["list", "--tui"], "requires a terminal"), (["approve", "--all", "--tui"], "--tui")],
)
def test_it_needs_a_terminal(waiting: Path, cli: Cli, arguments: list[str], output: str) -> None:
    cli("review", *arguments, waiting).ends(2, output)
    assert set(states(waiting).values()) == {"pending"}


def test_the_package_is_optional(waiting: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.extensions.screen.start._refuse_without_terminal", lambda: None)
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.delitem(sys.modules, "slowwave.extensions.screen.screen")
    ended = cli("review", waiting, "--tui")
    assert (ended.code, ended.out) == (2, "")
    assert "pip install --require-hashes --no-deps -r locks/tui.txt" in ended.err
