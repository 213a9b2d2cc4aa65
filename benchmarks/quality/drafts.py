"""Section 4: drafts of a hostile writer, and faithful ones, through verification."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.table import Table

from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.verification.verify import find_distance, find_faults

from .bench import Bench, Json
from .rates import rate_of, shown

SETS = (
    *("drafts-tuned", "drafts-tuned-2", "drafts-tuned-3", "drafts-tuned-4"),
    "drafts-held-out",
)
# Cases of a set, in a quick run.
_QUICK = 2


def run(bench: Bench) -> Json:
    """Give how much of each kind was turned down."""
    results = {name: _measured(bench, name) for name in SETS}
    bench.embedder.keep()
    return results


def tables(results: Json) -> Iterator[Table]:
    """Give a table a set."""
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
    if find_faults(draft, sources, case["operation"]):
        return True
    return bool(find_distance(bench.embedder.encode([draft.text])[0], sources))


def _row(kind: str, faithful: bool, outcomes: list[bool]) -> Json:
    return {"kind": kind, "faithful": faithful, "turned down": rate_of(outcomes)}
