"""How many faults and hints looking up finds in texts whose faults a person read.

    python -m benchmarks.quality.lookup FILE... [--texts] [--kept-apart]

takes drafts (JSON Lines as for `benchmarks.quality.drafts`, or a TOML file of `fixtures/quality`)
and a model's answers to a life (`NAME.answer.jsonl` or `NAME.answers.json` next to `NAME.jsonl`).
Half of the texts, by hash, are kept apart: `--texts` prints those of the other half in which
something was found, `--kept-apart` those of this one.
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
from pathlib import Path

from rich.console import Console
from rich.table import Table

from slowwave.consolidation.facts.lookup import Fault, find_missing, find_unsupported

from .bench import Json


@dataclass(frozen=True)
class Memory:
    """A memory, as much as is needed to look something up in it."""

    id: str
    text: str
    observed_at: str


@dataclass(frozen=True)
class Text:
    """A text made from memories: whether it is faithful and, if not, what is wrong."""

    text: str
    sources: tuple[Memory, ...]
    faithful: bool
    kind: str = ""
    found: list[Fault] = field(default_factory=list)

    @property
    def kept_apart(self) -> bool:
        """Whether it is of the half that nobody looks at before the end."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on the files that are named, and print a table of each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.lookup")
    parser.add_argument("files", type=Path, nargs="+", help="drafts, or answers to a life")
    parser.add_argument(
        "--texts", action="store_true", help="print faults, but of the half kept apart"
    )
    parser.add_argument(
        "--kept-apart", action="store_true", help="print faults of the half kept apart"
    )
    chosen = parser.parse_args(arguments)
    console = Console()
    for file in chosen.files:
        if not file.is_file():
            sys.exit(f"absent: {file}")
        texts = list(read_texts(file))
        began = time.process_time()
        for text in texts:
            text.found.extend(find_unsupported(text.text, text.sources))
        seconds = time.process_time() - began
        console.print(_table(file.name, texts, seconds))
        for text in texts:
            if text.found and (chosen.kept_apart if text.kept_apart else chosen.texts):
                console.print(*_lines(text), sep="\n", markup=False, highlight=False)


def read_texts(file: Path) -> Iterator[Text]:
    """Yield the texts of a file, with their sources."""
    if file.suffix == ".toml":
        for case in tomllib.loads(file.read_text("utf-8"))["case"]:
            for draft in case["draft"]:
                yield _draft(case | draft)
    elif file.name.endswith(".answer.jsonl"):
        memories = _memories(file.with_name(file.name.replace(".answer.jsonl", ".jsonl")))
        known = {memory.id: memory for memory in memories}
        for row in _rows(file):
            if "text" in row:
                real = row["reading"]["severity"] == "real"
                sources = tuple(known[item] for item in row["ids"])
                yield Text(row["text"], sources, not real, row["operation"])
    elif file.name.endswith(".answers.json"):
        memories = _memories(file.with_name(file.name.replace(".answers.json", ".jsonl")))
        yield from _texts_of_groups(file, {memory.text: memory for memory in memories})
    else:
        yield from map(_draft, _rows(file))


def _texts_of_groups(file: Path, known: Mapping[str, Memory]) -> Iterator[Text]:
    for window in json.loads(file.read_text("utf-8"))["windows"]:
        for group in window["groups"]:
            sources = tuple(known[text] for text in group["ids"] if text in known)
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
    title = f"{name}: {1000 * seconds / max(1, len(texts)):.1f} ms a text"
    table = Table(
        "half", "texts are", "n", "with a fault", "faults by kind", "hints a text", title=title
    )
    for kept_apart in (False, True):
        for faithful in (True, False):
            some = [
                text for text in texts if (text.kept_apart, text.faithful) == (kept_apart, faithful)
            ]
            if some:
                kinds = Counter(fault.kind for item in some for fault in item.found)
                hints = sum(len(find_missing(item.text, item.sources)) for item in some)
                table.add_row(
                    "kept apart" if kept_apart else "seen",
                    "faithful" if faithful else "wrong",
                    str(len(some)),
                    str(sum(bool(item.found) for item in some)),
                    ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()),
                    f"{hints / len(some):.1f}",
                )
    return table


def _lines(text: Text) -> Iterator[str]:
    yield f"{'faithful' if text.faithful else 'wrong'} {text.kind}: {text.text}"
    yield from (f"    {source.observed_at[:10]} {source.text}" for source in text.sources)
    yield from (f"  ! {fault.words} ({fault.kind})" for fault in text.found)


if __name__ == "__main__":
    main()
