"""Paths of the project."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FIXTURES = ROOT / "fixtures"
# Files of other agents, as their own programs write them.
FORMATS = TESTS / "extensions" / "formats" / "recorded"
# Runs a command that is killed: see there.
KILLING = TESTS / "killing.py"
