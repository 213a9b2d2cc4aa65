"""Who gives the second opinions on what a model wrote, and what is told of each sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import Asked, Reply, group, groups, model_server, opinions, says
from nights import told
from test_cli import Cli, Ended, cli
from test_model_writer import NEWER, Agent

from slowwave.consolidation.model.calls import Endpoint, open_model
from slowwave.consolidation.model.model_pair import ModelWithSecondOpinions
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

__all__ = ["cli"]  # a fixture of test_cli, asked for by name

KEY_OF_THE_GATE = (
    "The gate to the ponds is locked and its key is kept at Holm farm by the miller.",
    "The miller at Holm farm keeps the key of the locked gate to the ponds, 14 km away.",
)
BOTH = "The gate to the ponds is locked and the miller keeps its key at Holm farm, 14 km away."


@pytest.fixture(scope="module")
def vectors() -> dict[str, list[float]]:
    return {}


@pytest.fixture
def agent(
    memory_file: Path, embedder: SentenceEmbedder, vectors: dict[str, list[float]]
) -> Iterator[Agent]:
    with model_server() as server:
        server.responder = joined
        made = Agent(memory_file, embedder, server, vectors)
        made.remember(told(KEY_OF_THE_GATE, "key"))
        yield made


def joined(asked: Asked) -> Reply:
    """Join all memories in words of its own, and approve of it."""
    if asked.items:
        return says(opinions(asked))
    return says(groups(group("joined", asked.memories, (), [(BOTH, asked.memories)])))


def maintained(cli: Cli, agent: Agent, *arguments: object) -> Ended:
    """Run a night by the command line, for JSON."""
    asking = ("--model", "openai/scripted", "--api-base", agent.server.base)
    return cli("maintain", agent.path, "--consolidate", "--json", *asking, *arguments)


def asked_by(agent: Agent) -> list[tuple[str, str]]:
    """Return which model was asked for what."""
    return [
        (one.body["model"], "opinions" if one.items else "groups") for one in agent.server.asked
    ]


def claim_of(ended: Ended) -> dict[str, Any]:
    """Return the only claim of the only proposal."""
    ((claim,),) = [one["claims"] for one in ended.json["proposals"]]
    assert isinstance(claim, dict)
    return claim


def test_the_model_itself_gives_the_second_opinion_if_nobody_else_is_named(
    cli: Cli, agent: Agent
) -> None:
    ended = maintained(cli, agent)
    assert asked_by(agent) == [("scripted", "groups"), ("scripted", "opinions")]
    assert ended.json["model"]["checker"] == "openai/scripted"
    claim = claim_of(ended)
    assert claim["text"] == BOTH
    assert (claim["written_by"], claim["checked_by"]) == ("openai/scripted", "openai/scripted")


def test_another_model_gives_the_second_opinion_where_it_is_named(cli: Cli, agent: Agent) -> None:
    ended = maintained(cli, agent, "--checker", "openai/strict")
    assert asked_by(agent) == [("scripted", "groups"), ("strict", "opinions")]
    assert ended.json["model"]["checker"] == "openai/strict"
    assert claim_of(ended)["checked_by"] == "openai/strict"


def test_an_opinion_of_another_model_is_another_opinion(cli: Cli, agent: Agent) -> None:
    asking = ("--dry-run", "--ask")
    maintained(cli, agent, *asking, "--checker", "openai/strict")
    maintained(cli, agent, *asking, "--checker", "openai/mild")
    assert [model for model, what in asked_by(agent) if what == "opinions"] == ["strict", "mild"]


def test_without_a_checker_no_words_of_a_models_own_are_written(cli: Cli, agent: Agent) -> None:
    ended = maintained(cli, agent, "--checker", "none")
    assert {what for _, what in asked_by(agent)} == {"groups"}
    assert ended.json["model"]["checker"] is None
    texts = [row["content"] for row in agent.rows("SELECT content FROM memories")]
    assert not any(BOTH in text for text in texts)
    assert {one["state"] for one in ended.json["proposals"]} == {"rejected"}


def test_a_checker_without_a_model_is_told_to_have_none(cli: Cli, agent: Agent) -> None:
    ended = cli("maintain", agent.path, "--consolidate", "--checker", "openai/strict")
    assert ended.code == 2
    assert "--checker goes with --model" in ended.err


def test_the_report_and_trace_say_whose_words_a_sentence_has(cli: Cli, agent: Agent) -> None:
    asking = ("--model", "openai/scripted", "--api-base", agent.server.base)
    report = cli("maintain", agent.path, "--consolidate", *asking, "--checker", "openai/strict")
    whose = "worded by openai/scripted, checked word by word and by openai/strict"
    assert whose in " ".join(report.out.split())
    (row,) = agent.rows("SELECT id FROM memories WHERE status = 'active'")
    assert whose in " ".join(cli("trace", agent.path, row["id"]).out.replace("│", " ").split())
    (claim,) = cli("trace", agent.path, row["id"], "--json").json["memory"]["claims"]
    assert claim["checked_by"] == "openai/strict"
    assert sorted(claim["sources"]) == ["key-00", "key-01"]


def test_trace_says_what_stands_word_for_word_in_its_sources(cli: Cli, agent: Agent) -> None:
    agent.remember(told(NEWER, "choir"))

    def newer(asked: Asked) -> Reply:
        choir = [one for one in asked.memories if one.text in NEWER]
        return says(groups(group("newer", choir, choir[1:])))

    agent.server.responder = newer
    ended = maintained(cli, agent)
    claims = [one for proposal in ended.json["proposals"] for one in proposal["claims"]]
    assert claims
    assert {one["written_by"] for one in claims} == {None}


def test_a_budget_of_money_is_kept_by_the_dearer_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-31415926535897932384")
    small, large = (open_model(Endpoint(f"openai/{name}")) for name in ("gpt-4o-mini", "gpt-4o"))
    both = ModelWithSecondOpinions(small, large)
    assert both.price(1000, 1000) == large.price(1000, 1000) != small.price(1000, 1000)
    unknown = open_model(Endpoint("openai/of-ones-own"))
    assert ModelWithSecondOpinions(small, unknown).price(1000, 1000) is None


def test_what_one_checker_turned_down_is_asked_again_with_another(cli: Cli, agent: Agent) -> None:
    maintained(cli, agent, "--checker", "none")
    agent.server.forget()
    ended = maintained(cli, agent, "--checker", "openai/strict")
    assert asked_by(agent) == [("strict", "opinions")]
    assert {one["state"] for one in ended.json["proposals"]} == {"applied"}


def test_what_a_model_worded_before_a_memory_grew_is_still_its_wording(
    cli: Cli, agent: Agent
) -> None:
    maintained(cli, agent)
    more = "The miller keeps the key of the gate to the ponds from 06:30 to 09:15 on Sundays."
    agent.remember(told([more], "more", first_day=20))

    def grown(asked: Asked) -> Reply:
        if asked.items:
            return says(opinions(asked))
        (new,) = [one for one in asked.memories if not one.stands]
        return says(groups(group("joined", asked.memories, (), [(more, [new])])))

    agent.server.responder = grown
    maintained(cli, agent)
    (row,) = agent.rows("SELECT id FROM memories WHERE status = 'active'")
    claims = cli("trace", agent.path, row["id"], "--json").json["memory"]["claims"]
    worded = {one["text"]: one["written_by"] for one in claims}
    assert worded == {BOTH: "openai/scripted", more: None}
