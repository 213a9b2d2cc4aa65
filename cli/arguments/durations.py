"""Durations, times and retention rules as a user writes them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import time, timedelta
from typing import get_args

import typer

from slowwave.consolidation.ageing.retention import Retention, Rule
from slowwave.store.errors import StoreError
from slowwave.store.records import LAYERS, Kind, timestamp_of

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_KEYS = ("tenant", "kind", "layer", "keep")
_VALUES: dict[str, tuple[str, ...]] = {"kind": get_args(Kind), "layer": LAYERS}
FOREVER = "forever"


def duration_of(text: str | None) -> timedelta | None:
    """Parse a duration; None stays None. Raises `typer.BadParameter`."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([hdw])", text.strip())
    if match is None:
        raise typer.BadParameter(f"'{text}' is not a duration such as 12h, 30d or 2w.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def moment_of(text: str | None, option: str, time_of_day: time) -> str | None:
    """Return a time, or a day at a time of day, in the form of the file. Raises wrong usage."""
    try:
        return timestamp_of(text, time_of_day, option)
    except StoreError as error:
        raise typer.BadParameter(error.message) from None


def retention_of(rules: Sequence[str]) -> Retention:
    """Parse rules such as kind=context,keep=30d. Raises `typer.BadParameter`."""
    by_names: dict[object, Rule] = {}
    for rule in map(_rule, rules):
        if (earlier := by_names.setdefault(rule.names, rule)) is not rule:
            raise typer.BadParameter(
                f"two rules match the same memories: {earlier.text} and {rule.text}."
            )
    return Retention(tuple(by_names.values()))


def _rule(text: str) -> Rule:
    # As in any CSV, a value that contains a comma is quoted.
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        is_long = len(text) > csv.field_size_limit()
        why = "it is too long" if is_long else "it contains a line break"
        raise _not_a_rule(text[:100] if is_long else text, why) from error
    values: dict[str, str] = {}
    for part in parts:
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in _KEYS or not equals or not value:
            forms = ", ".join(f"{name}=..." for name in _KEYS)
            raise _not_a_rule(text, f"use {forms}, as in kind=context,keep=30d")
        if key in values:
            raise _not_a_rule(text, f"it has {key} twice")
        if value not in _VALUES.get(key, (value,)):
            raise _not_a_rule(text, f"{key} must be one of {', '.join(_VALUES[key])}")
        values[key] = value
    keep = values.pop("keep", None)
    if keep is None:
        raise _not_a_rule(text, f"keep=... is missing: how long, or {FOREVER}")
    rule = Rule(**values, keep=None if keep == FOREVER else duration_of(keep))
    if rule.keep == timedelta() and rule.kind is None and rule.layer is None:
        whose = "" if rule.tenant is None else f" of {rule.tenant}"
        raise typer.BadParameter(
            f"'{text}' would expire every memory{whose} at once; to keep them all, use {FOREVER}."
        )
    return rule


def _not_a_rule(text: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(f"'{text}' is not a retention rule: {why}.")
