"""With a real model: what a night costs, how much of it is turned down, how it judges pairs."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.table import Table

from fixtures.night import lines
from slowwave.consolidation.model.calls import Endpoint
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.running.outcome import Outcome

from .bench import Bench, Json
from .files import memory_file, night
from .nights import characters_of, findings, flavours, known_of, table_of
from .pairs import Pair, merged, pair_sets, sample
from .rates import rate_of, shown

# Pairs that the model judges: enough to tell 1 % from 5 %, and few enough to be paid for.
_SAMPLE = 300


def run(bench: Bench) -> Json:
    """Return the figures of the model that was named."""
    return {
        "model": bench.model,
        "nights": {flavour: _night(bench, flavour) for flavour in flavours(bench)},
        "pairs": _pairs(bench),
    }


def tables(results: Json) -> Iterator[Table]:
    """Yield a table of the nights and one of the pairs."""
    nights = results["nights"]
    table = table_of(nights, f"one night with {results['model']}")
    table.add_row("drafts turned down", *(shown(one["turned down"]) for one in nights.values()))
    yield table
    judged = Table("pairs are", "n", "merged", title=f"pairs judged by {results['model']}")
    for kind in ("different", "same"):
        rate = results["pairs"][kind]
        judged.add_row(kind, str(rate["n"]), shown(rate))
    yield judged


def _writer(bench: Bench) -> ModelWriter:
    assert bench.model is not None  # noqa: S101 - the section runs only with a model
    return ModelWriter(Endpoint(bench.model, bench.api_base))


def _night(bench: Bench, flavour: str) -> Json:
    bench.say(f"model: a night on {flavour}")
    known = known_of(bench, flavour)
    with memory_file(lines(known)) as path:
        characters = characters_of(path)
        began = time.monotonic()
        outcome = night(path, bench.embedder, _writer(bench))
        seconds = time.monotonic() - began
        found = findings(path, known, outcome, characters)
        bench.embedder.keep()
        return {**found, **_price(outcome, seconds, len(known.told))}


def _price(outcome: Outcome, seconds: float, memories: int) -> Json:
    """Return what the night took, for each thousand memories."""
    usage = outcome.usage
    thousands = memories / 1_000
    tokens = usage.prompt_tokens + usage.completion_tokens
    planned = sum(one.tokens for one in outcome.plan.windows)
    asked = [one for one in outcome.results if one.proposal.by_model]
    return {
        "calls per 1,000": round(usage.calls / thousands, 1),
        "tokens per 1,000": round(tokens / thousands),
        "seconds per 1,000": round(seconds / thousands, 1),
        "cost per 1,000, USD": usage.cost_usd and round(usage.cost_usd / thousands, 4),
        "estimate by use": round(planned / tokens, 3) if tokens else None,
        "turned down": rate_of(one.state == "rejected" for one in asked),
    }


def _pairs(bench: Bench) -> Json:
    bench.say("model: judging pairs")
    pairs: list[Pair] = [one for each in pair_sets(bench).values() for one in each]
    chosen = sample(pairs, _SAMPLE)
    became, written = merged(bench, chosen, _writer(bench))
    rates = {
        name: rate_of(one for one, pair in zip(became, chosen, strict=True) if pair.same == same)
        for name, same in (("different", False), ("same", True))
    }
    calls = sum(one.usage.calls for one in written)
    return {**rates, "asked": len(written), "calls": calls}
