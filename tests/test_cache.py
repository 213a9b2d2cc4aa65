"""What is kept of a text is of no use once a rule that found it has changed."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from shutil import copytree

import pytest

from slowwave import consolidation
from slowwave.consolidation.snapshot.cache import LIBRARIES, code_version, hash_of_code

PACKAGE = Path(consolidation.__path__[0])


@pytest.mark.parametrize("module", ["thresholds.py", "text/lexicon.py", "comparison/guards.py"])
def test_a_rule_that_changes_makes_other_keys(module: str, tmp_path: Path) -> None:
    copy = copytree(PACKAGE, tmp_path / "package")
    assert code_version().endswith(hash_of_code(copy))
    (copy / module).write_text(f"{(copy / module).read_text('utf-8')}\n", "utf-8")
    assert not code_version().endswith(hash_of_code(copy))


@pytest.mark.parametrize("library", LIBRARIES)
def test_another_version_of_a_library_that_reads_texts_makes_other_keys(library: str) -> None:
    assert f"{library} {version(library)}" in code_version()
