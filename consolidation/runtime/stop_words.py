"""English stop words, without importing the library that lists them."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any


@cache
def stop_words() -> frozenset[str]:
    """Return scikit-learn's list from its file: importing scikit-learn takes over a second."""
    package: Any = find_spec("sklearn")
    path = Path(package.origin).with_name("feature_extraction") / "_stop_words.py"
    if path.is_file():
        return frozenset(run_path(str(path))["ENGLISH_STOP_WORDS"])
    # It is a private file: another version may not have it.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)
