"""When messages were said, and lines that are not messages."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_calls import Cli
from conversations import contents, remembering, repeating, stated
from model_server import ModelServer
from nights import rows

from slowwave.store.conversations.conversation_formats import read_conversations
from slowwave.store.conversations.messages import parse_time


def write(path: Path, *texts: str, **fields: Any) -> Path:
    messages = [{"role": "user", "content": text, **fields} for text in texts]
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    return path


def days(path: Path) -> list[str]:
    sql = "SELECT observed_at FROM memories ORDER BY rowid"
    return [row["observed_at"][:10] for row in rows(path, sql)]


def count_queued(path: Path) -> int:
    (row,) = rows(path, "SELECT count(*) AS n FROM waiting_messages, json_each(content, '$.said')")
    return int(row["n"])


@pytest.mark.parametrize(
    ("value", "day"),
    [
        (1_772_359_200, "2026-03-01"),
        (1_772_359_200_123, "2026-03-01"),
        (1_772_359_200_123_456, "2026-03-01"),
        ("1772359200123", "2026-03-01"),
        # In ISO 8601, this would be a day of 1712.
        ("1712010112345", "2024-04-01"),
        ("20260301", "2026-03-01"),
        ("2026-03-01T23:30:00-05:00", "2026-03-02"),
    ],
)
def test_times_are_read_in_each_unit(value: object, day: str) -> None:
    assert str(parse_time(value)).startswith(day)


@pytest.mark.parametrize(
    "spelled", ["2026-05-01 9:30", "2026-05-01,  09:30:00", "2026-05-01T9:30Z"]
)
def test_a_time_can_precede_or_follow_a_speaker(spelled: str) -> None:
    text = f"[{spelled}] Marta: I live in Lyon.\nJonas ({spelled}): I do, too.\n" * 2
    (conversation,) = read_conversations(text.encode(), "talk.txt")
    times = [message.said_at for message in conversation.messages]
    assert times == ["2026-05-01T09:30:00+00:00"] * 4


def test_a_line_of_json_in_a_text_is_a_part_of_its_message() -> None:
    pasted = '{"role": "user", "content": "Hi.", "sessionId": "s", "type": "user"}'
    text = f"User: I sent this:\n{pasted}\nAssistant: And then?\n"
    (conversation,) = read_conversations(text.encode(), "chat.txt")
    assert (conversation.format, len(conversation.messages)) == ("text", 2)
    assert conversation.messages[0].text.endswith(pasted)


@pytest.mark.parametrize(
    "value", [0, None, True, "", "soon", float("nan"), float("inf"), -1e30, "1970-01-01T00:00:00Z"]
)
def test_an_invalid_time_is_none(value: object) -> None:
    assert parse_time(value) is None


def test_undated_messages_have_the_time_of_the_option_or_the_file(
    memory_file: Path, tmp_path: Path, ask: Cli, server: ModelServer
) -> None:
    server.responder = repeating
    for name, text, options in (
        ("file", "I prefer rye bread.", ()),
        ("option", "I prefer oat milk.", ("--date", "2026-01-20")),
    ):
        talk = write(tmp_path / f"{name}.jsonl", text)
        os.utime(talk, (1_772_359_200, 1_772_359_200))
        assert ask(talk, *options).code == 0
    talk = write(tmp_path / "own.jsonl", "I prefer plum jam.", timestamp="2025-12-24T10:00:00Z")
    assert ask(talk, "--date", "2026-01-20").code == 0
    assert days(memory_file) == ["2026-03-01", "2026-01-20", "2025-12-24"]


TEXT = "Marit is on leave since yesterday."
DATED = {"timestamp": "2026-03-10T09:00:00Z"}


@pytest.mark.parametrize(
    ("fields", "options", "stated_as", "stored"),
    [
        # Its file has a time, too.
        ({}, (), TEXT, TEXT),
        ({}, ("--date", "2026-01-20"), TEXT, f"[2026-01-20] {TEXT}"),
        (DATED, (), TEXT, f"[2026-03-10] {TEXT}"),
        (DATED, (), f"[2026-03-10] {TEXT}", f"[2026-03-10] {TEXT}"),
    ],
    ids=["unknown", "of the option", "of the message", "of the model"],
)
def test_a_known_day_is_written_once_and_an_unknown_one_never(
    memory_file: Path,
    tmp_path: Path,
    ask: Cli,
    server: ModelServer,
    fields: dict[str, str],
    options: tuple[str, ...],
    stated_as: str,
    stored: str,
) -> None:
    server.responder = remembering(stated(stated_as, TEXT))
    assert ask(write(tmp_path / "talk.jsonl", TEXT, **fields), *options).code == 0
    assert contents(memory_file) == [stored]


def test_an_undated_correction_is_later_than_what_it_corrects(
    memory_file: Path, tmp_path: Path, ask: Cli, server: ModelServer
) -> None:
    server.responder = repeating
    first = write(tmp_path / "1.jsonl", "Our build server is called otto, it runs Fedora 41.")
    second = write(tmp_path / "2.jsonl", "Our build server is called otto, it runs Fedora 43 now.")
    os.utime(second, (1_700_000_000, 1_700_000_000))
    for path in (first, second):
        ended = ask(path)
    (memory,) = ended.json["memories"]
    assert len(memory["corrects"]) == 1
    older, newer = rows(memory_file, "SELECT observed_at FROM memories ORDER BY rowid")
    assert older["observed_at"] < newer["observed_at"]


def test_invalid_lines_are_refused_or_skipped(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    talk = write(tmp_path / "talk.jsonl", "I prefer rye bread.", "I prefer oat milk.")
    good = talk.read_text().splitlines()
    invalid = '{"role": "user", "content": {"pin": "secret-4711"}}'
    talk.write_text("\n".join([good[0], '{"role": "us', invalid, good[1]]))
    assert cli("ingest", memory_file, talk).code == 1
    assert count_queued(memory_file) == 0
    ended = cli("ingest", memory_file, talk, "--skip-invalid", "--json")
    assert ended.code == 0
    assert [line["line"] for line in ended.json["skipped"]] == [2, 3]
    assert "Skipped line 3 of talk.jsonl: it has an object" in ended.err
    assert "secret-4711" not in ended.err + ended.out
    assert count_queued(memory_file) == 2
    plain = tmp_path / "talk.txt"
    plain.write_text('Marta: {"a": 1}\nJonas: I prefer plum jam.\nMarta: ok\nJonas: fine\n')
    ended = cli("ingest", memory_file, plain, "--skip-invalid", "--json")
    assert (ended.json["skipped"], count_queued(memory_file)) == ([], 6)
