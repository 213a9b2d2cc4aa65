"""What judges texts stays small: its lines, patterns, listed words and thresholds only fall."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from places import ROOT

CONSOLIDATION = ROOT / "consolidation"
JUDGING = ("text", "comparison", "facts", "planning")
_SPLIT = re.compile(r"[\s|]+")

# The numbers reached. They may only fall: a wrong join or a lost detail is answered by a better
# prompt, question or training pair, never by a list of words.
MOST = {
    "lines": 5_309,
    "regular expressions": 65,
    "listed words": 3_802,
    "thresholds": 55,
}


def modules() -> Iterator[ast.Module]:
    for folder in JUDGING:
        for path in sorted((CONSOLIDATION / folder).glob("*.py")):
            yield ast.parse(path.read_text("utf-8"))


def lines() -> int:
    paths = (path for folder in JUDGING for path in (CONSOLIDATION / folder).glob("*.py"))
    return sum(path.read_text("utf-8").count("\n") for path in paths)


def regular_expressions() -> int:
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "compile"
        for module in modules()
        for node in ast.walk(module)
    )


def listed_words() -> int:
    """Count the words in the sets, lists, tuples, mappings and split texts of modules."""
    return sum(
        len([word for word in _SPLIT.split(node.value) if word])
        for module in modules()
        for statement in module.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None
        if not _is_pattern(statement.value)
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_pattern(value: ast.expr) -> bool:
    """Whether it is a pattern, a template or a mere name, and no list."""
    if isinstance(value, ast.Constant | ast.JoinedStr):
        return True
    return isinstance(value, ast.Call) and ast.unparse(value.func) in ("re.compile", "Decoder")


def thresholds() -> int:
    module = ast.parse((CONSOLIDATION / "thresholds.py").read_text("utf-8"))
    return sum(isinstance(statement, ast.Assign) for statement in module.body)


COUNTED = {
    "lines": lines,
    "regular expressions": regular_expressions,
    "listed words": listed_words,
    "thresholds": thresholds,
}


@pytest.mark.parametrize("what", MOST)
def test_what_judges_texts_only_ever_gets_smaller(what: str) -> None:
    assert COUNTED[what]() <= MOST[what]
