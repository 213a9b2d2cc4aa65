"""The screen of `slowwave review --tui`, driven without a terminal.

PYTHONPATH=tests python tests/extensions/screen/screens.py   redraw the pictures
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path

from textual.events import Paste
from textual.widgets import Input

from slowwave.consolidation.running.review_queue import Choice
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.extensions.screen.screen import ReviewScreen
from slowwave.extensions.screen.session import Session
from slowwave.store.places import Place

SNAPSHOTS = Path(__file__).parent / "snapshots"
PICTURE = Path(__file__).parents[3] / "docs" / "review.svg"
SIZE = 80, 24
_ID = re.compile(r"\b[0-9a-f]{8}\b")
# How wide a letter is that Textual draws, in units of the picture.
_LETTER = 12.2
# Room, and what bars at the side are made of.
_DRAWN = " ▁▂▃▄▅▆▇█▀▔▕▐▌▏▎▍▋▊▉╸╺━"


@dataclass(frozen=True)
class Piece:
    """Adjacent letters of the same style, without what a theme decides."""

    line: int
    column: int
    text: str
    bold: bool
    underlined: bool
    # Dark letters on light ground, where all else is light on dark.
    reversed: bool


@dataclass
class Shown:
    """A screen as a picture, and its messages."""

    svg: str
    # What was said in passing.
    notes: list[str] = field(default_factory=list)

    @property
    def pieces(self) -> list[Piece]:
        """The letters, from the top."""
        looks = dict(re.findall(r"\.terminal-\d+-(r\d+) \{ (.*?) \}", self.svg))
        texts = re.findall(
            r'<text class="terminal-\d+-(r\d+)" x="([\d.]+)" y="[\d.]+" textLength="[\d.]+" '
            r'clip-path="url\(#terminal-\d+-line-(\d+)\)">(.*?)</text>',
            self.svg,
        )
        return [
            Piece(
                int(line),
                round(float(x) / _LETTER),
                unescape(text).replace("\xa0", " ").rstrip(),
                "bold" in looks[look],
                "underline" in looks[look],
                _is_dark(looks[look]),
            )
            for look, x, line, text in texts
            if unescape(text).replace("\xa0", " ").strip(_DRAWN)
        ]

    @property
    def lines(self) -> list[str]:
        """The letters of each line."""
        rows = [[" "] * SIZE[0] for _ in range(SIZE[1])]
        for piece in self.pieces:
            for index, letter in enumerate(piece.text, start=piece.column):
                with suppress(IndexError):
                    rows[piece.line][index] = letter
        return ["".join(row).rstrip() for row in rows]

    def is_like(self, snapshot: str) -> bool:
        """Whether it shows what a picture in snapshots/ shows: letters, positions and marks.

        Colours, fonts and how a version of Textual writes a picture do not count, nor do the ids of
        proposals, which depend on what a model is asked.
        """
        expected = Shown((SNAPSHOTS / f"{snapshot}.svg").read_text("utf-8"))
        return self._without_ids == expected._without_ids

    @property
    def _without_ids(self) -> list[Piece]:
        return [replace(piece, text=_ID.sub("ID", piece.text)) for piece in self.pieces]

    @property
    def text(self) -> str:
        """The whole screen as text."""
        return "\n".join(self.lines)

    def marked(self, look: str) -> list[str]:
        """Return what is bold, underlined or reversed."""
        return [piece.text.strip() for piece in self.pieces if getattr(piece, look)]


def _is_dark(look: str) -> bool:
    color = re.search(r"fill: #(..)(..)(..)", look)
    return color is not None and sum(int(part, 16) for part in color.groups()) < 0x40 * 3


def drive(
    path: Path,
    embedder: Embedder,
    keys: Sequence[str] = (),
    choice: Choice = Choice(),  # noqa: B008 - it is frozen
    session: Session | None = None,
) -> Shown:
    """Open the screen, press keys, and return what it then shows.

    A key with an @ before it is what the mouse clicks: @#yes a button, @40,3 a place. One with a
    quotation mark before it is pasted.
    """
    session = session or Session(Place(path), embedder, choice)
    if not session.queue:
        session.load()
    return asyncio.run(_driven(ReviewScreen(session, path.name), keys))


async def _driven(app: ReviewScreen, keys: Sequence[str]) -> Shown:
    output: list[str] = []
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        # The footer is filled after the first screen.
        while not app.query("FooterKey"):
            await pilot.pause()
        for key in keys:
            if key.startswith("@#"):
                await pilot.click(key[1:])
            elif key.startswith("@"):
                column, _, line = key[1:].partition(",")
                await pilot.click(offset=(int(column), int(line)))
            elif key.startswith('"'):
                app.post_message(Paste(key[1:]))
            else:
                await pilot.press(key)
            await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.pause()
            output += [
                notification.message
                for notification in app._notifications
                if notification.message not in output
            ]
            app.clear_notifications()
        for line in app.screen.query(Input):
            line.cursor_blink = False  # a slow machine would find it dark
        await pilot.pause()
        return Shown(_without_network(app.export_screenshot(title="slowwave review")), output)


def _without_network(svg: str) -> str:
    """Return a picture that fetches no font."""
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def pending_file(path: Path) -> Path:
    """Make a file of the nine memories of the README, with three pending proposals."""
    from model_nights import SMOKE, every_night_asks, write_smoke
    from model_server import answering, approval
    from nights import NOW

    from slowwave.cli.app import run
    from slowwave.store.exchange import import_lines
    from slowwave.store.file import create_file, open_writing

    create_file(path)
    with open_writing(path) as file, SMOKE.open("rb") as lines:
        import_lines(file, lines, NOW)
    with every_night_asks(answering(write_smoke, approval)):
        assert run(["maintain", str(path), "--review", "always", "-q"]) == 0
    return path


# What each picture is taken after.
PICTURES = {"start": (), "update": ("n", "n"), "lineage": ("n", "n", "l"), "reason": ("d",)}


def pictures(folder: Path, embedder: Embedder) -> dict[str, Shown]:
    """Return the screens that are compared with pictures."""
    path = pending_file(folder / "memory.db")
    return {name: drive(path, embedder, keys) for name, keys in PICTURES.items()}


if __name__ == "__main__":
    SNAPSHOTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as new:
        for name, shown in pictures(Path(new), SentenceEmbedder()).items():
            (SNAPSHOTS / f"{name}.svg").write_text(shown.svg, "utf-8")
            if name == "update":
                PICTURE.write_text(shown.svg, "utf-8")
    sys.stdout.write(f"{PICTURE}\n")
