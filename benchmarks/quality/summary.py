"""The targets with the figures beside them, as Markdown for the page on quality."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from . import pairs
from .bench import Json
from .rates import Rate, shown
from .updates import LOCOMO

# Kinds of corrupted drafts of which none may pass.
STRICT = {
    *("number", "unit", "date", "name", "negation-dropped", "negation-added"),
    *("unknown-id", "fact-dropped"),
}


@dataclass(frozen=True)
class Line:
    """One target, what was measured, and whether it is met."""

    target: str
    figure: str
    met: bool


def summary(results: Json) -> str:
    """Return the table."""
    rows = [
        f"| {line.target} | {line.figure} | {'yes' if line.met else '**no**'} |"
        for section in _SECTIONS
        for line in section(results)
    ]
    warning = ["Small samples, to see that it runs: not figures to go by.", ""]
    head = warning if results["environment"]["quick"] else []
    return "\n".join([*head, "| target | measured | met |", "|---|---|---|", *rows, ""])


def _pairs(results: Json) -> Iterator[Line]:
    for name in (pairs.SHARED, "pairs-held-out"):
        if name not in results["pairs"]:
            continue
        result = results["pairs"][name]
        different, same = result["totals"]
        for way, shown_way, least in (
            ("without", "without a model", 0.3),
            ("oracle", "with an oracle", 0.9),
        ):
            worst = _highest(row[way] for row in result["rows"] if not row["same"])
            yield _at_most(f"{name}, {shown_way}: wrong merges <= 0.5 %", different[way], 0.005)
            yield _at_most("the same, worst category <= 1 %", worst, 0.01)
            yield _at_least(f"the same, rewordings found >= {least:.0%}", same[way], least)


def _nights(results: Json) -> Iterator[Line]:
    for flavour, found in results["nights"].items():
        kept = found["facts kept"], found["facts"]
        yield Line(f"{flavour}: facts kept 100 %", "{} of {}".format(*kept), kept[0] == kept[1])
        wrong = found["wrong merges"]
        yield Line(f"{flavour}: wrong merges 0", str(wrong), wrong == 0)
        rules = found["precision"], found["recall"]
        yield Line(
            f"{flavour}: rules, precision and recall >= 0.9",
            "{}, {}".format(*rules),
            min(rules) >= 0.9,
        )
        layers = found["stable"], found["core"]
        yield Line(
            f"{flavour}: 80-130 stable, 8-12 core",
            "{}, {}".format(*layers),
            80 <= layers[0] <= 130 and 8 <= layers[1] <= 12,
        )


def _drafts(results: Json) -> Iterator[Line]:
    result = results["drafts"]["drafts-held-out"]
    corrupted = [row for row in result["rows"] if not row["faithful"]]
    for target, rates, least in (
        (
            "numbers, units, dates, names, negations, ids, dropped facts caught 100 %",
            [row["turned down"] for row in corrupted if row["kind"] in STRICT],
            1.0,
        ),
        (
            "other corrupted drafts caught >= 95 %",
            [row["turned down"] for row in corrupted if row["kind"] not in STRICT],
            0.95,
        ),
    ):
        hits, n = sum(one["hits"] for one in rates), sum(one["n"] for one in rates)
        yield Line(f"held-out drafts: {target}", f"{hits} of {n}", hits >= least * n)
    faithful = result["totals"][1]["turned down"]
    yield _at_most("held-out drafts: faithful wrongly rejected <= 5 %", faithful, 0.05)


def _updates(results: Json) -> Iterator[Line]:
    held_out = results["updates"]["updates-held-out"]
    found = held_out["newer"]["replaced"]
    target = f"held-out updates: newer value active in >= 90 % of those found ({shown(found)})"
    yield _at_least(target, held_out["newer"]["right"], 0.9)
    different = held_out["different"]["replaced"]
    yield _at_most("held-out updates: a mere difference replaced, none", different, 0.0)
    if LOCOMO in results["updates"]:
        replaced = results["updates"][LOCOMO]["memories superseded by an update"]
        yield Line("LoCoMo memories superseded by an update: 0", str(replaced), replaced == 0)


def _five_nights(results: Json) -> Iterator[Line]:
    for name, result in results["five nights"].items():
        last = result["unchanged file"]
        done = last["calls"], last["rows written"]
        yield Line(
            f"{name}: unchanged file, 0 calls, 0 writes", "{}, {}".format(*done), done == (0, 0)
        )
        first, *_, final = result["nights"]
        bad = sum(row["lost"] for row in result["nights"]), result["wrong merges"]
        yield Line(f"{name}: lost facts 0, wrong merges 0", "{}, {}".format(*bad), bad == (0, 0))
        yield Line(
            f"{name}: active memories grow no faster than facts",
            f"{first['active']} of {first['facts']} to {final['active']} of {final['facts']}",
            result["grows no faster"],
        )


_SECTIONS: tuple[Callable[[Json], Iterator[Line]], ...] = (
    _pairs,
    _nights,
    _drafts,
    _updates,
    _five_nights,
)


def _highest(rates: Iterable[Rate]) -> Rate:
    return max(rates, key=lambda one: one["rate"] or 0.0)


def _at_most(target: str, rate: Rate, most: float) -> Line:
    return Line(target, shown(rate), (rate["rate"] or 0.0) <= most)


def _at_least(target: str, rate: Rate, least: float) -> Line:
    return Line(target, shown(rate), rate["rate"] is not None and rate["rate"] >= least)
