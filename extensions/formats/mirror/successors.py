"""Which memories of a mirror replace those that left, and inherit their marks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from slowwave.extensions.formats.base import Image, Successor
from slowwave.store.file import MemoryFile

from .links import read_images, read_own_marks


def successors(
    file: MemoryFile,
    links: Mapping[str, str],
    leaving: Collection[str],
    coming: Collection[str],
    changed: Collection[str],
) -> list[Successor]:
    """Return those that take marks over, or may have to give some back.

    leaving, coming, changed: the memories whose entries leave, come, and get another text.
    """
    own_marks = read_own_marks(file)
    kept: dict[str, Image | None] = dict(read_images(file))
    gone = kept.keys() - links.keys() - set(coming)
    stands_for: dict[str, dict[str, Image | None]] = defaultdict(dict)
    for one, successor in _final_successors(
        file, gone | set(leaving), links.keys() | set(coming)
    ).items():
        stands_for[successor][one] = None if one in leaving else kept[one]
    concerned = stands_for.keys() | own_marks.keys() | set(changed)
    return [
        Successor(
            one,
            links.get(one),
            own_marks[one] if one in own_marks else (kept.get(one) or {}).get("own"),
            stands_for[one],
        )
        for one in sorted(concerned & (links.keys() | set(coming)) - set(leaving))
    ]


def _final_successors(
    file: MemoryFile, gone: Collection[str], there: Collection[str]
) -> dict[str, str]:
    """Return for each memory that is gone the one that replaces it, after any number of runs."""
    successor = dict(
        file.db.conn.execute(
            "SELECT id, superseded_by FROM memories WHERE superseded_by IS NOT NULL"
        ).fetchall()
    )
    found: dict[str, str] = {}
    for one in gone:
        at = successor.get(one)
        while at is not None and (at in gone or at not in there):
            at = successor.get(at)
        if at is not None:
            found[one] = at
    return found
