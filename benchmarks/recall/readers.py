"""Readers of LoCoMo and LongMemEval as they are published."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from benchmarks.quality.bench import Json
from slowwave.consolidation.evaluation.questions import RecallQuestion

from .sets import QuestionSet, locomo_questions

# A turn of a conversation, "D3:11". Some evidence has several in one string, or an extra zero.
_TURN = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)_observation")
_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"
# "2023/05/20 (Sat) 02:21"
_LONGMEMEVAL_TIME = re.compile(r"(\d+)/(\d+)/(\d+)\D+(\d+):(\d+)")
# The suffix of unanswerable questions in LongMemEval.
_ABSTENTION = "_abs"


def read_locomo(path: Path) -> QuestionSet:
    """Read `locomo10.json`: an observation is a memory, a conversation is a tenant."""
    samples = json.loads(path.read_text("utf-8"))
    memories = [observation for sample in samples for observation in _observations(sample)]
    rows = [row for sample in samples for row in _questions(sample)]
    return QuestionSet(
        "LoCoMo, as published",
        [json.dumps(memory, ensure_ascii=False) for memory in memories],
        locomo_questions(memories, rows),
    )


def _observations(sample: Json) -> Iterator[Json]:
    tenant = sample["sample_id"]
    number = 0
    for key, by_speaker in sample["observation"].items():
        session = _SESSION.fullmatch(key)
        if session is None:
            continue
        moment = _moment(sample["conversation"][f"session_{session[1]}_date_time"])
        for speaker, observations in by_speaker.items():
            for text, turns in observations:
                number += 1
                yield {
                    "id": f"{tenant}/o{number}",
                    "tenant": tenant,
                    "content": text,
                    "session": f"{tenant}/s{session[1]}",
                    "observed_at": moment,
                    "metadata": {"speaker": speaker, "dia_ids": _turns(turns)},
                }


def _questions(sample: Json) -> Iterator[Json]:
    for number, row in enumerate(sample["qa"]):
        yield {
            "id": f"{sample['sample_id']}/q{number}",
            "tenant": sample["sample_id"],
            "question": row["question"],
            "category": row["category"],
            "evidence_dia_ids": _turns(row.get("evidence", [])),
        }


def _turns(evidence: str | list[str]) -> list[str]:
    """Return the turns named in a string, or in a list of strings."""
    texts = [evidence] if isinstance(evidence, str) else evidence
    matches = (match for text in texts for match in _TURN.finditer(text))
    return list(dict.fromkeys(f"D{int(match[1])}:{int(match[2])}" for match in matches))


def _moment(text: str) -> str:
    return datetime.strptime(text.strip(), _LOCOMO_TIME).replace(tzinfo=UTC).isoformat()


@dataclass(frozen=True)
class _Turn:
    line: Json
    is_evidence: bool


def read_longmemeval(path: Path, limit: int | None = None) -> QuestionSet:
    """Read `longmemeval_s.json`: a question is a tenant, and its turns are memories.

    Unanswerable questions are omitted, with their conversations. limit: the maximum number of
    questions, sampled by the hashes of their ids; None for all.
    """
    entries = [
        entry
        for entry in json.loads(path.read_text("utf-8"))
        if not entry["question_id"].endswith(_ABSTENTION)
    ]
    if limit is not None:
        entries = sorted(entries, key=_hash)[:limit]
    turns = {entry["question_id"]: list(_turns_of(entry)) for entry in entries}
    return QuestionSet(
        "LongMemEval, as published",
        [
            json.dumps(turn.line, ensure_ascii=False)
            for conversation in turns.values()
            for turn in conversation
        ],
        [_longmemeval_question(entry, turns[entry["question_id"]]) for entry in entries],
    )


def _longmemeval_question(entry: Json, turns: Iterable[_Turn]) -> RecallQuestion:
    return RecallQuestion(
        id=entry["question_id"],
        question=entry["question"],
        evidence_ids=tuple(turn.line["id"] for turn in turns if turn.is_evidence),
        tenant=entry["question_id"],
        type=entry["question_type"],
    )


def _turns_of(entry: Json) -> Iterator[_Turn]:
    tenant = entry["question_id"]
    sessions = zip(
        entry["haystack_session_ids"],
        entry["haystack_dates"],
        entry["haystack_sessions"],
        strict=True,
    )
    # A session id may occur twice, so ids contain the number of the session.
    for number, (session, date, turns) in enumerate(sessions):
        for index, turn in enumerate(turns):
            if turn["content"].strip():
                line = {
                    "id": f"{tenant}/{number}/{index}",
                    "tenant": tenant,
                    "content": turn["content"],
                    "session": f"{tenant}/{session}",
                    "observed_at": _date(date),
                    "metadata": {"role": turn["role"]},
                }
                yield _Turn(line, bool(turn.get("has_answer")))


def _date(text: str) -> str:
    match = _LONGMEMEVAL_TIME.match(text)
    if match is None:
        raise ValueError(f"'{text}' is not a date of LongMemEval.")
    year, month, day, hour, minute = map(int, match.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC).isoformat()


def _hash(entry: Json) -> bytes:
    return sha256(entry["question_id"].encode()).digest()
