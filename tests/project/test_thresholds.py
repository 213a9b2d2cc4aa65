"""Every number that a decision depends on is in thresholds.py, with its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from places import ROOT

from slowwave.consolidation import thresholds

FOLDERS = ("consolidation", "extensions/fleet", "extensions/organisation")

NUMBER = re.compile(r"[A-Z_]+ = ")
# Numbers with a fraction that decide nothing of what becomes of a memory.
NO_DECISIONS = {
    # Rounding: how exact a similarity is stored, and what keeps a division from zero.
    "clustering/neighbours.py": {1e-4, 2e-6, 0.5},
    # How much more than its first question a window takes: of tokens, not of memories.
    "planning/estimates.py": {2.5},
    # When it is quicker to compare everything again. The result is the same.
    "clustering/forest.py": {0.5},
    # Seconds to wait, and what is worth storing for the next night.
    "running/survey.py": {0.05, 0.1},
    "model/litellm_model.py": {0.1, 2.0, 30.0, 60.0},
    "model/model_writer.py": {0.2},
    # Seconds, a price in USD per token that is assumed until the first answer, the least budget.
    "model/cli_model.py": {0.05, 5.0, 300.0, 15e-6, 75e-6},
    "model/cli_programs.py": {0.0001},
    # The temperature at which a model is asked what to remember.
    "model/answer_forms.py": {0.2},
    # Seconds to wait for workers and how much of a budget is handed out at once.
    "fleet/local_engine.py": {0.2},
    "fleet/budget_owners.py": {0.1},
    # What an audit lists; it decides nothing.
    "reports/audit.py": {0.5, 0.9, 1e-6},
    # How far an estimate of tokens may be exceeded: of money, not of memories.
    "model/usage_limits.py": {1.25},
}


def fractions(text: str) -> Iterator[float]:
    """Yield the numbers with a fraction in a program."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and type(node.value) is float:
            yield node.value


def test_decisions_use_only_numbers_of_thresholds_py() -> None:
    by_module = {
        re.sub("^(consolidation|extensions)/", "", path.relative_to(ROOT).as_posix()): set(
            fractions(path.read_text("utf-8"))
        )
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if path != ROOT / "consolidation" / "thresholds.py"
    }
    for name, numbers in by_module.items():
        assert numbers <= NO_DECISIONS.get(name, set()) | {0.0, 1.0}, name


def test_every_threshold_has_a_comment() -> None:
    lines = Path(thresholds.__file__).read_text("utf-8").splitlines()
    for index, line in enumerate(lines):
        if NUMBER.match(line) and not NUMBER.match(lines[index - 1]):
            assert lines[index - 1].startswith("# "), line
