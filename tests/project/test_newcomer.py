"""A newcomer decides about a night: the commands of the review example, one after another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import readme
from browser import CHROMIUM, browser
from model_nights import SMOKE
from nights import active, rows
from readme import commands_of
from reviews import states

INVOICES, PLANTS = "46c1dc6d", "1fea9721"
SAID_AGAIN = "User said that Helvi settles the invoices on the first Tuesday of the month."


@dataclass(frozen=True)
class Evening:
    """A folder in which the commands of the example were run, and what each of them wrote."""

    folder: Path
    said: Mapping[str, str]
    # What it wrote to stderr.
    notes: Mapping[str, str]
    # The memory file as each command left it.
    files: Mapping[str, Path]

    def after(self, start: str) -> tuple[str, Path]:
        """Return what the command that begins so wrote, and the file that it left."""
        (command,) = (each for each in self.said if each.startswith(f"slowwave {start}"))
        return self.said[command], self.files[command]


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Evening:
    """Provide what comes of the commands, each of which a shell runs by itself."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "fixtures").mkdir()
    shutil.copy(SMOKE, folder / "fixtures")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "slowwave").write_text(f'#!/bin/sh\nexec {sys.executable} -m slowwave.cli "$@"\n')
    (programs / "slowwave").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")}
    environment = {**kept, "PATH": f"{programs}:{os.environ['PATH']}"}
    message: dict[str, str] = {}
    notes: dict[str, str] = {}
    files: dict[str, Path] = {}
    for command in commands_of(readme.example("review")):
        ended = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, (command, ended.stderr)
        message[command] = ended.stdout
        notes[command] = ended.stderr
        files[command] = Path(shutil.copy(folder / "review.db", folder / f"{len(files)}.db"))
    return Evening(folder, message, notes, files)


def test_a_night_in_review_mode_leaves_all_as_it_is_and_lists_what_waits(evening: Evening) -> None:
    message, path = evening.after("maintain")
    assert "2 pending: 2 merge. Decide with: slowwave review review.db" in message
    assert len(active(path)) == 11
    assert evening.said["slowwave review review.db"].count("(pending)") == 2


def test_one_proposal_is_approved_and_its_duplicate_is_gone_then(evening: Evening) -> None:
    message, path = evening.after("review approve")
    assert "Take it back with: slowwave undo review.db" in message
    assert states(path) == {INVOICES: "applied", PLANTS: "pending"}
    assert SAID_AGAIN not in active(path)


def test_one_proposal_is_declined_and_its_reason_is_kept(evening: Evening) -> None:
    message, path = evening.after("review decline")
    assert "Declined 1 proposal." in message
    (declined,) = rows(path, "SELECT why FROM proposals WHERE state = 'declined'")
    assert declined["why"] == "declined by a person: the plants move next week"
    assert "User said that Ines waters the office plants on Mondays." in active(path)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_the_report_opens_in_a_browser_and_shows_each_proposal(
    evening: Evening, tmp_path: Path
) -> None:
    page = evening.folder / "night.html"
    with browser(tmp_path / "profile") as shown:
        shown.open(page, 1_000)
        # Not innerText: the browser leaves out of it what it has not drawn yet.
        items = shown.value("[...document.querySelectorAll('.item')].map((one) => one.textContent)")
        assert shown.complaints == []
    proposals = "\n".join(items)
    for each in ("Ines waters the office plants on Mondays.", INVOICES, PLANTS):
        assert each in proposals


def test_a_memory_is_followed_to_its_sources(evening: Evening) -> None:
    message, _ = evening.after("show")
    assert message.startswith("smoke-03 (working, superseded) User said that Helvi settles")
    assert "made into" in message


def test_one_approval_is_taken_back_and_the_decision_not_to_stays(evening: Evening) -> None:
    said, path = evening.after("undo")
    assert "Undid 1 proposal" in said
    assert SAID_AGAIN in active(path)
    assert "1 proposal waits for review again" in evening.notes["slowwave undo review.db 46c1dc6d"]
    waiting = rows(path, "SELECT key FROM proposals WHERE state = 'pending'")
    assert [row["key"][:8] for row in waiting] == [INVOICES]
    assert states(path)[PLANTS] == "declined"
