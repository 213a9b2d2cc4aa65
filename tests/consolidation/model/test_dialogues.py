"""The questions of a night are values, which anybody can answer in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from model_nights import Agent, a_fact, by_model, facts
from model_server import Asked, groups, honest, says

from slowwave.consolidation.model.calls import Endpoint
from slowwave.consolidation.model.interface import Models
from slowwave.consolidation.model.question import Reply, resume
from slowwave.consolidation.model.window_dialogue import WindowDialogue
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.proposals import AskedWindow, Result, Usage
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.writer import Job


class AnsweredByHand(ModelWriter):
    """Answers the questions of all windows in this thread, the last one first."""

    def make_ready(self) -> None:
        """Open no model."""

    def write(
        self, jobs: Sequence[Job], answers: AnswerStore
    ) -> Iterator[Sequence[Result | AskedWindow]]:
        dialogues = [WindowDialogue(job, self.key, self.models).run() for job in jobs]
        asked = [(dialogue, resume(dialogue)[1]) for dialogue in dialogues]
        while asked:
            dialogue, question = asked.pop()
            if question is not None:
                text = json.dumps(honest(Asked({}, {"messages": question.messages})))
                assert question.is_answered_by(text)
                results, following = resume(dialogue, Reply(text, Usage(calls=1)))
                yield results
                asked.insert(0, (dialogue, following))


def test_questions_that_are_answered_by_hand_in_any_order_give_what_a_model_gives(
    agent: Agent,
) -> None:
    agent.remember(facts(4))
    by_hand = agent.sleep(AnsweredByHand(Endpoint("openai/scripted")), dry_run=True, ask=True)
    assert agent.server.asked == []
    served = agent.sleep(dry_run=True, ask=True)
    assert len(by_hand.asked) == len(served.asked) == 4
    assert {result.proposal for result in by_model(by_hand)} == {
        result.proposal for result in by_model(served)
    }
    assert by_hand.usage.calls == served.usage.calls == 8


def test_a_question_has_the_id_of_its_answer_in_the_file_also_when_it_is_asked_again(
    agent: Agent,
) -> None:
    agent.remember(a_fact())
    ids: list[str] = []

    class Noting(AnsweredByHand):
        def write(
            self, jobs: Sequence[Job], answers: AnswerStore
        ) -> Iterator[Sequence[Result | AskedWindow]]:
            dialogue = WindowDialogue(jobs[0], self.key, Models("openai/scripted", None)).run()
            _, question = resume(dialogue)
            for text in ("no JSON", json.dumps(groups())):
                assert question is not None
                ids.append(question.id)
                results, question = resume(dialogue, Reply(text, Usage(calls=1)))
            yield results

    agent.sleep(Noting(Endpoint("openai/scripted")), dry_run=True, ask=True)
    agent.server.responder = lambda _: says(groups())
    agent.sleep()
    (kept,) = agent.rows("SELECT key FROM answers")
    assert ids == [kept["key"]] * 2
