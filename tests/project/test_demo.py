"""What `make demo` shows ends well, and shows what it says it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT


@pytest.mark.usefixtures("long_only")
def test_the_demo_takes_each_night_back_to_the_byte(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ended = subprocess.run(
        ["/bin/sh", ROOT / "fixtures" / "demo.sh", tmp_path / "demo"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("The memories are those of before the night, byte for byte.") == 2
    assert "7 proposals: 4 merge, 1 update, 1 extract, 1 synthesize." in ended.stdout
