"""The benchmark as a command, on small samples: it measures everything, and finds nothing mixed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import night as fixture
import pytest
from model_server import model_server

ROOT = Path(__file__).parent.parent
SECTIONS = ("environment", "pairs", "clusters", "nights", "drafts", "updates", "five nights")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    if not request.config.getoption("--long"):
        pytest.skip("in make test-long: it takes as long as a hundred other tests")
    folder = tmp_path_factory.mktemp("bench")
    with model_server() as server:
        model = ["--model", "openai/scripted", "--api-base", server.base]
        measure("--quick", "--data", folder / "absent", "--output", folder / "out.json", *model)
    return folder / "out.json"


@pytest.fixture(scope="module")
def results(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.read_text("utf-8"))
    return found


def measure(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "benchmarks.quality", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_section_has_its_figures(results: dict[str, Any]) -> None:
    assert [name for name in SECTIONS if not results.get(name)] == []


def test_absent_data_is_said_to_be_absent(results: dict[str, Any]) -> None:
    assert results["environment"]["shared data"] is None
    assert set(results["pairs"]) == {"pairs-tuned", "pairs-held-out"}


def test_nothing_different_is_merged_in_the_samples(results: dict[str, Any]) -> None:
    for name, found in results["pairs"].items():
        different, _ = found["totals"]
        assert different["without"]["n"] > 5, name
        assert (different["without"]["hits"], different["oracle"]["hits"]) == (0, 0), name
    nights = [*results["nights"].values(), *results["five nights"].values()]
    assert [found["wrong merges"] for found in nights] == [0] * len(nights)


def test_an_oracle_finds_more_than_no_model(results: dict[str, Any]) -> None:
    for name, found in results["pairs"].items():
        _, same = found["totals"]
        assert same["oracle"]["hits"] >= same["without"]["hits"] > 0, name


def test_a_night_on_an_unchanged_file_is_measured_as_none(results: dict[str, Any]) -> None:
    for found in results["five nights"].values():
        assert found["unchanged file"] == {"proposals": 0, "calls": 0, "rows written": 0}


def test_a_model_is_measured_with_what_it_took(results: dict[str, Any]) -> None:
    for found in results["real model"]["nights"].values():
        assert found["calls per 1,000"] > 0
        assert found["tokens per 1,000"] > 0
        assert found["turned down"]["n"] > 0


def test_the_summary_is_that_of_the_last_run(output: Path) -> None:
    shown = measure("--summary", "--output", output)
    assert shown == output.with_suffix(".md").read_text("utf-8")
    assert "| pairs-held-out, without a model: wrong merges <= 0.5 % |" in shown


def test_no_two_flavours_share_a_memory_or_a_fact() -> None:
    told = [one for flavour in fixture.FLAVOURS for one in fixture.load(flavour).told]
    assert len({one.id for one in told}) == len(told) == 3_000
    groups = [{one.group for one in fixture.load(name).told} for name in fixture.FLAVOURS]
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
