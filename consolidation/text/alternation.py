"""A pattern for any of many words that examines each letter of a text once, not once per word."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What may follow a letter; "" where a word may end.
_Tree = dict[str, "_Tree"]


def any_of(words: Iterable[str]) -> str:
    """Return a pattern that matches the longest of the words at a place."""
    tree: _Tree = {}
    for word in words:
        branch = tree
        for letter in word:
            branch = branch.setdefault(letter, {})
        branch[""] = {}
    return _pattern(tree)


def _pattern(tree: _Tree) -> str:
    ways = [re.escape(letter) + _pattern(rest) for letter, rest in tree.items() if letter]
    pattern, may_end = "|".join(ways), bool(ways) and "" in tree
    if len(ways) > 1 or (may_end and len(pattern) > 1):
        pattern = f"(?:{pattern})"
    return f"{pattern}?" if may_end else pattern
