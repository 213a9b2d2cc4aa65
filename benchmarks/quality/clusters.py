"""Section 2: the groups that the planner looks for stable memories in, against known groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table
from sklearn.metrics import adjusted_rand_score, v_measure_score

from slowwave.consolidation.clustering.groups import find_groups, split_group
from slowwave.consolidation.comparison.guards import first_conflict
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.text.reading import Reading
from slowwave.consolidation.thresholds import SYNTHESIZE_SIMILARITY

from .bench import Bench, Json
from .known import fact_of
from .nights import flavours, known_of
from .tenant_views import view

PARAPHRASES = "paraphrase groups"


def run(bench: Bench) -> Json:
    """Return the agreement of found and known groups on each flavour and the shared groups."""
    results = {}
    for name, texts, labels in _sets(bench):
        bench.say(f"clusters: {name}")
        groups = _groups(view(texts, bench.embedder))
        results[name] = _agreement(groups, labels)
    bench.embedder.keep()
    return results


def tables(results: Json) -> Iterator[Table]:
    """Yield one table."""
    first = next(iter(results.values()))
    table = Table("", *first, title="groups of the planner against known groups")
    for name, result in results.items():
        table.add_row(name, *map(str, result.values()))
    yield table


def _sets(bench: Bench) -> Iterator[tuple[str, list[str], list[str]]]:
    for flavour in flavours(bench):
        # What ought to be is grouped apart from what is, and more loosely: see nights.
        told = [one for one in known_of(bench, flavour).told if one.role != "rule"]
        yield flavour, [one.text for one in told], [" ".join(fact_of(one)) for one in told]
    shared = bench.shared("paraphrase-groups.jsonl")
    if shared is not None:
        notes = [(note, str(at)) for at, one in enumerate(shared) for note in one["notes"]]
        yield PARAPHRASES, [note for note, _ in notes], [label for _, label in notes]


def _groups(among: TenantView) -> list[list[int]]:
    """Return the groups of rows that the planner makes its syntheses from."""
    found = []
    for group in find_groups(among.text_vectors, among.neighbours, SYNTHESIZE_SIMILARITY):
        near = among.text_vectors[group] @ among.text_vectors[group].T
        readings = [among.reading(among.rows_of[text][0]) for text in group]

        def conflict(one: int, other: int, said: Sequence[Reading] = readings) -> bool:
            return first_conflict(said[one], said[other]) is not None

        parts = split_group(near, SYNTHESIZE_SIMILARITY, conflict)
        found += [[row for at in part for row in among.rows_of[group[at]]] for part in parts]
    return found


def _agreement(groups: list[list[int]], labels: list[str]) -> Json:
    # What is in no group is a group of its own.
    found = [-1 - row for row in range(len(labels))]
    for number, group in enumerate(groups):
        for row in group:
            found[row] = number
    several = [group for group in groups if len(group) > 1]
    known = Counter(labels)
    return {
        "memories": len(labels),
        "known groups": sum(count > 1 for count in known.values()),
        "found groups": len(several),
        "adjusted Rand": round(float(adjusted_rand_score(labels, found)), 3),
        "V-measure": round(float(v_measure_score(labels, found)), 3),
        "largest": max(map(len, several), default=0),
        "mixed": sum(len({labels[row] for row in group}) > 1 for group in several),
    }
