"""Paths that several benchmarks use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
QUALITY = ROOT / "fixtures" / "quality"

Json = dict[str, Any]
