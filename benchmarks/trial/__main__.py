"""Run a night with a real but very weak model, which makes every mistake of better ones.

    python -m benchmarks.trial --server PYTHON --weights FILE.gguf [--memories N] [--folder PATH]

`slowwave maintain` asks the model on a local server, as a user would run it. Exits with 1 if the
file is damaged, contains anything false, or cannot be restored by an undo.
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
    read_made,
    read_tables,
    rejections,
)
from .memories import first_memories
from .server import NotServed, served

_LIFE = "life-developed"
_NAME = "smollm2-135m"
# The exit codes of a night: done, failed without a change, partly done.
_EXPECTED_CODES = (0, 1, 3)
_MAX_SHOWN = 10


@dataclass(frozen=True)
class Night:
    """The exit code, report, stderr and seconds of a night."""

    code: int
    report: Json
    errors: str
    seconds: float


def main() -> None:
    """Run the trial."""
    args = _parser().parse_args()
    folder: Path = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    gold = QUALITY / f"{_LIFE}.gold.json"
    life = first_memories(source_of_files(QUALITY / f"{_LIFE}.jsonl", gold), args.memories)
    path = _fill(folder, life)
    memories, tables = active(path), read_tables(path)
    try:
        with served(args.server, args.weights, _NAME, folder / "server.log") as address:
            night = _night(path, folder, address)
    except NotServed as error:
        sys.exit(str(error))
    checks = [_check_end(night)]
    if night.report:
        checks += _check_night(path, night, memories, life)
        checks += _check_undo(path, night, tables)
    _print("")
    for check in checks:
        _print(f"{'NO ' if check.faults else 'yes'}  {check.name}")
        for fault in check.faults[:_MAX_SHOWN]:
            _print(f"       {fault}")
    sys.exit(any(check.faults for check in checks))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trial", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--server", type=Path, required=True, help="the interpreter with llama_cpp")
    parser.add_argument("--weights", type=Path, required=True, help="the model, a GGUF file")
    parser.add_argument("--memories", type=int, default=200, help="number of memories")
    parser.add_argument("--folder", type=Path, default=Path("build/trial-model"))
    return parser


def _slowwave(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    # Without the user's settings.
    environment = {name: value for name, value in os.environ.items() if "SLOWWAVE" not in name}
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "slowwave.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def _fill(folder: Path, life: Source) -> Path:
    """Create a memory file with the memories of a life."""
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
    # The server answers one request at a time.
    settings = f"api_base = '{address}'\nconcurrency = 1\nrecord = '{answers.resolve()}'\n"
    path.with_name("slowwave.toml").write_text(settings, "utf-8")
    start = time.monotonic()
    done = _slowwave("maintain", path, "--model", f"openai/{_NAME}", "--json")
    seconds = time.monotonic() - start
    (folder / "report.json").write_text(done.stdout, "utf-8")
    report = json.loads(done.stdout) if done.stdout else {}
    return Night(done.returncode, report, done.stderr, seconds)


def _check_end(night: Night) -> Check:
    is_right = night.code in _EXPECTED_CODES and night.report and "Traceback" not in night.errors
    return Check(
        f"the night ends with a report and a known exit code ({night.code})",
        () if is_right else tuple(night.errors.splitlines()[-_MAX_SHOWN:]) or ("no report",),
    )


def _check_night(path: Path, night: Night, memories: Sequence[Stored], life: Source) -> list[Check]:
    """Print what the night changed, and check it."""
    made = read_made(path)
    for line in _summary(night, made):
        _print(line)
    figures = life_figures(life_of(path, memories, life.gold))
    return [
        _check_file(path, "after the night"),
        *checks_of_claims(made),
        *checks_of_answers(figures),
    ]


def _summary(night: Night, made: Sequence[Made]) -> Iterator[str]:
    report, usage = night.report, night.report["model"]
    states = Counter(proposal["state"] for proposal in report["proposals"] if proposal["by_model"])
    asked = Counter(question["state"] for question in report["questions"])
    yield (
        f"{report['before']['active']} -> {report['after']['active']} memories; "
        f"{len(report['questions'])} questions ({_counts(asked)}), groups: {_counts(states)}"
    )
    yield (
        f"{usage['calls']} calls, {usage['prompt_tokens']:,} tokens read, "
        f"{usage['completion_tokens']:,} written, {night.seconds:.0f} seconds"
    )
    yield "\nRejected, by reason:"
    yield from rejections(report)
    reworded = [(memory, text, cited) for memory in made for text, cited in memory.reworded]
    claims = sum(len(memory.claims) for memory in made)
    yield f"\n{len(reworded)} of {claims} claims in {len(made)} memories are not verbatim:"
    for memory, text, cited in reworded:
        yield f"  {memory.operation} {memory.id}: {text}"
        yield from (f"      {' '.join(source.split())}" for source in cited)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def _check_file(path: Path, when: str) -> Check:
    done = _slowwave("check", path)
    lines = () if done.returncode == 0 else tuple((done.stdout + done.stderr).splitlines())
    return Check(f"the file is intact {when}", lines)


def _check_undo(path: Path, night: Night, before: dict[str, list[str]]) -> list[Check]:
    if night.report["run"] is None:
        return []
    done = _slowwave("undo", path, night.report["run"])
    after = read_tables(path)
    faults = done.stderr.splitlines() if done.returncode else []
    faults += [f"{table} was not restored" for table in before if before[table] != after[table]]
    return [Check("undo restores the file", tuple(faults)), _check_file(path, "after the undo")]


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
