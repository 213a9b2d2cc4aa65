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
from typing import Any

import pytest
from builders import copied
from cli_calls import Cli
from nights import active, execute, picture, rows, unchanged
from reviews import IN_ONE, MERGE, SYNTHESIS, UPDATE, states
from screens import Shown, drive, pending_file, pictures

from slowwave.consolidation.running.review_queue import Choice
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.screen.session import Session
from slowwave.store.lock import maintenance_lock
from slowwave.store.places import Place

pytestmark = pytest.mark.usefixtures("smoke_model")

WRITTEN = ["memories", "synthesized_from"]


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a file with a pending merge, update and synthesis, which no test changes."""
    return pending_file(tmp_path_factory.mktemp("pending") / "memory.db")


pending = copied("reviewed")


# ---- what is seen ----


def test_the_screens_look_like_their_pictures(
    tmp_path: Path, embedder: SentenceEmbedder, subtests: pytest.Subtests
) -> None:
    for name, shown in pictures(tmp_path, embedder).items():
        with subtests.test(name):
            assert shown.is_like(name), shown.text


def test_sources_and_draft_are_side_by_side(pending: Path, embedder: SentenceEmbedder) -> None:
    update = drive(pending, embedder, ["n", "n"])
    assert "superseded · 2026-02-11 · agent · " in update.text
    line = "working · trust 0.5 · smoke-05          │ The backup of the wiki runs at 03:30"
    assert line in update.lines
    assert "02:30" in "".join(update.marked("reversed"))
    assert "03:30" in update.marked("reversed")
    assert re.search("Values kept  .*03:30", update.text)
    assert re.search("Only in a source  .*02:30", update.text)
    assert "Every" in drive(pending, embedder, ["n"]).marked("bold")
    merge = drive(pending, embedder)
    assert "unchanged" in merge.text
    assert merge.marked("underlined") == ["only in a source"]
    assert "Similarity  minimum 0.9" in merge.text


def test_without_colour_all_text_and_marks_are_shown(
    pending: Path, embedder: SentenceEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_colour = drive(pending, embedder, ["n", "n"])
    monkeypatch.setenv("NO_COLOR", "1")
    without = drive(pending, embedder, ["n", "n"])
    assert without.lines == in_colour.lines
    for look in ("bold", "underlined"):
        assert without.marked(look) == in_colour.marked(look)
    assert "02:30" in "".join(without.marked("reversed"))
    assert "03:30" in without.marked("reversed")
    assert (_is_grey(without), _is_grey(in_colour)) == (True, False)


def _is_grey(shown: Shown) -> bool:
    """Whether a picture has no colours inside its frame."""
    looks = re.findall(r"-r\d+ \{ fill: #(..)(..)(..)", shown.svg)
    return all(len(set(look)) == 1 for look in looks if "".join(look) != "c5c8c6")


def test_a_memory_is_shown_as_plain_text(pending: Path, embedder: SentenceEmbedder) -> None:
    execute(
        pending,
        "UPDATE memories SET content = '[red]up[/red] [@click=quit]x[/] \x1b[2J in ' || content "
        "WHERE content LIKE '%02:30%'",
    )
    shown = drive(pending, embedder, ["n", "n"])
    assert "[red]up[/red] [@click=quit]x[/] \\x1b" in shown.text
    assert f"{UPDATE} stale" in shown.text


def test_lineage_is_a_complete_tree(pending: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    assert cli("review", "approve", pending, UPDATE).code == 0
    cli("add", pending, "The backup of the wiki now runs at 04:45 every night.")
    assert cli("maintain", pending, "--review", "always").code == 0
    shown = drive(pending, embedder, ["slash", '"04:45', "enter", "l"])
    assert "1 of 1" in shown.lines[0]
    assert "── update: " in shown.text


def test_a_search_requires_all_words(pending: Path, embedder: SentenceEmbedder) -> None:
    matching = drive(pending, embedder, ["slash", '"WIKI backup', "enter"])
    assert f"1 of 1 · {UPDATE} pending" in matching.lines[0]
    again = drive(pending, embedder, ["slash", '"WIKI backup', "enter", "escape"])
    assert f"3 of 3 · {UPDATE}" in again.lines[0]
    nothing = drive(pending, embedder, ["slash", '"no such words', "enter", "a", "d", "e", "l"])
    assert "nothing found" in nothing.text


def test_operation_filters_the_list(pending: Path, embedder: SentenceEmbedder) -> None:
    shown = drive(pending, embedder, choice=Choice((), "merge"))
    assert f"1 of 1 · {MERGE}" in shown.lines[0]


# ---- what is decided ----


def test_undo_reverts_an_approval(pending: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    before = picture(pending, WRITTEN)
    queued = cli("review", pending, "--json").json["proposals"]
    session = Session(Place(pending), embedder, Choice())
    shown = drive(pending, embedder, ["n", "n", "a"], session=session)
    assert states(pending)[UPDATE] == "applied"
    assert " applied   update" in shown.text
    assert f"1 of 3 · {MERGE} pending" in shown.lines[0]
    assert picture(pending, WRITTEN) != before
    shown = drive(pending, embedder, ["u"], session=session)
    assert f"3 of 3 · {UPDATE} pending" in shown.lines[0]
    assert picture(pending, WRITTEN) == before
    again = cli("review", pending, "--json").json["proposals"]
    assert [item | {"decided_at": ""} for item in again] == [
        proposal | {"decided_at": ""} for proposal in queued
    ]
    # The decision can be made once more, and the night does not propose it a second time.
    assert cli("maintain", pending, "--json").json["proposals"] == []
    assert cli("review", "approve", pending, UPDATE).code == 0


def test_all_are_applied_after_a_confirmation(pending: Path, embedder: SentenceEmbedder) -> None:
    before = picture(pending, WRITTEN)
    session = Session(Place(pending), embedder, Choice())
    asked = drive(pending, embedder, ["A"], session=session)
    assert "Apply 3 pending proposals as one run?" in asked.text
    assert "1 merge, 1 synthesize, 1 update: 7 memories are superseded, 2 texts" in asked.text
    drive(pending, embedder, ["A", "escape"], session=session)
    assert picture(pending, WRITTEN) == before
    shown = drive(pending, embedder, ["slash", '"wiki backup', "enter", "A"], session=session)
    assert "Apply 1 pending proposal found as one run?" in shown.text
    done = drive(pending, embedder, ["A", "@#yes"], session=session)
    assert any(message.startswith("Applied 3 of 3.") for message in done.notes)
    assert set(states(pending).values()) == {"applied"}
    drive(pending, embedder, ["u", "u", "u"], session=session)
    assert picture(pending, WRITTEN) == before
    assert session.summary() == "3 proposals pending."


def test_concurrent_decisions_stop_all(pending: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    session = Session(Place(pending), embedder, Choice())
    session.load()
    assert cli("review", "decline", pending, UPDATE).code == 0
    with unchanged(picture, pending, WRITTEN):
        drive(pending, embedder, ["A", "@#yes"], session=session)
    drive(pending, embedder, ["A", "@#yes"], session=session)
    assert sorted(states(pending).values()) == ["applied", "applied", "declined"]


def test_undo_reverts_a_decline(pending: Path, cli: Cli, embedder: SentenceEmbedder) -> None:
    session = Session(Place(pending), embedder, Choice())
    drive(pending, embedder, ["d", '"not so', "enter"], session=session)
    shown = cli("review", "show", pending, MERGE, "--json").json["proposals"][0]
    assert (shown["state"], shown["why"]) == ("declined", "declined by a person: not so")
    drive(pending, embedder, ["u"], session=session)
    shown = cli("review", "show", pending, MERGE, "--json").json["proposals"][0]
    assert (shown["state"], shown["why"]) == ("pending", "queued for review")
    drive(pending, embedder, ["d", '"not so', "escape"], session=session)
    assert states(pending)[MERGE] == "pending"
    assert session.summary() == "3 proposals pending."


def test_only_supported_words_are_applied(pending: Path, embedder: SentenceEmbedder) -> None:
    clear = ["n", "e", "f7", "delete"]
    shown = drive(pending, embedder, [*clear, '"Helvi settles 17 invoices.', "ctrl+s"])
    assert "Not applied, rejected:" in shown.text
    assert "Helvi settles 17 invoices." in shown.text
    assert states(pending)[SYNTHESIS] == "pending"
    shown = drive(pending, embedder, [*clear, f'"{IN_ONE}', "ctrl+s"])
    assert IN_ONE in active(pending)
    (derived,) = rows(pending, "SELECT content FROM memories WHERE origin = 'human'")
    assert derived["content"] == IN_ONE
    assert " edited    synthesize" in shown.text


def test_a_key_without_effect_says_why(pending: Path, embedder: SentenceEmbedder) -> None:
    messages = " ".join(drive(pending, embedder, ["e", "u"]).notes)
    assert "This proposal writes no new text" in messages
    assert "There is no decision to undo" in messages


def test_the_mouse_does_what_the_keys_do(pending: Path, embedder: SentenceEmbedder) -> None:
    # The third line of the list, "Approve" in the footer, and the button of a question.
    shown = drive(pending, embedder, ["@20,3"])
    assert f"3 of 3 · {UPDATE}" in shown.lines[0]
    (footer,) = (n for n, line in enumerate(shown.lines) if "a Approve" in line)
    approve = shown.lines[footer].index("Approve")
    drive(pending, embedder, ["@20,3", f"@{approve},{footer}"])
    assert states(pending)[UPDATE] == "applied"
    drive(pending, embedder, ["@20,1", "d", "@#yes"])
    assert states(pending)[MERGE] == "declined"


def test_a_changed_source_makes_a_proposal_stale(pending: Path, embedder: SentenceEmbedder) -> None:
    execute(pending, "UPDATE memories SET content = content || '!' WHERE content LIKE '%02:30%'")
    with unchanged(picture, pending, WRITTEN):
        shown = drive(pending, embedder, ["n", "n", "a"])
        assert any(item.startswith("Not applied, stale: memory smoke-05") for item in shown.notes)
        assert " stale     update" in shown.text


@pytest.mark.parametrize("keys", [["a"], ["d", "@#yes"]])
def test_stale_screens_catch_up(keys: list[str], pending: Path, embedder: SentenceEmbedder) -> None:
    session = Session(Place(pending), embedder, Choice())
    session.load()
    drive(pending, embedder, ["a", "n", "a"])
    with unchanged(picture, pending):
        shown = drive(pending, embedder, [*keys, "a"], session=session)
        assert "It was decided by another program." in shown.notes
        decided = f"Proposal {MERGE} is no longer pending: it was applied on "
        assert any(item.startswith(decided) for item in shown.notes)
        assert f"1 of 3 · {MERGE} decided" in shown.lines[0]
        assert session.summary() == "1 proposal pending."


def test_a_run_that_locks_the_file_is_named(pending: Path, embedder: SentenceEmbedder) -> None:
    session = Session(Place(pending), embedder, Choice())
    with maintenance_lock(pending):
        shown = drive(pending, embedder, ["a"], session=session)
    assert any("maintenance run" in item for item in shown.notes), shown.notes
    assert f"1 of 3 · {MERGE} pending" in shown.lines[0]
    drive(pending, embedder, ["a"], session=session)
    assert states(pending)[MERGE] == "applied"


def test_an_empty_queue_is_an_empty_list(memory_file: Path, embedder: SentenceEmbedder) -> None:
    shown = drive(memory_file, embedder, ["a", "d", "e", "n", "p", "l", "pagedown"])
    assert "nothing is pending" in shown.lines[0]


# ---- at a terminal ----


def at_a_terminal(path: Path, keys: bytes = b"", sends: int | None = None) -> tuple[int, str, bool]:
    """Run the command at a terminal, and send keys or a signal.

    Return the exit code, the output, and whether the terminal is restored.
    """
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-m", "slowwave.cli", "review", str(path), "--tui"]
    size = {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen(
        command, **streams, env=os.environ | size, start_new_session=True
    ) as process:
        shown = _read_until(ours, b"Approve")
        if sends is not None:
            process.send_signal(sends)
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


@pytest.mark.parametrize(
    ("sent", "code", "output"),
    [({"keys": b"q"}, 0, "3 proposals pending."), ({"sends": signal.SIGTERM}, 143, "")],
    ids=["quit", "SIGTERM"],
)
def test_the_end_of_the_screen_restores_the_terminal(
    sent: dict[str, Any], code: int, output: str, pending: Path
) -> None:
    ended, shown, is_restored = at_a_terminal(pending, **sent)
    assert (ended, is_restored) == (code, True), shown
    assert output in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("arguments", "output"),
    [(["list", "--tui"], "requires a terminal"), (["approve", "--all", "--tui"], "--tui")],
)
def test_a_terminal_is_needed(pending: Path, cli: Cli, arguments: list[str], output: str) -> None:
    cli("review", *arguments, pending).ends(2, output)
    assert set(states(pending).values()) == {"pending"}


def test_the_package_is_optional(pending: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.extensions.screen.start._refuse_without_terminal", lambda: None)
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.delitem(sys.modules, "slowwave.extensions.screen.screen")
    install = "pip install --require-hashes --no-deps -r locks/tui.txt"
    assert cli("review", pending, "--tui").ends(2, install).out == ""
