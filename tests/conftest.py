"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from slowwave.consolidation.embed import SentenceEmbedder
from slowwave.store.file import create_file

# The same examples every time, and no clock: a slow machine must not fail a test.
settings.register_profile("slowwave", deadline=None, derandomize=True)
settings.load_profile("slowwave")


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the options of whoever runs the tests out of them."""
    for name in list(os.environ):
        if name.startswith("SLOWWAVE_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def embedder() -> SentenceEmbedder:
    """Give the real model, loaded once."""
    return SentenceEmbedder()


@pytest.fixture
def memory_file(tmp_path: Path) -> Path:
    """Give a new, empty memory file."""
    path = tmp_path / "memory.db"
    create_file(path)
    return path
