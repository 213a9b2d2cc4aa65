"""English stop words, without importing the library that lists them."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@cache
def stop_words() -> frozenset[str]:
    """Return scikit-learn's list from its file: importing scikit-learn takes over a second."""
    package: Any = find_spec("sklearn")
    path = Path(package.origin).with_name("feature_extraction") / "_stop_words.py"
    if path.is_file():
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        return frozenset(*(ast.literal_eval(node) for node in nodes if isinstance(node, ast.List)))
    # It is a private file: another version may not have it.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)
