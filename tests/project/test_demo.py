"""`make demo`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from cli_calls import in_a_process
from places import ROOT


@pytest.mark.usefixtures("long_only")
def test_the_demo_shortens_memories_and_undoes_the_run(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    demo = ("/bin/sh", ROOT / "fixtures" / "demo.sh", tmp_path / "demo")
    ended = in_a_process(*demo, env={**os.environ, "PATH": path}).ends(0)
    ended.says(
        "The memories are the same as before the night, byte for byte.",
        "7 proposals: 3 merge, 2 synthesize, 1 update, 1 extract.",
        "extract 0e1b2998 (applied): 6 memories support one rule or pattern; ",
        "nothing to do.",
    )
    assert "\033" not in ended.out
    sizes = re.findall(r"; (\d+) -> (\d+) tokens", ended.out)
    assert all(int(after) < int(before) for before, after in sizes)
    assert len(sizes) == 7
