"""What `make demo` shows ends well, and shows what it says it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT


@pytest.mark.usefixtures("long_only")
def test_the_demo_makes_a_rule_and_nothing_longer_and_undoes_the_night(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ended = subprocess.run(
        ["/bin/sh", ROOT / "fixtures" / "demo.sh", tmp_path / "demo"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "The memories are the same as before the night, byte for byte." in ended.stdout
    assert "8 proposals: 5 merge, 1 update, 1 extract, 1 synthesize." in ended.stdout
    assert "extract c9a78a72 (applied): 6 memories support one rule or pattern; " in ended.stdout
    assert "nothing to do." in ended.stdout
    sizes = re.findall(r"; (\d+) -> (\d+) tokens", ended.stdout)
    assert all(int(after) < int(before) for before, after in sizes)
    assert len(sizes) == 2 + 8, "those of the dry run and of the night"
