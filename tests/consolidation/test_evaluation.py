"""Recall before and after a night, measured on a copy; and what a guard leaves out for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import readme
from cli_calls import Cli
from commands import setting
from hypothesis import given
from hypothesis import strategies as st
from model_nights import Agent, served
from model_server import Answer, Asked, answering, approval, group, groups, model_server, says
from nights import NOW, OTHERS, fill, night, of_one_thing, picture, rows, told

from slowwave.consolidation.errors import QuestionsError
from slowwave.consolidation.evaluation.evaluate import evaluate
from slowwave.consolidation.evaluation.guarded_night import exclude_harmful
from slowwave.consolidation.evaluation.measures import MeasuredHit, measure
from slowwave.consolidation.evaluation.questions import (
    RecallQuestion,
    make_questions,
    read_questions,
)
from slowwave.consolidation.evaluation.trial import Trials, keeps_facts
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.proposals import Proposal
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import BuiltInWriter
from slowwave.store.file import open_reading, open_writing
from slowwave.store.memories import read_memories
from slowwave.store.records import content_hash
from slowwave.store.shown_to_model import Dispute, keep_disputes


@pytest.fixture
def filled(memory_file: Path) -> Path:
    fill(memory_file, [*told(of_one_thing(), "oncall"), *told(OTHERS, "other")])
    return memory_file


def asked(question: str, *evidence: str, **fields: object) -> RecallQuestion:
    return RecallQuestion.model_validate(
        {"id": question, "question": question, "evidence_ids": evidence, **fields}
    )


def an_answer(*held: str, text: str = "x") -> MeasuredHit:
    return MeasuredHit(text, frozenset(held))


def test_the_measures_of_one_question_are_those_of_the_field() -> None:
    found = measure([an_answer(), an_answer("a"), an_answer("a"), an_answer("b")], {"a", "b"})
    assert (found.recall_at_5, found.all_at_10, found.mrr) == (1.0, 1.0, 0.5)
    # Gains at ranks 2 and 4 of at most ranks 1 and 2.
    assert found.ndcg_at_10 == pytest.approx((0.6309 + 0.4307) / (1 + 0.6309), abs=1e-3)


def test_what_does_not_fit_into_the_tokens_makes_room_for_what_does() -> None:
    long = " ".join(["word"] * 600)
    found = measure([an_answer("a", text=long), an_answer("b")], {"a", "b"})
    assert (found.recall_in_500_tokens, found.recall_in_1000_tokens) == (0.5, 1.0)


@given(
    st.lists(st.frozensets(st.sampled_from("abc")), max_size=20),
    st.frozensets(st.sampled_from("abc"), min_size=1),
)
def test_every_measure_but_tokens_is_a_share(
    held: list[frozenset[str]], evidence: frozenset[str]
) -> None:
    found = measure([MeasuredHit("x", ids & evidence) for ids in held], evidence)
    shares = {name: value for name, value in vars(found).items() if name != "tokens_at_10"}
    assert all(0.0 <= value <= 1.0 for value in shares.values()), shares


@pytest.mark.parametrize(
    ("source", "text", "kept"),
    [
        ("Port 8080 is open.", "Port 8080 is open on web-1. It was opened in May.", True),
        ("Port 8080 is open.", "Port 9090 is open.", False),
        ("Marta opens the office.", "The office is opened at eight.", False),
        ("Marta opens the office.", "Marta opens the office at eight.", True),
    ],
)
def test_a_text_holds_a_source_s_facts_if_its_values_names_and_words_stand_there(
    source: str, text: str, kept: bool
) -> None:
    assert keeps_facts(source, text) is kept


def test_a_file_is_measured_on_a_copy_and_stays_as_it_is(
    filled: Path, embedder: SentenceEmbedder
) -> None:
    before = filled.read_bytes()
    question = asked("Who carries the pager at weekends?", *(f"oncall-{n:02d}" for n in range(8)))
    trials = Trials(filled, [question, asked("Nobody knows", "absent")], embedder, NOW)
    found = evaluate(trials, trials.night(CycleOptions(), BuiltInWriter()))
    assert filled.read_bytes() == before
    assert (found.questions, found.without_evidence) == (1, 1)
    assert found.memories_after < found.memories_before == 11
    # Eight tellings do not fit among five hits; one memory that was made of them does.
    assert found.before.recall_at_5 < 1.0 == found.by_lineage.recall_at_5
    assert found.after.tokens_at_10 < found.before.tokens_at_10


def test_the_night_that_is_tried_is_the_night_that_would_run(
    filled: Path, embedder: SentenceEmbedder
) -> None:
    trials = Trials(filled, None, embedder, NOW)
    tried = trials.night(CycleOptions(), BuiltInWriter()).outcome
    done = night(filled, embedder)
    assert [result.proposal.id for result in tried.results] == [
        result.proposal.id for result in done.results
    ]


def test_an_old_value_that_is_handed_over_as_what_is_so_counts_as_stale(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    backups = [
        "The backup of the wiki runs at 02:30 every night.",
        "The backup of the wiki now runs at 03:30 every night.",
    ]
    fill(memory_file, told([*backups, *OTHERS], "m"))
    hashes = [content_hash(text) for text in backups]
    with open_writing(memory_file) as file, file.transaction():
        keep_disputes(file, [Dispute("default", *hashes, "two values")], "no run")
    # Of the last one nothing says that it is an older value of anything.
    for stale, handed_over in (("m-00", 0.0), ("m-04", 1.0)):
        question = asked("When is the wiki backed up?", "m-01", stale_ids=[stale])
        trials = Trials(memory_file, [question], embedder, NOW)
        found = evaluate(trials, trials.night(CycleOptions(), BuiltInWriter()))
        assert (found.before.stale_at_10, found.after.stale_at_10) == (handed_over, handed_over)
        assert found.after.recall_at_10 == 1.0


def test_the_memories_of_a_file_ask_for_themselves_by_their_rarest_words(filled: Path) -> None:
    with open_reading(filled) as file:
        memories = list(read_memories(file))
    questions = {question.id: question for question in make_questions(memories)}
    assert set(questions) == {memory.id for memory in memories}
    words = questions["other-00"].question.split()
    assert len(words) == 4
    assert set(words) < {"ines", "waters", "plants", "third", "floor"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[]", "dictionary"),
        ('{"id": "q", "question": "x"}', "evidence_ids"),
        ('{"id": "q", "question": "", "evidence_ids": []}', "question"),
        ('{"id": 1, "question": "x", "evidence_ids": ["a"]}', "id"),
        ('{"id": "q", "question": " ", "evidence_ids": ["a"]}', "question"),
        ("[" * 200_000, "not JSON"),
        (f'{{"id": "q", "question": "x", "evidence_ids": [], "type": {"9" * 5_000}}}', "not JSON"),
    ],
)
def test_a_line_that_is_no_question_is_named_with_its_number(
    line: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(f'{{"id": "a", "question": "b", "evidence_ids": ["c"]}}\n\n{line}\n')
    with pytest.raises(QuestionsError, match=rf"Line 3 of .*{message}"):
        read_questions(path)


def test_evidence_that_is_not_there_or_of_another_tenant_is_counted_and_not_asked_for(
    filled: Path, embedder: SentenceEmbedder
) -> None:
    questions = [
        asked("Who waters the plants?", "other-00", "typo-1", "typo-2"),
        asked("Who descales the coffee machine?", "other-01", tenant="nobody"),
    ]
    trials = Trials(filled, questions, embedder, NOW)
    assert [question.evidence_ids for question in trials.questions] == [("other-00",)]
    assert (trials.without_evidence, trials.unknown) == (1, 3)
    assert trials.before.by_text[0].recall_at_10 == 1.0


def test_a_guard_that_nothing_speaks_against_lets_the_night_through(
    filled: Path, embedder: SentenceEmbedder
) -> None:
    trials = Trials(filled, None, embedder, NOW)
    found = exclude_harmful(trials, CycleOptions(), BuiltInWriter, 0.5, Interruption())
    assert (found.excluded, found.options) == ((), CycleOptions())


# The second says all of the first, in other words.
RETOLD = [
    "Lead time for a laptop: three weeks.",
    "Between ordering a laptop for a new hire and getting it you have to reckon with three weeks.",
]
HARMED = RecallQuestion(id="q", question="laptop lead time", evidence_ids=("laptop-00",))


def join_retold(asked: Asked) -> Answer:
    """Keep the second of the two."""
    both = [memory for memory in asked.memories if "laptop" in memory.text]
    return groups(*([group("merge", both, RETOLD[1])] if len(both) > 1 else []))


@pytest.fixture
def joining() -> Iterator[tuple[str, ...]]:
    """Provide the options that name a model which joins them."""
    with served(answering(join_retold, approval)) as options:
        yield options


def night_plan(path: Path, embedder: SentenceEmbedder) -> list[Proposal]:
    return [result.proposal for result in night(path, embedder, dry_run=True).results]


def test_a_guard_leaves_out_the_proposal_that_lowers_recall_and_nothing_else(
    filled: Path, agent: Agent
) -> None:
    fill(filled, told(RETOLD, "laptop"))
    agent.server.responder = answering(join_retold, approval)
    trials = Trials(filled, [HARMED], agent.embedder, NOW)
    found = exclude_harmful(trials, CycleOptions(), agent.writer(), 0.01, Interruption())
    assert found.unguarded < found.before - 0.01
    assert found.guarded >= found.before - 0.01
    assert [proposal.sources for proposal in found.excluded] == [("laptop-00", "laptop-01")]
    done = agent.sleep(excluded=found.options.excluded)
    assert [result.proposal.sources[0] for result in done.results] == ["oncall-00"]


def test_what_a_guard_left_out_is_proposed_again_without_one(
    filled: Path, embedder: SentenceEmbedder
) -> None:
    planned = night_plan(filled, embedder)
    night(filled, embedder, excluded=frozenset(proposal.id for proposal in planned))
    night(filled, embedder, excluded=frozenset(proposal.id for proposal in planned))
    assert [proposal.id for proposal in night_plan(filled, embedder)] == [
        proposal.id for proposal in planned
    ]


def write_questions(path: Path, *questions: RecallQuestion) -> Path:
    path.write_text("".join(f"{question.model_dump_json()}\n" for question in questions), "utf-8")
    return path


def test_eval_prints_a_table_and_in_json_what_scripts_rely_on(
    filled: Path, tmp_path: Path, cli: Cli
) -> None:
    questions = write_questions(
        tmp_path / "q.jsonl", asked("Who waters the plants?", "other-00"), asked("?", "absent")
    )
    shown = cli("eval", filled, questions)
    assert (shown.code, "recall@10" in shown.out) == (0, True)
    found = cli("eval", filled, questions, "--json").json
    assert (found["format"], found["questions"], found["left_out"]) == (1, 1, 1)
    for when in ("before", "after"):
        assert found[when].keys() >= {
            *("memories", "recall@5", "recall@10", "all@10", "mrr", "ndcg@10", "tokens@10"),
            "recall@1000tokens",
        }
    assert "recall@10" in found["after"]["by_lineage"]
    assert found["difference"]["recall@10"].keys() == {"mean", "low", "high"}


@pytest.mark.parametrize(
    ("arguments", "code"), [([], 2), (["absent.jsonl"], 1), (["--self", "absent.jsonl"], 2)]
)
def test_eval_says_what_is_wrong_with_its_questions(
    arguments: list[str], code: int, filled: Path, cli: Cli
) -> None:
    ended = cli("eval", filled, *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("Error: ")


def test_maintain_with_a_guard_says_what_it_left_out_and_leaves_it(
    filled: Path, tmp_path: Path, joining: tuple[str, ...], cli: Cli
) -> None:
    fill(filled, told(RETOLD, "laptop"))
    questions = write_questions(tmp_path / "q.jsonl", HARMED)
    guarded = ("maintain", filled, "--consolidate", *joining, setting("guard", questions))
    shown = cli(*guarded, "--dry-run", "--ask")
    assert "Left out: 1 proposal; with them recall@10 would be" in shown.out
    done = cli(*guarded, "--json")
    assert done.code == 0
    assert [proposal["operation"] for proposal in done.json["guard"]["left_out"]] == ["merge"]
    assert [proposal["sources"][0] for proposal in done.json["proposals"]] == ["oncall-00"]
    active = rows(filled, "SELECT id FROM memories WHERE status = 'active'")
    assert {"id": "laptop-00"} in active


def test_with_review_a_guard_measures_what_waits_as_if_it_were_approved(
    filled: Path, tmp_path: Path, joining: tuple[str, ...], cli: Cli
) -> None:
    fill(filled, told(RETOLD, "laptop"))
    questions = write_questions(tmp_path / "q.jsonl", HARMED)
    night = ("maintain", filled, "--consolidate", *joining, setting("guard", questions))
    guarded = (*night, "--review", "always")
    planned = cli(*guarded, "--dry-run", "--ask").out
    assert "This holds if all proposals that this night lets wait are approved" in planned
    done = cli(*guarded, "--json").json
    assert done["guard"]["as_if_approved"]
    assert done["guard"]["recall@10"]["unguarded"] < done["guard"]["recall@10"]["before"]
    assert [proposal["operation"] for proposal in done["guard"]["left_out"]] == ["merge"]
    # What is let through waits all the same.
    assert [(proposal["operation"], proposal["state"]) for proposal in done["proposals"]] == [
        ("merge", "pending")
    ]
    plain = cli(*night, "--dry-run", "--ask", "--json")
    assert not plain.json["guard"]["as_if_approved"]


def test_a_guarded_dry_run_writes_nothing(filled: Path, cli: Cli) -> None:
    before = picture(filled)
    first = cli(
        "maintain", filled, "--consolidate", setting("guard", "self"), "--dry-run", "--json"
    )
    second = cli(
        "maintain", filled, "--consolidate", setting("guard", "self"), "--dry-run", "--json"
    )
    assert (first.code, first.out) == (0, second.out)
    assert picture(filled) == before
    assert json.loads(first.out)["guard"]["questions"] == 11


def test_a_guard_of_an_empty_file_and_one_without_a_night_stand_in_nobodys_way(
    memory_file: Path, cli: Cli
) -> None:
    guarded = ("maintain", memory_file, setting("guard", "self"))
    assert cli(*guarded, "--consolidate").code == 0
    ended = cli(*guarded, "--phase", "purge", "--json")
    assert (ended.code, "guard" in ended.json) == (0, False)
    assert (
        "guard"
        not in cli(
            "maintain", memory_file, "--consolidate", setting("guard", "none"), "--json"
        ).json
    )


def test_the_guard_shows_a_model_the_same_whatever_is_left_out(tmp_path: Path, cli: Cli) -> None:
    memories, answers = tmp_path / "retold.db", tmp_path / "answers.jsonl"
    shutil.copy(readme.ANSWERS, answers)
    cli("import", memories, readme.RETOLD)
    replayed = ("maintain", memories, "--consolidate", setting("replay", answers), "--json")
    done = cli(*replayed, setting("guard", "self"))
    assert (done.code, done.err) == (0, "")
    assert "failed" not in {proposal["state"] for proposal in done.json["proposals"]}
    assert done.json["guard"]["left_out"] != []


def test_a_guarded_night_keeps_to_the_budget_of_one(tmp_path: Path, cli: Cli) -> None:
    memories = tmp_path / "retold.db"
    cli("import", memories, readme.RETOLD)
    with model_server() as server:
        server.responder = lambda asked: says(groups())
        asking = (
            "--model",
            "openai/scripted",
            setting("api_base", server.base),
            setting("max_calls", "2"),
        )
        done = cli(
            "maintain", memories, "--consolidate", *asking, setting("guard", "self"), "--json"
        )
        assert len(server.asked) <= 2
        assert done.json["model"]["calls"] == done.json["guard"]["calls"] == len(server.asked)


def test_eval_asks_no_model_unless_it_is_told_to(filled: Path, cli: Cli) -> None:
    with model_server() as server:
        asking = ("--model", "openai/scripted", setting("api_base", server.base))
        assert cli("eval", filled, "--self", *asking).code == 0
        assert server.asked == []
    assert cli("eval", filled, "--self", "--ask").code == 2


def test_a_guard_without_an_answerable_question_stops_the_night(
    filled: Path, tmp_path: Path, cli: Cli
) -> None:
    questions = write_questions(tmp_path / "q.jsonl", asked("?", "absent"))
    before = picture(filled)
    ended = cli("maintain", filled, "--consolidate", setting("guard", questions))
    assert (ended.code, picture(filled)) == (1, before)
    assert "answers any of the questions" in ended.err
