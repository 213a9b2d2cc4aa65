"""A file of metrics, as a collector reads it."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families


def metrics(path: Path) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of a file of metrics, as a collector reads it: by name and labels."""
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(path.read_text("utf-8")):
        for each in family.samples:
            labels = tuple(value for name, value in sorted(each.labels.items()) if name != "file")
            values.setdefault(each.name, {})[labels] = each.value
    return values
