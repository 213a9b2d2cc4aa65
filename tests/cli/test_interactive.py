"""A night that asks about each proposal, by the program itself at a real terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from builders import until_closed
from cli_calls import Cli
from nights import active, picture, rows
from reviews import IN_ONE, states

from slowwave.cli.app import run

pytestmark = pytest.mark.usefixtures("smoke_model")

COMMAND = [sys.executable, "-m", "slowwave.cli", "review", "ask"]


def at_a_terminal(path: Path, answers: str, **environment: str) -> tuple[int, str]:
    """Let a night's proposals wait, answer about each, and give the exit code and the screen."""
    assert run(["maintain", str(path), "--review", "always", "--quiet"]) == 0
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            [*COMMAND, str(path)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "dumb", **environment},
            start_new_session=True,
        ) as process:
            os.close(theirs)
            os.write(ours, answers.encode())
            shown = b"".join(until_closed(ours))
        return process.returncode, shown.decode().replace("\r\n", "\n")
    finally:
        os.close(ours)


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C until it is heard: what comes just before Python waits for a key is not."""
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)


def test_what_gets_a_yes_is_applied_and_what_gets_a_no_is_declined(smoke: Path) -> None:
    code, shown = at_a_terminal(smoke, "y\ny\nn\n")
    assert code == 0, shown
    assert sorted(states(smoke).values()) == ["applied", "applied", "declined"]
    # A merge writes no text that could be edited.
    assert "(1/3) Apply this merge [y,n,q,?]?" in shown
    assert "(2/3) Apply this synthesis [y,n,e,q,?]?" in shown
    assert "2 applied. Take it back with: slowwave undo" in shown
    assert "1 proposal declined." in shown
    (declined,) = rows(smoke, "SELECT sources FROM proposals WHERE state = 'declined'")
    standing = {row["id"] for row in rows(smoke, "SELECT id FROM memories WHERE status = 'active'")}
    assert set(json.loads(declined["sources"])) <= standing
    # The night, and what was said yes to: one run each.
    assert len(rows(smoke, "SELECT id FROM runs")) == 2


def test_each_proposal_is_shown_with_what_differs(smoke: Path) -> None:
    _, shown = at_a_terminal(smoke, "n\nn\nq\n", TERM="xterm")
    assert "  - 2026-02-06  \x1b[4mUser said that\x1b[0m Helvi settles the invoices" in shown
    assert "\x1b[4mnow\x1b[0m runs at 03:30" in shown
    assert "\x1b[1mEvery\x1b[0m" in shown


def test_who_quits_leaves_the_rest_waiting_and_is_asked_about_it_the_next_time(
    smoke: Path,
) -> None:
    before = picture(smoke, ["memories"])
    code, shown = at_a_terminal(smoke, "q\n")
    assert (code, set(states(smoke).values())) == (0, {"pending"})
    assert "3 proposals wait. Decide with: slowwave review" in shown
    assert picture(smoke, ["memories"]) == before
    code, shown = at_a_terminal(smoke, "y\n\x04")
    assert code == 0
    assert sorted(states(smoke).values()) == ["applied", "pending", "pending"]


def test_a_wrong_key_gets_help_and_the_question_again(smoke: Path) -> None:
    _, shown = at_a_terminal(smoke, "x\n?\nq\n")
    assert shown.count("do not apply it, and do not propose it again") == 2
    assert shown.count("(1/3) Apply") == 3


def test_other_words_are_checked_and_written_and_asked_for_again_if_they_are_false(
    smoke: Path, tmp_path: Path
) -> None:
    editor = tmp_path / "editor.py"
    # The first time it says another time of day.
    editor.write_text(
        "import pathlib, sys\n"
        "been = pathlib.Path(sys.argv[0] + '.been')\n"
        f"said = {IN_ONE!r}\n"
        "said = said if been.exists() else said.replace('14:00', '15:00')\n"
        "been.touch()\n"
        "pathlib.Path(sys.argv[1]).write_text(said)\n"
    )
    # The merge, the synthesis in other words, and the update.
    answers = "y\ne\ne\ny\n"
    code, shown = at_a_terminal(smoke, answers, EDITOR=f"{sys.executable} {editor}", VISUAL="")
    assert code == 0, shown
    assert "15:00" in shown
    assert IN_ONE in active(smoke)
    assert not any("15:00" in each for each in active(smoke))
    assert set(states(smoke).values()) == {"applied"}
    # The night, and all that was said.
    assert len(rows(smoke, "SELECT id FROM runs")) == 2


def test_ctrl_c_at_a_question_leaves_all_waiting_also_what_was_edited(
    smoke: Path, tmp_path: Path
) -> None:
    before = picture(smoke, ["memories"])
    editor = tmp_path / "editor.py"
    editor.write_text(f"import sys\nopen(sys.argv[1], 'w').write({IN_ONE!r})\n")
    assert run(["maintain", str(smoke), "--review", "always", "--quiet"]) == 0
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, str(smoke)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "EDITOR": f"{sys.executable} {editor}", "VISUAL": ""},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        os.write(ours, b"y\ne\n")
        shown = b""
        while b"(3/3)" not in shown:
            shown += os.read(ours, 65_536)
            # Asked twice: the words were refused.
            assert shown.count(b"(2/3)") < 2
        _interrupt(process)
    os.close(ours)
    assert process.returncode == 130
    assert b"These words are accepted." in shown
    assert picture(smoke, ["memories"]) == before
    assert set(states(smoke).values()) == {"pending"}


@pytest.mark.parametrize(
    "arguments",
    [[], ["--json"], ["--quiet"]],
    ids=" ".join,
)
def test_without_a_terminal_it_is_wrong_usage(smoke: Path, cli: Cli, arguments: list[str]) -> None:
    ended = cli("review", "ask", smoke, *arguments)
    assert (ended.code, "review ask" in ended.err) == (2, True)
    assert rows(smoke, "SELECT * FROM runs") == []
