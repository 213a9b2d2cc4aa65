"""The table of docs/performance.md: the goal and the figure of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ROWS: Mapping[str, Mapping[str, str]] = {
    "small": {
        "first night, 10,000 memories": "12 s",
        "the next night, nothing new": "1% of the first",
        "a night with 50 new memories": "5% of the first",
        "a dry run of 10,000, relative to scikit-learn's `DBSCAN`": "1.0",
        "a dry run of 1,000, beyond importing `DBSCAN`": "1 s",
    },
    "large": {
        "first night, 100,000 memories": "60 s of wall clock, 2 GB",
        "the next night of 100,000, nothing new": "1% of the first",
        "a night with 500 new memories": "5% of the first",
        "`slowwave --version`": "0.2 s",
        "`list` of 100,000": "0.5 s",
        "`show` of 100,000": "0.5 s",
        "`log --stats` of 100,000": "0.5 s",
        "`recall` of 100,000": "0.5 s",
        "a search of 100,000, beyond the embedding": "100 ms",
        "`add` to 100,000": "0.5 s",
    },
    "model": {
        "texts embedded": "",
        "a night with a model: time in which no answer is awaited": "10%",
        "the same: the first question": "3 s after the start",
        "the same: the share of a later question that a prefix cache serves": "60%",
    },
    "setup": {"`make demo` in a new clone": "90 s"},
    "million": {"1,000,000 vectors: neighbors and clusters": "6 GB"},
}

# The parts that are measured by default.
DEFAULT = tuple(part for part in ROWS if part != "million")


def page(about: str, measured: Mapping[str, Sequence[str]]) -> str:
    """Return the sentence about the machine and the table, in Markdown.

    measured: the figures of each part; if a part failed, its last ones are missing.
    """
    lines = [about, "", "| processor time | goal | measured |", "|---|---|---|"]
    for part, figures in measured.items():
        rows = zip(ROWS[part].items(), figures, strict=False)
        lines += [f"| {name} | {goal} | {figure} |" for (name, goal), figure in rows]
    return "\n".join(lines)
