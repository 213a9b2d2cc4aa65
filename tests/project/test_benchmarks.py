"""The benchmarks as commands."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import night as fixture
import pytest
from places import ROOT

from benchmarks.speed.clock import REST, Clock
from benchmarks.speed.processes import run
from benchmarks.speed.steps import STAGES, VECTORS


@pytest.mark.usefixtures("long_only")
def test_the_quality_benchmark_needs_nothing_but_the_repository(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.quality", "--data", str(tmp_path / "absent")]
    output = tmp_path / "out.json"
    done = subprocess.run(
        [*command, "--output", str(output)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "drafts3.jsonl: absent" in done.stdout
    found = json.loads(output.read_text("utf-8"))["without a model"]
    assert len(found) == 6
    assert [name for name, figures in found.items() if figures["text grows"]] == []


def test_no_two_flavours_share_a_memory_or_a_fact() -> None:
    output = [each for flavour in fixture.FLAVOURS for each in fixture.load(flavour).told]
    assert len({each.id for each in output}) == len(output) == 3_000
    groups = [{each.group for each in fixture.load(name).told} for name in fixture.FLAVOURS]
    assert len(set.union(*groups)) == sum(map(len, groups))


def test_a_fleets_nights_are_compared_and_what_is_done_is_not_done_again(
    tmp_path: Path, long_only: None
) -> None:
    command = [sys.executable, "-m", "benchmarks.fleet", "--files", "4", "--repeats", "1"]
    command += ["--folder", str(tmp_path), "--only", "one worker,a bucket,uploads,money,overhead"]
    first, second = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
        for _ in range(2)
    )
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.count(": as it should be.") == 6
    assert "All is as it should be." in first.stdout
    assert second.stdout == first.stdout


@pytest.mark.parametrize("place", [*STAGES.values(), VECTORS])
def test_every_stage_that_the_clock_watches_is_there(place: str) -> None:
    module, name = place.split(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_a_stage_is_not_counted_for_the_one_around_it() -> None:
    clock = Clock()
    with clock.stage("outer"), clock.stage("inner"):
        sum(range(1_000_000))
    figures = clock.total()
    assert set(figures["stages"]) == {REST, "outer", "inner"}
    parts = [value["processor"] for value in figures["stages"].values()]
    assert figures["processor"] == pytest.approx(sum(parts))
    inner, outer = (figures["stages"][name]["processor"] for name in ("inner", "outer"))
    assert inner > outer


def test_a_step_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        run([sys.executable, "-c", "raise SystemExit('no such thing')"])
