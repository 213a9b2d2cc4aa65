"""The parts of the pages that the program itself can give, between their comments.

python tests/readme.py      write them anew
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from nights import night, rows

from slowwave.cli.exits import MEANINGS
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference.md"
# Which page holds which part.
PAGES = {"before": README, "after": README, "help": REFERENCE, "exits": REFERENCE}
SMOKE = ROOT / "fixtures" / "smoke.jsonl"
# Memories that only a model can tell once, and what one answered about them.
RETOLD = ROOT / "fixtures" / "retold.jsonl"
ANSWERS = ROOT / "fixtures" / "retold.answers.jsonl"


def block(text: str, name: str) -> str:
    """Return what stands between the comments of this name."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    assert found is not None, f"no part is named {name}"
    return found.group(1)


def before() -> str:
    """Return the memories of the smoke fixture, as a reader sees them."""
    lines = [json.loads(line) for line in SMOKE.read_text("utf-8").splitlines()]
    return _fenced(
        "text", "".join(f"{one['observed_at'][:10]}  {one['content']}\n" for one in lines)
    )


def after(embedder: SentenceEmbedder) -> str:
    """Return what a night makes of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        create_file(path)
        with open_writing(path) as file, SMOKE.open("rb") as lines:
            from nights import NOW

            import_lines(file, lines, NOW)
        night(path, embedder)
        active = rows(
            path,
            "SELECT layer, content FROM memories WHERE status = 'active' ORDER BY observed_at, id",
        )
    return _fenced("text", "".join(f"{one['layer']:<8} {one['content']}\n" for one in active))


def help_text() -> str:
    """Return the help of maintain, at a fixed width."""
    ended = subprocess.run(
        [sys.executable, "-m", "slowwave.cli", "maintain", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "100", "TERMINAL_WIDTH": "100", "PATH": ""},
    )
    options = ended.stdout.split("Options:\n")[1].split("Exit codes:")[0]
    return _fenced("text", "\n".join(line[2:] for line in options.rstrip().splitlines()) + "\n")


def exits() -> str:
    """Return the table of exit codes."""
    table = "| code | meaning |\n|---|---|\n"
    return table + "".join(f"| {code.value} | {said} |\n" for code, said in MEANINGS.items())


def parts(embedder: SentenceEmbedder) -> dict[str, str]:
    """Return every part that the program can give."""
    return {
        "before": before(),
        "after": after(embedder),
        "help": help_text(),
        "exits": exits(),
    }


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}```\n"


if __name__ == "__main__":
    for name, part in parts(SentenceEmbedder()).items():
        written = PAGES[name].read_text("utf-8")
        made = written.replace(
            f"<!-- {name} -->\n{block(written, name)}", f"<!-- {name} -->\n{part}"
        )
        PAGES[name].write_text(made, "utf-8")
