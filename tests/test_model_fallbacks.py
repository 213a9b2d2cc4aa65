"""What is done of a model's groups that have a fault: what stands, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import Asked, Reply, Responder, Shown, group, groups, model_server, opinions, says
from nights import told
from test_model_writer import Agent

from slowwave.consolidation.vectors.embedder import SentenceEmbedder

# Four that say one thing, the last of which adds where, how far and how long.
KEY = (
    "The gate to the ponds is locked and its key is kept at Holm farm by the miller.",
    "Gate to the ponds: locked, the miller keeps the key at Holm farm.",
    "The miller at Holm farm keeps the key of the locked gate to the ponds, 14 km away.",
    "Locked gate, ponds: key is with the miller on Holm farm, from 06:30 on.",
)
SHORT = "Ponds' gate key: miller, Holm farm, 14 km."
LONG = (
    "Called the miller at Holm farm about the key to the locked gate of the ponds: it is 14 km by "
    "the road, he is in from 06:30 to 09:15, wants 20 euros as a deposit and a call the day before."
)
# Voices of one rule; one names a branch of its own.
SIGNED = (
    "Never merge a change to the pricing tables without a second pair of eyes.",
    "Changes to the pricing tables are only merged after a second person has read them.",
    "A second pair of eyes before any merge into the pricing tables!",
    "Do not merge into the pricing tables until somebody else has looked.",
    "Always have a second person read changes to the pricing tables before the merge.",
    "Pricing tables: merge to `release/eu` with a second reader, never without.",
)

Stubborn = Callable[[list[Shown]], dict[str, Any]]


@pytest.fixture(scope="module")
def vectors() -> dict[str, list[float]]:
    return {}


@pytest.fixture
def agent(
    memory_file: Path, embedder: SentenceEmbedder, vectors: dict[str, list[float]]
) -> Iterator[Agent]:
    with model_server() as server:
        yield Agent(memory_file, embedder, server, vectors)


def stubborn(answer: Stubborn, approves: bool = True) -> Responder:
    """Say the same of the memories when asked once more, and one thing of all sentences."""
    return lambda asked: says(
        opinions(asked, told=approves) if asked.items else groups(answer(asked.memories))
    )


def same(stay: str) -> Stubborn:
    """Call all memories the same, and let one stay."""
    return lambda shown: group("same", shown, [one for one in shown if one.text == stay])


def rule(claim: str) -> Stubborn:
    """See a rule in all memories."""
    return lambda shown: group("rule", shown, (), [(claim, shown)])


def standing(agent: Agent) -> list[str]:
    """Return the texts of the active memories."""
    return [
        row["content"] for row in agent.rows("SELECT content FROM memories WHERE status = 'active'")
    ]


def test_what_one_of_several_adds_is_put_behind_the_memory_that_was_to_stay(agent: Agent) -> None:
    agent.remember(told([*KEY[:2], SHORT], "key"))
    agent.server.responder = stubborn(same(KEY[0]))
    (result,) = agent.sleep().results
    assert (result.state, result.proposal.operation) == ("applied", "synthesize")
    assert "14 km" in str(result.why)
    assert standing(agent) == [f"{KEY[0]} {SHORT}"]


def test_of_memories_called_the_same_those_stay_that_say_more(agent: Agent) -> None:
    agent.remember(told([*KEY[:2], LONG], "key"))
    agent.server.responder = stubborn(same(KEY[0]))
    (result,) = [one for one in agent.sleep().results if one.proposal.by_model]
    assert (result.state, result.proposal.operation) == ("applied", "merge")
    assert LONG in standing(agent)
    assert len(standing(agent)) == 2
    for detail in ("Holm farm", "06:30"):
        assert any(detail in text for text in standing(agent))


def test_what_a_model_says_the_second_time_of_what_was_left_out_counts(agent: Agent) -> None:
    both = "The gate to the ponds is locked and the miller keeps its key at Holm farm, 14 km away."

    def respond(asked: Asked) -> Reply:
        if asked.items:
            return says(opinions(asked))
        shown = asked.memories
        if not asked.faulty:
            return says(groups(group("same", shown, shown[:1])))
        return says(groups(group("joined", shown, (), [(both, shown)])))

    agent.remember(told([KEY[0], KEY[2]], "key"))
    agent.server.responder = respond
    (result,) = agent.sleep().results
    assert (result.state, result.why) == ("applied", None)
    assert standing(agent) == [both]


def test_a_second_opinion_against_a_claim_puts_the_sources_own_words_in_its_place(
    agent: Agent,
) -> None:
    agent.remember(told(KEY, "key"))
    claims = [
        "The gate to the ponds is locked and the miller keeps its key at Holm farm, 14 km away.",
        "The key to the locked gate is with the miller from 06:30 on.",
    ]
    agent.server.responder = lambda asked: says(
        {"opinions": [{"n": one["n"], "told": False, "words": []} for one in asked.items]}
        if asked.items
        else groups(group("joined", asked.memories, (), [(one, asked.memories) for one in claims]))
    )
    agent.sleep()
    for text in standing(agent):
        assert not any(claim in text for claim in claims)


def test_a_rule_that_few_voice_so_is_stated_as_one_of_its_voices_states_it(agent: Agent) -> None:
    agent.remember(told(SIGNED, "rule"))
    agent.server.responder = stubborn(rule(SIGNED[5]))
    (result,) = agent.sleep().results
    assert (result.state, result.proposal.operation) == ("applied", "extract")
    (made,) = agent.rows("SELECT content FROM memories WHERE layer = 'core'")
    assert made["content"] in SIGNED[:5]
    assert SIGNED[5] in standing(agent)


@pytest.mark.parametrize("approves", [True, False], ids=["is for it", "is against it"])
def test_a_voice_in_other_words_leaves_for_a_rule_only_if_a_second_opinion(
    agent: Agent, approves: bool
) -> None:
    agent.remember(told(SIGNED[:5], "rule"))
    agent.server.responder = stubborn(rule(SIGNED[0]), approves)
    (result,) = agent.sleep().results
    assert result.state == "applied"
    asked = {one["said"] for question in agent.server.asked for one in question.items}
    assert asked
    assert asked.isdisjoint(standing(agent)) == approves


def test_a_sentence_that_two_memories_share_is_asked_about_once(agent: Agent) -> None:
    shared = "Told by the miller at the fair."
    agent.remember(told([f"{one} {shared}" for one in KEY[:2]], "key"))
    agent.server.responder = stubborn(lambda shown: group("joined", shown, (), [(KEY[0], shown)]))
    agent.sleep()
    (question, *_) = [one for one in agent.server.asked if one.items]
    assert [one["said"] for one in question.items].count(shared) == 1


def test_what_a_model_leaves_of_a_group_is_looked_at_the_same_night(agent: Agent) -> None:
    settled = "Helvi settles the invoices on the first Tuesday of the month"
    said, left = (
        (f"{settled}, after the bank's cut-off at 14:00.", f"{settled}, from the shared account."),
        (f"{settled}, with the bank's token.", f"{settled}, with the bank's token at hand."),
    )

    def respond(asked: Asked) -> Reply:
        if asked.items:
            return says(opinions(asked))
        one, other = (shown for shown in asked.memories if shown.text in said)
        claims = [(one.text, [one]), ("From the shared account.", [other])]
        return says(groups(group("joined", [one, other], (), claims)))

    agent.remember(told([*said, *left], "invoices"))
    agent.server.responder = respond
    of_the_model, *others = [one for one in agent.sleep().results if one.state == "applied"]
    assert of_the_model.proposal.by_model
    assert others
    assert all(one.worth is not None and one.worth.tokens_after is not None for one in others)
    assert not agent.sleep().results
    assert any("bank's token" in one for one in standing(agent))
