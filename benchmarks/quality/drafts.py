"""Section 4: drafts of a hostile writer, and faithful ones, through verification.

    python -m benchmarks.quality.drafts FILE.jsonl [--verbose]

measures it on the drafts in a file: a line each, with `sources` (id, said, text), `claims` (text,
sources), `operation`, `style`, `faithful` and, of those that are not, `kind`. A draft is turned
down by a hard fault; one with soft faults alone a second opinion decides about.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.verification.faults import Fault
from slowwave.consolidation.verification.verify import find_distance, find_faults

from .bench import Bench, Json
from .rates import rate_of, shown

SETS = (
    *("drafts-tuned", "drafts-tuned-2", "drafts-tuned-3", "drafts-tuned-4"),
    "drafts-held-out",
)
# Faults are found in texts alone.
_NO_VECTOR = np.zeros(0, dtype=np.float32)
# Cases of a set, in a quick run.
_QUICK = 2


def run(bench: Bench) -> Json:
    """Return how much of each kind was turned down."""
    results = {name: _measured(bench, name) for name in SETS}
    bench.embedder.keep()
    return results


def tables(results: Json) -> Iterator[Table]:
    """Yield a table a set."""
    for name, result in results.items():
        table = Table("kind", "drafts are", "n", "turned down", title=name)
        for row in [*result["rows"], *result["totals"]]:
            is_faithful = "faithful" if row["faithful"] else "corrupted"
            turned_down = row["turned down"]
            table.add_row(row["kind"], is_faithful, str(turned_down["n"]), shown(turned_down))
        yield table


def _measured(bench: Bench, name: str) -> Json:
    bench.say(f"drafts: {name}")
    outcomes: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    cases = bench.fixture(f"{name}.toml", "case")[: _QUICK if bench.quick else None]
    # All at once: one by one takes several times as long.
    bench.embedder.encode([_draft(row).text for case in cases for row in case["draft"]])
    for case in cases:
        sources = _sources(bench, case)
        for row in case["draft"]:
            turned_down = _is_turned_down(bench, case, sources, _draft(row))
            outcomes[row["faithful"], row["kind"]].append(turned_down)
    return {
        "rows": [_row(kind, said, outcomes[said, kind]) for said, kind in sorted(outcomes)],
        "totals": [
            _row(
                "all",
                faithful,
                [one for (said, _), each in outcomes.items() if said == faithful for one in each],
            )
            for faithful in (False, True)
        ],
    }


def _sources(bench: Bench, case: Json) -> list[Source]:
    vectors = bench.embedder.encode([row["text"] for row in case["sources"]])
    return [
        Source(row["id"], row["text"], f"{row['said']}T09:00:00+00:00", vector)
        for row, vector in zip(case["sources"], vectors, strict=True)
    ]


def _draft(row: Json) -> Draft:
    return Draft(tuple(Claim(claim["text"], tuple(claim["sources"])) for claim in row["claims"]))


def _is_turned_down(bench: Bench, case: Json, sources: list[Source], draft: Draft) -> bool:
    if any(not one.soft for one in find_faults(draft, sources, case["operation"])):
        return True
    return bool(find_distance(bench.embedder.encode([draft.text])[0], sources))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on the file that is named, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.drafts")
    parser.add_argument("file", type=Path, help="drafts, a JSON object a line")
    parser.add_argument("--verbose", action="store_true", help="the texts of what went wrong")
    chosen = parser.parse_args(arguments)
    if not chosen.file.is_file():
        sys.exit(f"absent: {chosen.file}")
    drafts = [json.loads(line) for line in chosen.file.read_text("utf-8").splitlines()]
    found = [(row, _faults_of(row)) for row in drafts]
    table = Table("style", "drafts are", "n", "turned down", "or in doubt", title=chosen.file.name)
    for style, faithful in sorted({(row["style"], row["faithful"]) for row in drafts}):
        some = [
            faults for row, faults in found if (row["style"], row["faithful"]) == (style, faithful)
        ]
        hard = rate_of(any(not one.soft for one in faults) for faults in some)
        any_fault = rate_of(bool(faults) for faults in some)
        kind = "faithful" if faithful else "wrong"
        table.add_row(style, kind, str(len(some)), shown(hard), shown(any_fault))
    console = Console()
    console.print(table)
    console.print(_missed(found, chosen.file.name))
    if chosen.verbose:
        for row, faults in found:
            for line in _told(row, faults):
                console.print(line, markup=False)


def _missed(found: Sequence[tuple[Json, Sequence[Fault]]], name: str) -> Table:
    """Return how many of the wrong drafts of each kind nothing was found in."""
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for row, faults in found:
        if not row["faithful"]:
            by_kind[row["kind"]].append(not faults)
    table = Table("kind", "n", "passed", title=f"{name}: wrong drafts that passed")
    for kind, missed in sorted(by_kind.items()):
        table.add_row(kind, str(len(missed)), shown(rate_of(missed)))
    return table


def _faults_of(row: Json) -> list[Fault]:
    sources = [
        Source(one["id"], one["text"], f"{one['said']}T09:00:00+00:00", _NO_VECTOR)
        for one in row["sources"]
    ]
    return find_faults(_draft(row), sources, row["operation"])


def _told(row: Json, faults: Sequence[Fault]) -> Iterator[str]:
    """Yield a draft that was judged wrongly, with its sources and why."""
    if bool(faults) != row["faithful"]:
        return
    yield f"{row['style']} {row['kind'] or 'faithful'}:"
    yield from (f"    {one['id']} {one['said']} {one['text']}" for one in row["sources"])
    yield from (f"  - {one['text']} [{', '.join(one['sources'])}]" for one in row["claims"])
    yield from (f"    {'?' if one.soft else '!'} {one.why}" for one in faults)


def _row(kind: str, faithful: bool, outcomes: list[bool]) -> Json:
    return {"kind": kind, "faithful": faithful, "turned down": rate_of(outcomes)}


if __name__ == "__main__":
    main()
