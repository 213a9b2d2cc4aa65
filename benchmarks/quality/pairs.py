"""Section 1: merge decisions on labelled pairs, a file of just two memories each."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from slowwave.consolidation.planning.plan import plan_tenant
from slowwave.consolidation.proposals import VerifiedProposal, Window
from slowwave.consolidation.writing.writer import BuiltInWriter, Job, Writer

from .bench import Bench, Json
from .oracle import OracleWriter
from .rates import rate_of, shown
from .tenant_views import Answers, options, verifier_with, view

OWN = ("pairs-tuned", "pairs-held-out")
SHARED = "shared pairs"
# Of a set, in a quick run.
_QUICK = 40
SEED = 20_260_105


@dataclass(frozen=True)
class Pair:
    """Two texts, and whether they say the same."""

    category: str
    same: bool
    left: str
    right: str


def run(bench: Bench) -> Json:
    """Return the rates of each set of pairs, without a model and with an oracle in its place."""
    sets = pair_sets(bench)
    texts = [text for pairs in sets.values() for one in pairs for text in (one.left, one.right)]
    bench.say(f"pairs: {len(texts) // 2} pairs to embed")
    bench.embedder.encode(texts)
    bench.embedder.keep()
    return {name: _measured(bench, name, pairs) for name, pairs in sets.items()}


def tables(results: Json) -> Iterator[Table]:
    """Yield a table a set."""
    for name, result in results.items():
        table = Table(
            "category", "pairs are", "n", "merged, no model", "merged, oracle", title=name
        )
        for row in [*result["rows"], *result["totals"]]:
            table.add_row(
                row["category"],
                "same" if row["same"] else "different",
                str(row["without"]["n"]),
                shown(row["without"]),
                shown(row["oracle"]),
            )
        yield table


def pair_sets(bench: Bench) -> dict[str, list[Pair]]:
    """Return the labelled pairs by the name of their set."""
    sets = {name: [Pair(**row) for row in bench.fixture(f"{name}.toml", "pair")] for name in OWN}
    shared = bench.shared("pairs.jsonl")
    if shared is not None:
        sets[SHARED] = [
            Pair(row["category"], bool(row["label"]), row["a"], row["b"]) for row in shared
        ]
    return {name: sample(pairs, _QUICK) if bench.quick else pairs for name, pairs in sets.items()}


def sample(pairs: list[Pair], size: int) -> list[Pair]:
    """Return so many pairs, the same ones every time."""
    chance = random.Random(SEED)  # noqa: S311 - a sample, no secret
    return chance.sample(pairs, min(size, len(pairs)))


def merged(
    bench: Bench, pairs: Sequence[Pair], writer: Writer
) -> tuple[list[bool], list[VerifiedProposal]]:
    """Return which pairs became one memory, and what came of those that the writer was shown."""
    views = [view([one.left, one.right], bench.embedder) for one in pairs]
    chosen = options(writer)
    plans = [plan_tenant(one, chosen) for one in views]
    # The same two texts may stand in the file twice; a window's id is made of the texts.
    jobs = {
        window.id: Job(window, tuple(one.sources(window.memories)))
        for one, plan in zip(views, plans, strict=True)
        for window in plan.windows
    }
    verifier = verifier_with(bench.embedder)
    answered = writer.write(list(jobs.values()), verifier, Answers())
    written = [one for some in answered for one in some if isinstance(one, VerifiedProposal)]
    became = {one.proposal.source_hashes for one in written if one.state == "planned"}
    joined = [
        bool(plan.proposals) or any(_texts(one) in became for one in plan.windows) for plan in plans
    ]
    return joined, written


def _texts(window: Window) -> tuple[str, ...]:
    """Return the hashes of two texts as a proposal about both has them, by the ids of memories."""
    hashes = dict(zip(window.memories, window.content_hashes, strict=True))
    return tuple(hashes[one] for one in sorted(hashes))


def _measured(bench: Bench, name: str, pairs: list[Pair]) -> Json:
    bench.say(f"pairs: {name}, without a model")
    without, _ = merged(bench, pairs, BuiltInWriter())
    bench.say(f"pairs: {name}, with an oracle")
    labels = {(one.left, one.right): one.same for one in pairs}
    oracle, _ = merged(bench, pairs, OracleWriter(labels))
    outcomes = {"without": without, "oracle": oracle}
    kinds = sorted({(one.same, one.category) for one in pairs})
    return {
        "rows": [_row(pairs, outcomes, same, category) for same, category in kinds],
        "totals": [_row(pairs, outcomes, same, None) for same in (False, True)],
    }


def _row(
    pairs: Sequence[Pair], outcomes: Mapping[str, list[bool]], same: bool, category: str | None
) -> Json:
    at = [
        number
        for number, one in enumerate(pairs)
        if one.same == same and category in (None, one.category)
    ]
    rates = {way: rate_of(became[number] for number in at) for way, became in outcomes.items()}
    return {"category": category or "all", "same": same, **rates}
