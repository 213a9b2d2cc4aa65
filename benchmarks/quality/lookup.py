"""How many faults and hints the lookup of facts finds in texts that a person labeled.

    python -m benchmarks.quality.lookup FILE... [--texts] [--held-out]

FILE holds drafts (JSON Lines as for `benchmarks.quality.drafts`, or a TOML file of
`fixtures/quality`) or a model's answers to a life (`NAME.answer.jsonl` or `NAME.answers.json`, with
`NAME.jsonl` in the same folder). Half of the texts, by hash, are held out: `--texts` prints texts
of the first half in which a fault was found, `--held-out` those of the other half.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from slowwave.consolidation.facts.lookup import Fault, find_missing, find_unsupported

from .bench import Json


@dataclass(frozen=True)
class Memory:
    """The fields of a memory that the lookup reads."""

    id: str
    text: str
    observed_at: str


@dataclass(frozen=True)
class Text:
    """A text made from memories, whether it is faithful, and what is wrong with it if not."""

    text: str
    sources: tuple[Memory, ...]
    faithful: bool
    kind: str = ""
    faults: list[Fault] = field(default_factory=list)

    @property
    def is_held_out(self) -> bool:
        """Whether the text is in the half that is not used for development."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.lookup")
    parser.add_argument("files", type=Path, nargs="+", help="drafts, or answers to a life")
    parser.add_argument(
        "--texts", action="store_true", help="print faults, except in the half that is held out"
    )
    parser.add_argument(
        "--held-out", action="store_true", help="print faults in the half that is held out"
    )
    args = parser.parse_args(arguments)
    console = Console()
    for file in args.files:
        if not file.is_file():
            sys.exit(f"absent: {file}")
        texts = list(read_texts(file))
        start = time.process_time()
        for text in texts:
            text.faults.extend(find_unsupported(text.text, text.sources))
        seconds = time.process_time() - start
        console.print(_table(file.name, texts, seconds))
        for text in texts:
            if text.faults and (args.held_out if text.is_held_out else args.texts):
                console.print(*_lines(text), sep="\n", markup=False, highlight=False)


def read_texts(file: Path) -> Iterator[Text]:
    """Yield the texts of a file, with their sources."""
    if file.suffix == ".toml":
        for case in tomllib.loads(file.read_text("utf-8"))["case"]:
            for draft in case["draft"]:
                yield _draft(case | draft)
    elif file.name.endswith(".answer.jsonl"):
        memories = _memories(file.with_name(file.name.replace(".answer.jsonl", ".jsonl")))
        by_id = {memory.id: memory for memory in memories}
        for row in _rows(file):
            if "text" in row:
                sources = tuple(by_id[memory] for memory in row["ids"])
                is_faithful = row["reading"]["severity"] != "real"
                yield Text(row["text"], sources, is_faithful, row["operation"])
    elif file.name.endswith(".answers.json"):
        memories = _memories(file.with_name(file.name.replace(".answers.json", ".jsonl")))
        yield from _texts_of_groups(file, {memory.text: memory for memory in memories})
    else:
        yield from map(_draft, _rows(file))


def _texts_of_groups(file: Path, by_text: Mapping[str, Memory]) -> Iterator[Text]:
    for window in json.loads(file.read_text("utf-8"))["windows"]:
        for group in window["groups"]:
            sources = tuple(by_text[text] for text in group["ids"] if text in by_text)
            if group["claims"] and len(sources) == len(group["ids"]):
                yield Text(_joined(group), sources, faithful=True, kind=group["kind"])


def _rows(file: Path) -> Iterator[Json]:
    yield from map(json.loads, file.read_text("utf-8").splitlines())


def _memories(file: Path) -> list[Memory]:
    if not file.is_file():
        sys.exit(f"absent: {file}")
    return [Memory(row["id"], row["content"], row["observed_at"]) for row in _rows(file)]


def _draft(row: Json) -> Text:
    sources = tuple(
        Memory(source["id"], source["text"], source["said"]) for source in row["sources"]
    )
    return Text(_joined(row), sources, row["faithful"], row["kind"])


def _joined(row: Json) -> str:
    return " ".join(claim["text"] for claim in row["claims"])


def _table(name: str, texts: Sequence[Text], seconds: float) -> Table:
    title = f"{name}: {1000 * seconds / max(1, len(texts)):.1f} ms per text"
    table = Table(
        "half", "texts are", "n", "with a fault", "faults by kind", "hints per text", title=title
    )
    for held_out, faithful in product((False, True), (True, False)):
        part = [text for text in texts if (text.is_held_out, text.faithful) == (held_out, faithful)]
        if part:
            kinds = Counter(fault.kind for text in part for fault in text.faults)
            hints = sum(len(find_missing(text.text, text.sources)) for text in part)
            table.add_row(
                "held out" if held_out else "seen",
                "faithful" if faithful else "wrong",
                str(len(part)),
                str(sum(bool(text.faults) for text in part)),
                ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()),
                f"{hints / len(part):.1f}",
            )
    return table


def _lines(text: Text) -> Iterator[str]:
    yield f"{'faithful' if text.faithful else 'wrong'} {text.kind}: {text.text}"
    yield from (f"    {source.observed_at[:10]} {source.text}" for source in text.sources)
    yield from (f"  ! {fault.words} ({fault.kind})" for fault in text.faults)


if __name__ == "__main__":
    main()
