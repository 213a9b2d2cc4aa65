"""LoCoMo and LongMemEval in the form in which they are published."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.quality.bench import Json
from slowwave.consolidation.evaluation.questions import RecallQuestion

from .sets import Asked, locomo_questions

# A turn of a conversation, "D3:11". Some evidence holds several in one text, or a zero too many.
_TURN = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)_observation")
_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"
# "2023/05/20 (Sat) 02:21"
_LONGMEMEVAL_TIME = re.compile(r"(\d+)/(\d+)/(\d+)\D+(\d+):(\d+)")
# How LongMemEval marks a question that nothing answers.
_ABSTENTION = "_abs"


def read_locomo(path: Path) -> Asked:
    """Read `locomo10.json`: its observations are memories, a conversation is a tenant."""
    samples = json.loads(path.read_text("utf-8"))
    memories = [observation for sample in samples for observation in _observations(sample)]
    rows = [row for sample in samples for row in _asked_of(sample)]
    return Asked(
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
        for speaker, told in by_speaker.items():
            for text, turns in told:
                number += 1
                yield {
                    "id": f"{tenant}/o{number}",
                    "tenant": tenant,
                    "content": text,
                    "session": f"{tenant}/s{session[1]}",
                    "observed_at": moment,
                    "metadata": {"speaker": speaker, "dia_ids": _turns(turns)},
                }


def _asked_of(sample: Json) -> Iterator[Json]:
    for number, row in enumerate(sample["qa"]):
        yield {
            "id": f"{sample['sample_id']}/q{number}",
            "tenant": sample["sample_id"],
            "question": row["question"],
            "category": row["category"],
            "evidence_dia_ids": _turns(row.get("evidence", [])),
        }


def _turns(told: Any) -> list[str]:
    """Return the turns named in a text or in several."""
    texts = [told] if isinstance(told, str) else told
    found = (match for text in texts for match in _TURN.finditer(text))
    return list(dict.fromkeys(f"D{int(match[1])}:{int(match[2])}" for match in found))


def _moment(told: str) -> str:
    return datetime.strptime(told.strip(), _LOCOMO_TIME).replace(tzinfo=UTC).isoformat()


@dataclass(frozen=True)
class _Turn:
    line: Json
    is_evidence: bool


def read_longmemeval(path: Path, most: int | None = None) -> Asked:
    """Read `longmemeval_s.json`: a tenant a question, its turns are memories.

    Questions that nothing answers are omitted, with their conversations. most: the maximum number
    of questions, drawn by the hashes of their ids; None for all.
    """
    entries = [
        load
        for load in json.loads(path.read_text("utf-8"))
        if not load["question_id"].endswith(_ABSTENTION)
    ]
    if most is not None:
        entries = sorted(entries, key=_drawn)[:most]
    turns = {entry["question_id"]: list(_turns_of(entry)) for entry in entries}
    return Asked(
        "LongMemEval, as published",
        [json.dumps(text.line, ensure_ascii=False) for told in turns.values() for text in told],
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
    # A session may be there twice: its number tells them apart.
    for number, (session, date, turns) in enumerate(sessions):
        for place, turn in enumerate(turns):
            if turn["content"].strip():
                line = {
                    "id": f"{tenant}/{number}/{place}",
                    "tenant": tenant,
                    "content": turn["content"],
                    "session": f"{tenant}/{session}",
                    "observed_at": _date(date),
                    "metadata": {"role": turn["role"]},
                }
                yield _Turn(line, bool(turn.get("has_answer")))


def _date(told: str) -> str:
    found = _LONGMEMEVAL_TIME.match(told)
    if found is None:
        raise ValueError(f"'{told}' is no date of LongMemEval")
    year, month, day, hour, minute = map(int, found.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC).isoformat()


def _drawn(entry: Json) -> bytes:
    return sha256(entry["question_id"].encode()).digest()
