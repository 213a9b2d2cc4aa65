"""A night with a real model, bad as it is: what may go wrong with a better one goes wrong here.

    python -m benchmarks.trial --server PYTHON --weights FILE.gguf [--memories N] [--folder PATH]

The model is served on this machine and asked by `slowwave maintain`, as a user would have it done.
Ends with 1 if the file is not whole, anything false is in it, or it cannot be taken back.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.bench import QUALITY, Json
from benchmarks.quality.known_answers import Stored, life_figures
from benchmarks.quality.life import Source, active, life_of, source_of_files

from .findings import (
    Check,
    Made,
    checks_of_answers,
    checks_of_claims,
    made_by_the_model,
    turned_down,
    what_agents_see,
)
from .memories import some_of
from .server import NotServed, served

_LIFE = "life-developed"
_NAME = "smollm2-135m"
# How a night may end: done, failed with nothing changed, partly done.
_FINE = (0, 1, 3)
_AGAINST_SHOWN = 10


@dataclass(frozen=True)
class Night:
    """A night of the trial: how it ended, what it reported, what it took."""

    code: int
    report: Json
    errors: str
    seconds: float


def main() -> None:
    """Run the trial."""
    chosen = _parser().parse_args()
    folder: Path = chosen.folder
    folder.mkdir(parents=True, exist_ok=True)
    gold = QUALITY / f"{_LIFE}.gold.json"
    life = some_of(source_of_files(QUALITY / f"{_LIFE}.jsonl", gold), chosen.memories)
    path = _filled(folder, life)
    told, before = active(path), what_agents_see(path)
    try:
        with served(chosen.server, chosen.weights, _NAME, folder / "server.log") as address:
            night = _night(path, folder, address)
    except NotServed as error:
        sys.exit(str(error))
    checks = [_ended_well(night)]
    if night.report:
        checks += _look(path, night, told, life)
        checks += _taken_back(path, night, before)
    _tell("")
    for check in checks:
        _tell(f"{'NO ' if check.against else 'yes'}  {check.name}")
        for against in check.against[:_AGAINST_SHOWN]:
            _tell(f"       {against}")
    sys.exit(any(check.against for check in checks))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trial", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--server", type=Path, required=True, help="the Python that has the server")
    parser.add_argument("--weights", type=Path, required=True, help="the model, a GGUF file")
    parser.add_argument("--memories", type=int, default=200, help="how many of the life's first")
    parser.add_argument("--folder", type=Path, default=Path("build/trial-model"))
    return parser


def _slowwave(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    # Nothing of the user's own settings.
    environment = {name: value for name, value in os.environ.items() if "SLOWWAVE" not in name}
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "slowwave.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def _filled(folder: Path, life: Source) -> Path:
    """Make a new memory file of the trial's memories."""
    for old in folder.glob("memory.*"):
        old.unlink()
    path, lines = folder / "memory.db", folder / "memory.jsonl"
    lines.write_text("".join(f"{line}\n" for line in life.lines), "utf-8")
    for command in (("import", "--empty", path), ("import", path, lines)):
        done = _slowwave(*command)
        if done.returncode:
            sys.exit(done.stderr)
    return path


def _night(path: Path, folder: Path, address: str) -> Night:
    answers = folder / "answers.jsonl"
    answers.unlink(missing_ok=True)
    # One call at a time: the server answers one, and lets the others wait.
    settings = f"api_base = '{address}'\nconcurrency = 1\nrecord = '{answers.resolve()}'\n"
    path.with_name("slowwave.toml").write_text(settings, "utf-8")
    began = time.monotonic()
    done = _slowwave("maintain", path, "--model", f"openai/{_NAME}", "--json")
    seconds = time.monotonic() - began
    (folder / "report.json").write_text(done.stdout, "utf-8")
    report = json.loads(done.stdout) if done.stdout else {}
    return Night(done.returncode, report, done.stderr, seconds)


def _ended_well(night: Night) -> Check:
    fine = night.code in _FINE and night.report and "Traceback" not in night.errors
    return Check(
        f"the night ends with a report and a code of its own ({night.code})",
        () if fine else tuple(night.errors.splitlines()[-_AGAINST_SHOWN:]) or ("no report",),
    )


def _look(path: Path, night: Night, told: Sequence[Stored], life: Source) -> list[Check]:
    """Tell what the night made, and check it."""
    made = made_by_the_model(path)
    for line in _told(night, made):
        _tell(line)
    figures = life_figures(life_of(path, told, life.gold))
    return [_whole(path, "after the night"), *checks_of_claims(made), *checks_of_answers(figures)]


def _told(night: Night, made: Sequence[Made]) -> Iterator[str]:
    report, used = night.report, night.report["model"]
    states = Counter(proposal["state"] for proposal in report["proposals"] if proposal["by_model"])
    asked = Counter(question["state"] for question in report["questions"])
    yield (
        f"{report['before']['active']} -> {report['after']['active']} memories; "
        f"{len(report['questions'])} questions ({_counts(asked)}), groups: {_counts(states)}"
    )
    yield (
        f"{used['calls']} calls, {used['prompt_tokens']:,} tokens read, "
        f"{used['completion_tokens']:,} written, {night.seconds:.0f} seconds"
    )
    yield "\nTurned down, and why:"
    yield from turned_down(report)
    own = [(item, text, cited) for item in made for text, cited in item.own_words]
    claims = sum(len(item.claims) for item in made)
    yield f"\nOf {claims} claims in {len(made)} memories {len(own)} are not verbatim; read them:"
    for item, text, cited in own:
        yield f"  {item.operation} {item.id}: {text}"
        yield from (f"      {' '.join(source.split())}" for source in cited)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def _whole(path: Path, when: str) -> Check:
    done = _slowwave("check", path)
    lines = () if done.returncode == 0 else tuple((done.stdout + done.stderr).splitlines())
    return Check(f"the file is whole {when}", lines)


def _taken_back(path: Path, night: Night, before: dict[str, list[str]]) -> list[Check]:
    if night.report["run"] is None:
        return []
    done = _slowwave("undo", path, night.report["run"])
    after = what_agents_see(path)
    against = [*done.stderr.splitlines()] if done.returncode else []
    against += [f"{table} is not what it was" for table in before if before[table] != after[table]]
    return [Check("undo gives the file back", tuple(against)), _whole(path, "after the undo")]


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
