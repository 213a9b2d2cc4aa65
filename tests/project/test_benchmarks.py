"""The benchmarks as commands."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import night as fixture
import pytest
from cli_calls import in_a_process
from model_server import ModelServer, answering, groups, verdict
from places import ROOT
from readme import block

from benchmarks.quality import model
from benchmarks.quality.bench import QUALITY
from benchmarks.quality.drafts import labelled_drafts
from benchmarks.speed.__main__ import PARTS
from benchmarks.speed.machine import run
from benchmarks.speed.report import DEFAULT, ROWS, page


@pytest.mark.usefixtures("long_only")
def test_the_quality_benchmark_needs_nothing_but_the_repository(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.quality", "--data", str(tmp_path / "absent")]
    output = tmp_path / "out.json"
    done = in_a_process(*command, "--output", output, cwd=ROOT)
    done.ends(0).says("drafts3.jsonl: absent")
    nights = json.loads(output.read_text("utf-8"))["without a model"]
    assert len(nights) == 6
    assert [name for name, figures in nights.items() if figures["text grows"]] == []


def test_flavours_share_no_memory_and_no_fact() -> None:
    output = [each for flavour in fixture.FLAVOURS for each in fixture.load(flavour).memories]
    assert len({each.id for each in output}) == len(output) == 3_000
    groups = [{each.group for each in fixture.load(name).memories} for name in fixture.FLAVOURS]
    assert len(set.union(*groups)) == sum(map(len, groups))


def test_performance_md_has_the_rows_of_the_benchmark() -> None:
    assert PARTS.keys() == ROWS.keys()
    shown = block((ROOT / "docs" / "performance.md").read_text("utf-8"), "bench").splitlines()
    printed = page("", {part: ["?"] * len(ROWS[part]) for part in DEFAULT}).splitlines()
    assert [line.split(" | ")[:2] for line in shown if line.startswith("| ")] == [
        line.split(" | ")[:2] for line in printed if line.startswith("| ")
    ]


def test_a_failed_step_raises_its_error() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        run([sys.executable, "-c", "raise SystemExit('no such thing')"])


def measure(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """Return what the benchmark of a model prints."""
    capsys.readouterr()
    model.main([str(each) for each in arguments])
    return capsys.readouterr().out.splitlines()


def test_a_model_is_measured_by_drafts_and_by_their_recording(
    tmp_path: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"id": "a", "said": "2026-03-02", "text": "The job runs at 02:00 on host nas-2."}
    drafts = (
        (True, "The job runs at 02:00 on host nas-2."),
        (False, "The job runs at 03:00 on host nas-2."),  # the program finds it
        (False, "The job never runs on host nas-2 at 02:00."),  # the reading does
    )
    lines = [
        {"case": f"c{index}", "operation": "synthesize", "sources": [source], "kind": "edit"}
        | {"faithful": faithful, "claims": [{"text": text}]}
        for index, (faithful, text) in enumerate(drafts)
    ]
    (tmp_path / "drafts3.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    server.responder = answering(
        lambda _: groups(),
        lambda asked: {
            "groups": [
                verdict(draft, [draft["text"]] if "never" in draft["text"] else [])
                for draft in asked.drafts
            ]
        },
    )
    named = ("--model", "openai/scripted", "--data", tmp_path)
    recording = tmp_path / "recording.jsonl"
    asked = measure(capsys, *named, "--api-base", server.base, "--record", recording)
    assert "wrong drafts caught, by either: 2 of 2" in asked
    assert "wrong drafts caught, by program: 1 of 2" in asked
    assert "faithful drafts turned down, by either: 0 of 1" in asked
    assert "life-lab.jsonl: absent" in asked
    assert asked[-1].startswith("cost: unknown, 1 calls, ")
    replayed = measure(capsys, *named, "--replay", recording)
    assert replayed[:-1] == asked[:-1]
    assert replayed[-1].startswith("cost: 0.0000 USD, 0 calls, ")


def test_a_model_is_measured_by_a_life(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("jsonl", "gold.json", "recording.jsonl"):
        shutil.copy(QUALITY / f"life-blind-a.{name}", tmp_path / f"life-lab.{name}")
    models = ("--model", "writer", "--checker", "checker")
    recording = tmp_path / "life-lab.recording.jsonl"
    shown = measure(capsys, *models, "--data", tmp_path, "--replay", recording)
    assert "drafts3.jsonl: absent" in shown
    figures = {line[:36].strip(): line[36:].strip() for line in shown}
    assert float(figures["redundant memories removed"]) > 0.5
    assert "not answered" not in "".join(shown)


def test_measuring_an_unknown_model_exits(tmp_path: Path) -> None:
    (tmp_path / "drafts3.jsonl").write_text("")
    with pytest.raises(SystemExit, match="litellm does not know the model 'nonsense'"):
        model.main(["--model", "nonsense", "--data", str(tmp_path)])


def test_the_repository_has_258_labelled_drafts() -> None:
    drafts = list(labelled_drafts(QUALITY / "drafts-held-out.toml"))
    assert len(drafts) == 258
    assert {"case", "sources", "claims", "faithful", "kind"} <= drafts[0].keys()
