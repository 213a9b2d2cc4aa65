"""Dense texts: how they are recognized, merged and reported."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import night as fixture
import pytest
from cli_calls import Cli
from commands import setting
from counting import calls, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from model_server import model_server
from nights import daily, fill, night, rows
from places import ROOT

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import MAX_LISTED
from slowwave.consolidation.reports.key_facts import anchors_of, key_facts
from slowwave.consolidation.text.density import density_of
from slowwave.consolidation.thresholds import ANCHOR_CHARACTERS, DENSE, MAX_KEY_FACTS
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

FIXTURE = ROOT / "fixtures" / "density.toml"
TEXTS: list[dict[str, Any]] = tomllib.loads(FIXTURE.read_text("utf-8"))["text"]
DENSE_TEXTS = {item["name"]: item["text"].strip("\n") for item in TEXTS if item["dense"]}
COMPOSE = DENSE_TEXTS["compose file"]
PORTS = ("The billing pod is restarted by Aino.", "Aino restarts the billing pod after a deploy.")


@pytest.mark.parametrize("item", TEXTS, ids=lambda item: item["name"])
def test_verbatim_texts_are_dense(item: dict[str, Any]) -> None:
    density = density_of(item["text"])
    assert density.is_dense == item["dense"], density.why


def test_hardly_any_memory_of_the_fixtures_is_dense() -> None:
    answers = sorted((ROOT / "fixtures" / "quality").glob("life-*.gold.json"))
    lives = [path.with_name(f"{path.name.removesuffix('.gold.json')}.jsonl") for path in answers]
    lines = [line for life in lives for line in life.read_text("utf-8").splitlines()]
    for flavour in fixture.FLAVOURS:
        lines += fixture.lines(fixture.load(flavour))
    texts = [json.loads(line)["content"] for line in lines]
    assert len(texts) > 4_000
    # One is, "for ad-hoc queries use ...": it begins as a line of a program does.
    assert sum(density_of(text).is_dense for text in texts) <= len(texts) // 4_000


def test_a_density_is_explained_with_its_numbers() -> None:
    assert density_of(COMPOSE).why.startswith("density 0.97 (limit 0.5): structured data 100%")
    assert density_of("Aino restarts it.").why == "density 0 (limit 0.5): sentences"


def test_key_facts_are_addresses_settings_versions_and_ids() -> None:
    assert key_facts(COMPOSE) == (
        "image: registry.example/billing:2.14.3",
        "DATABASE_URL: postgres://billing@db-3.internal:5432/billing",
        "RETRIES: 5",
    )
    assert key_facts("see https://a.example/x, v2.1.0, job_lock and 3f2a9c1e") == (
        *("https://a.example/x", "v2.1.0", "job_lock", "3f2a9c1e"),
    )


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from('ab1_.:=/"{}-# \n\tZé'), max_size=900))
def test_key_facts_and_anchors_are_quotes_of_the_text(text: str) -> None:
    facts = key_facts(text)
    assert all(item in text for item in (*facts, *anchors_of(text)))
    assert len(facts) <= MAX_KEY_FACTS
    assert 0 <= density_of(text).score <= 1


def test_anchors_are_the_start_the_middle_and_the_end() -> None:
    text = "".join(chr(ord("a") + number // 100) for number in range(2_000))
    start, middle, end = anchors_of(text)
    assert (text[:150], text[-150:]) == (start, end)
    assert {len(start), len(middle), len(end)} == {ANCHOR_CHARACTERS}
    assert text.index(middle) == 925
    assert anchors_of("short") == ("short",)


@pytest.mark.parametrize("piece", ["a.b", "a_", "-", "x="])
def test_hostile_texts_take_linear_work(piece: str) -> None:
    def work(count: int) -> int:
        return calls(lambda: (key_facts(piece * count), density_of(piece * count)))

    work(10)  # loads modules
    assert work(8_000) <= 5 * work(2_000) + 100


# ---- in a night ----


def test_no_model_gets_a_dense_memory(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, daily([*PORTS, *DENSE_TEXTS.values()], "m"))
    with model_server() as server:
        ended = cli(
            *("maintain", memory_file, "--consolidate", "--json"),
            *("--model", "openai/scripted", setting("api_base", server.base)),
        )
        asked = "\n".join(request.texts for request in server.asked)
    assert all(text in asked for text in PORTS)
    ways = ended.json["ways"]
    extractive = {way["memory"]: way for way in ways if way["way"] == "extractive"}
    assert {way["memory"] for way in ways if way["way"] == "model"} == {"m-00", "m-01"}
    assert len(extractive) == len(DENSE_TEXTS)
    for number, text in enumerate(DENSE_TEXTS.values(), start=2):
        assert json.dumps(text, ensure_ascii=False)[1:-1] not in asked
        assert extractive[f"m-{number:02d}"]["density"] >= DENSE
        assert extractive[f"m-{number:02d}"]["key_facts"] == list(key_facts(text))
    (counted,) = rows(
        memory_file,
        "SELECT count(*) AS n FROM memories WHERE status = 'active' "
        "AND generation = 0 AND id > 'm-01'",
    )
    assert counted["n"] == len(DENSE_TEXTS)


def test_only_identical_code_is_merged(memory_file: Path, embedder: SentenceEmbedder) -> None:
    swapped = COMPOSE.replace("    image: registry.example/billing:2.14.3\n", "", 1)
    deeper = COMPOSE.replace("      RETRIES: 5", "    RETRIES: 5")
    blanks = COMPOSE.replace("ports:\n", "ports:  \n")
    fill(memory_file, daily([COMPOSE, swapped, deeper, blanks, COMPOSE], "file"))
    outcome = night(memory_file, embedder)
    assert [result.proposal.operation for result in outcome.results] == ["merge"]
    (merged,) = outcome.results
    assert set(merged.proposal.sources) == {"file-00", "file-03", "file-04"}


def test_no_derived_memory_quotes_code(memory_file: Path, embedder: SentenceEmbedder) -> None:
    versions = [COMPOSE.replace("RETRIES: 5", f"RETRIES: {number}") for number in range(6)]
    fill(memory_file, daily(versions, "file"))
    outcome = night(memory_file, embedder)
    assert outcome.plan.proposals == ()
    assert outcome.plan.undecided == ()
    assert len(outcome.plan.dense) == 6


def test_a_second_night_reports_the_same_and_is_a_no_op(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, daily(list(DENSE_TEXTS.values()), "m"))
    first = cli("maintain", memory_file, "--consolidate", "--json").json["ways"]
    again = cli("maintain", memory_file, "--consolidate", "--json").json
    assert (again["ways"], again["run"]) == (first, None)
    shown = cli("maintain", memory_file, "--consolidate", "--dry-run").out
    assert f"Kept verbatim: {len(DENSE_TEXTS)} memories" in shown
    assert "density 0.97 (limit 0.5): structured data 100%" in shown
    listed = [text for text in DENSE_TEXTS.values() if clean(text[:40]) in shown]
    assert len(listed) == min(MAX_LISTED, len(DENSE_TEXTS))
