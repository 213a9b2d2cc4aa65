"""Recall before and after a night, measured on a copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_calls import Cli
from commands import setting
from hypothesis import given
from hypothesis import strategies as st
from model_server import model_server
from nights import NOW, OTHERS, daily, dispute, fill, night, of_one_thing, unchanged

from slowwave.consolidation.errors import QuestionsError
from slowwave.consolidation.evaluation.measures import MeasuredHit, measure
from slowwave.consolidation.evaluation.questions import RecallQuestion, read_questions
from slowwave.consolidation.evaluation.trial import Trials, keeps_facts
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.consolidation.writing.writer import BuiltInWriter


@pytest.fixture
def filled(memory_file: Path) -> Path:
    fill(memory_file, [*daily(of_one_thing(), "oncall"), *daily(OTHERS, "other")])
    return memory_file


def asked(question: str, *evidence: str, **fields: object) -> RecallQuestion:
    return RecallQuestion.model_validate(
        {"id": question, "question": question, "evidence_ids": evidence, **fields}
    )


def an_answer(*held: str, text: str = "x") -> MeasuredHit:
    return MeasuredHit(text, frozenset(held))


def test_a_question_is_measured_as_in_the_literature() -> None:
    measures = measure([an_answer(), an_answer("a"), an_answer("a"), an_answer("b")], {"a", "b"})
    assert (measures.recall_at_5, measures.all_at_10, measures.mrr) == (1.0, 1.0, 0.5)
    # Gains at ranks 2 and 4 of at most ranks 1 and 2.
    assert measures.ndcg_at_10 == pytest.approx((0.6309 + 0.4307) / (1 + 0.6309), abs=1e-3)


def test_a_text_beyond_the_token_budget_is_skipped() -> None:
    long = " ".join(["word"] * 600)
    measures = measure([an_answer("a", text=long), an_answer("b")], {"a", "b"})
    assert (measures.recall_in_500_tokens, measures.recall_in_1000_tokens) == (0.5, 1.0)


@given(
    st.lists(st.frozensets(st.sampled_from("abc")), max_size=20),
    st.frozensets(st.sampled_from("abc"), min_size=1),
)
def test_each_measure_is_a_share(held: list[frozenset[str]], evidence: frozenset[str]) -> None:
    measures = measure([MeasuredHit("x", ids & evidence) for ids in held], evidence)
    shares = {name: value for name, value in vars(measures).items() if name != "tokens_at_10"}
    assert all(0.0 <= value <= 1.0 for value in shares.values()), shares


@pytest.mark.parametrize(
    ("source", "text", "ok"),
    [
        ("Port 8080 is open.", "Port 8080 is open on web-1. It was opened in May.", True),
        ("Port 8080 is open.", "Port 9090 is open.", False),
        ("Marta opens the office.", "The office is opened at eight.", False),
        ("Marta opens the office.", "Marta opens the office at eight.", True),
    ],
)
def test_facts_are_kept_if_values_names_and_words_are(source: str, text: str, ok: bool) -> None:
    assert keeps_facts(source, text) is ok


def test_a_file_is_measured_on_a_copy(filled: Path, embedder: SentenceEmbedder) -> None:
    question = asked("Who carries the pager at weekends?", *(f"oncall-{n:02d}" for n in range(8)))
    with unchanged(filled.read_bytes):
        trials = Trials(filled, [question, asked("Nobody knows", "absent")], embedder, NOW)
        after = trials.night(CycleOptions(), BuiltInWriter())[0]
    assert (len(trials.questions), trials.without_evidence) == (1, 1)
    assert after.memories < trials.before.memories == 11
    (was,), (now,), (by_lineage,) = trials.before.by_text, after.by_text, after.by_lineage
    # Eight wordings do not fit among five hits; the memory derived from them does.
    assert was.recall_at_5 < 1.0 == by_lineage.recall_at_5
    assert now.tokens_at_10 < was.tokens_at_10


def test_the_measured_night_equals_the_real_one(filled: Path, embedder: SentenceEmbedder) -> None:
    trials = Trials(filled, [asked("Who waters the plants?", "other-00")], embedder, NOW)
    tried = trials.night(CycleOptions(), BuiltInWriter())[1]
    real = night(filled, embedder)
    ids = [[result.proposal.id for result in outcome.results] for outcome in (tried, real)]
    assert ids[0] == ids[1] != []


def test_unmarked_old_values_are_stale(memory_file: Path, embedder: SentenceEmbedder) -> None:
    backups = [
        "The backup of the wiki runs at 02:30 every night.",
        "The backup of the wiki now runs at 03:30 every night.",
    ]
    fill(memory_file, daily([*backups, *OTHERS], "m"))
    dispute(memory_file, *backups)
    # Nothing marks the last memory as an older value.
    for stale, share in (("m-00", 0.0), ("m-04", 1.0)):
        question = asked("When is the wiki backed up?", "m-01", stale_ids=[stale])
        trials = Trials(memory_file, [question], embedder, NOW)
        (before,) = trials.before.by_text
        (after,) = trials.night(CycleOptions(), BuiltInWriter())[0].by_text
        assert (before.stale_at_10, after.stale_at_10) == (share, share)
        assert after.recall_at_10 == 1.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be an object"),
        ('{"id": "q", "question": "x"}', "evidence_ids"),
        ('{"id": "q", "question": "", "evidence_ids": []}', "question"),
        ('{"id": 1, "question": "x", "evidence_ids": ["a"]}', "id"),
        ('{"id": "q", "question": " ", "evidence_ids": ["a"]}', "question"),
        ("[" * 200_000, "nested too deeply"),
        (f'{{"id": "q", "question": "x", "evidence_ids": [], "type": {"9" * 5_000}}}', "not valid"),
    ],
)
def test_an_invalid_question_is_named_by_line(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(f'{{"id": "a", "question": "b", "evidence_ids": ["c"]}}\n\n{line}\n')
    with pytest.raises(QuestionsError, match=rf"Line 3 of .*{message}"):
        read_questions(path)


def test_missing_evidence_is_counted_and_left_out(filled: Path, embedder: SentenceEmbedder) -> None:
    questions = [
        asked("Who waters the plants?", "other-00", "typo-1", "typo-2"),
        asked("Who descales the coffee machine?", "other-01", tenant="nobody"),
    ]
    trials = Trials(filled, questions, embedder, NOW)
    assert [question.evidence_ids for question in trials.questions] == [("other-00",)]
    assert (trials.without_evidence, trials.unknown) == (1, 3)
    assert trials.before.by_text[0].recall_at_10 == 1.0


def write_questions(path: Path, *questions: RecallQuestion) -> Path:
    path.write_text("".join(f"{question.model_dump_json()}\n" for question in questions), "utf-8")
    return path


def test_eval_prints_a_table_or_json(filled: Path, tmp_path: Path, cli: Cli) -> None:
    questions = write_questions(
        tmp_path / "q.jsonl", asked("Who waters the plants?", "other-00"), asked("?", "absent")
    )
    cli("eval", filled, questions).ends(0).says("recall@10")
    report = cli("eval", filled, questions, "--json").json
    assert (report["format"], report["questions"], report["left_out"]) == (1, 1, 1)
    for when in ("before", "after"):
        assert report[when].keys() >= {
            *("memories", "recall@5", "recall@10", "all@10", "mrr", "ndcg@10", "tokens@10"),
            "recall@1000tokens",
        }
    assert "recall@10" in report["after"]["by_lineage"]
    assert report["difference"]["recall@10"].keys() == {"mean", "low", "high"}


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ([], 2, "Error: "),
        (["none.jsonl"], 1, "cannot be read"),
        (["--self", "none.jsonl"], 2, "Error: "),
        (["q.jsonl"], 1, "answers any of the questions"),
    ],
)
def test_eval_refuses_invalid_questions(
    arguments: list[str],
    code: int,
    reason: str,
    filled: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(filled.parent)
    write_questions(Path("q.jsonl"), asked("?", "absent"))
    assert cli("eval", filled, *arguments).ends(code, reason).out == ""


def test_eval_asks_no_model_by_default(filled: Path, tmp_path: Path, cli: Cli) -> None:
    questions = write_questions(tmp_path / "q.jsonl", asked("Who waters the plants?", "other-00"))
    with model_server() as server:
        asking = ("--model", "openai/scripted", setting("api_base", server.base))
        assert cli("eval", filled, questions, *asking).code == 0
        assert server.asked == []
    assert cli("eval", filled, questions, "--ask").code == 2
