"""Durations and retention rules as a user writes them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import get_args

import typer

from slowwave.consolidation.ageing.retention import Retention, Rule
from slowwave.store.records import LAYERS, Kind

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_FORM = re.compile(r"(\d{1,6})([hdw])")
_TOO_LONG = re.compile(r"\d{7,}[hdw]")
_KEYS = ("tenant", "kind", "layer", "keep")
_VALUES: dict[str, tuple[str, ...]] = {"kind": get_args(Kind), "layer": LAYERS}
FOREVER = "forever"


def duration_of(text: str | None) -> timedelta | None:
    """Return a duration; None where none is given. Raises `typer.BadParameter`."""
    if text is None:
        return None
    found = _FORM.fullmatch(text.strip())
    if found is None and _TOO_LONG.fullmatch(text.strip()):
        raise typer.BadParameter(f"'{text}' is too long: it takes at most six digits.")
    if found is None:
        raise typer.BadParameter(f"'{text}' is no duration such as 12h, 30d or 2w.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def check_duration(text: str | None) -> str | None:
    """Refuse what is no duration, where an option is read."""
    duration_of(text)
    return text


def retention_of(rules: Sequence[str]) -> Retention:
    """Return the rules that texts give, such as kind=context,keep=30d.

    Raises `typer.BadParameter`.
    """
    read = list(map(_rule, rules))
    for one in read:
        if sum(other.names == one.names for other in read) > 1:
            raise typer.BadParameter(f"two rules are about the same: {one.text} and another.")
    return Retention(tuple(read))


def check_rules(texts: list[str] | None) -> list[str] | None:
    """Refuse what are no retention rules, where an option is read."""
    retention_of(texts or ())
    return texts


def _rule(text: str) -> Rule:
    # A value with a comma in it stands in quotes, as in any CSV.
    parts = next(csv.reader([text], skipinitialspace=True), [])
    given: dict[str, str] = {}
    for part in parts:
        name, equals, value = (one.strip() for one in part.partition("="))
        if name not in _KEYS or not equals or not value:
            raise typer.BadParameter(
                f"'{text}' is no rule: it takes {', '.join(f'{one}=...' for one in _KEYS)}, "
                "such as kind=context,keep=30d."
            )
        if name in given:
            raise typer.BadParameter(f"'{text}' is no rule: it says {name} twice.")
        if value not in _VALUES.get(name, (value,)):
            raise typer.BadParameter(
                f"'{text}' is no rule: {name} is one of {', '.join(_VALUES[name])}."
            )
        given[name] = value
    keep = given.pop("keep", None)
    if keep is None:
        raise typer.BadParameter(
            f"'{text}' is no rule: it does not say keep=..., for how long or {FOREVER}."
        )
    rule = Rule(**given, keep=None if keep == FOREVER else duration_of(keep))
    if rule.keep == timedelta() and rule.kind is None and rule.layer is None:
        whose = "memory" if rule.tenant is None else f"memory of {rule.tenant}"
        raise typer.BadParameter(
            f"'{text}' would end every {whose} at once: to keep them all, say {FOREVER}."
        )
    return rule
