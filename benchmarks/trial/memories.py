"""The memories of a trial: the first of a life, and what of its gold is about them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from benchmarks.quality.bench import Json
from benchmarks.quality.known_answers import PAIRS
from benchmarks.quality.life import Source


def first_of(life: Source, count: int) -> Source:
    """Give the first memories of a life, with the gold of what is told among them."""
    lines = life.lines[:count]
    there = {json.loads(line)["id"] for line in lines}
    return replace(life, lines=lines, gold=_among(life.gold, there))


def _among(gold: Json, there: set[str]) -> Json:
    """Leave out the memories that are not there, and the groups of which none is.

    A fact whose tellings are not all there keeps its details: those that nobody told count nowhere.
    """
    lists = {name: _groups(gold[name], there) for name in ("facts", "rules", "updates")}
    pairs = {
        name: [pair for pair in gold[name] if there.issuperset(pair)]
        for name in (*PAIRS, "two_values")
        if name in gold
    }
    return {**lists, **pairs}


def _groups(groups: list[Json], there: set[str]) -> list[Json]:
    kept = [{name: _kept(value, there) for name, value in one.items()} for one in groups]
    return [one for one in kept if one["ids"]]


def _kept(value: Any, there: set[str]) -> Any:
    """Leave out ids that are not there; lists of wordings stay as they are."""
    if not isinstance(value, list) or any(isinstance(one, list) for one in value):
        return value
    return [one for one in value if one in there]
