"""A fleet on Ray: the same results, and complete receipts even if Ray loses a worker."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fleets import RECEIPTS, applied, fleet_of, receipt_runs, runs_of

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="ray is not installed: make test-fleet installs and tries it",
)


def maintain(folder: Path, *more: str) -> subprocess.Popen[str]:
    """Start a night of a fleet on Ray, in a process of its own."""
    command = [sys.executable, "-m", "slowwave.cli", "fleet", "maintain", str(folder)]
    return subprocess.Popen(
        [*command, "--engine", "ray", "--workers", "2", "--json", *more],
        stdout=subprocess.PIPE,
        text=True,
        # Whatever cluster there is, this one is the test's own.
        env={name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"},
    )


def test_ray_applies_what_one_process_applies(tmp_path: Path) -> None:
    files = fleet_of(tmp_path / "agents", 6)
    shutil.copytree(tmp_path / "agents", tmp_path / "alone")
    out, _ = maintain(tmp_path / "agents").communicate(timeout=300)
    report = json.loads(out)
    assert report["became"] == {"done": 6}
    command = [sys.executable, "-m", "slowwave.cli", "fleet", "maintain", str(tmp_path / "alone")]
    subprocess.run([*command, "--workers", "1", "--quiet"], check=True)
    alone = [tmp_path / "alone" / entry.relative_to(tmp_path / "agents") for entry in files]
    assert [applied(file) for file in files] == [applied(item) for item in alone]
    assert sorted(receipt_runs(tmp_path / "agents" / RECEIPTS).values()) == sorted(
        map(runs_of, files)
    )


def test_a_killed_worker_of_ray_is_replaced(tmp_path: Path) -> None:
    files = fleet_of(tmp_path / "agents", 12)
    driver = maintain(tmp_path / "agents")
    killed = False
    while driver.poll() is None and not killed:
        if sum(bool(runs_of(file)) for file in files) > 1:
            killed = _kill_a_worker_of(driver.pid)
        time.sleep(0.05)
    out, _ = driver.communicate(timeout=300)
    assert killed
    assert json.loads(out)["complete"] is True
    assert sorted(receipt_runs(tmp_path / "agents" / RECEIPTS).values()) == sorted(
        map(runs_of, files)
    )
    assert all(len(applied(item)) == len(set(applied(item))) > 0 for item in files)


def _kill_a_worker_of(driver: int) -> bool:
    """Kill an actor of the Ray that a process has begun; return whether there was one."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            name = (place / "cmdline").read_text()
            if "ray::MapWorker" in name and driver in _ancestors(place):
                os.kill(int(place.name), signal.SIGKILL)
                return True
        except (OSError, ValueError):
            continue
    return False


def _ancestors(place: Path) -> set[int]:
    ancestors: set[int] = set()
    while (parent := int((place / "stat").read_text().rpartition(")")[2].split()[1])) > 1:
        ancestors.add(parent)
        place = Path(f"/proc/{parent}")
    return ancestors
