"""Lines that are not messages: each gets an error, with its id if it has one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp_client import PATIENCE_S, SLOWWAVE, ask, in_this_process, serving
from nights import TWINS, daily, fill
from pydantic import ValidationError

from slowwave.cli.mcp.transports import MESSAGES, answer_to

PING = {"jsonrpc": "2.0", "method": "ping"}
NOT_JSON, NOT_A_MESSAGE = -32700, -32600


def answer_of(line: str) -> list[tuple[Any, int]]:
    try:
        MESSAGES.validate_json(line, by_name=False)
    except ValidationError as error:
        answer = answer_to(error)
        return [] if answer is None else [(answer.id, answer.error.code)]
    return []


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ('{"broken', [(None, NOT_JSON)]),
        ('{"jsonrpc": "2.0", "id": 5, "method": "tools/list"', [(None, NOT_JSON)]),
        ('{"jsonrpc": "2.0", "id": "five", "params": {', [(None, NOT_JSON)]),
        ('{"id": 5, "params": {"id": 6', [(None, NOT_JSON)]),
        ('{"id": 8, "params": ' + "[" * 100_000, [(None, NOT_JSON)]),
        (json.dumps(PING | {"id": "\ud800", "method": 3}), [("?", NOT_A_MESSAGE)]),
        (" ", []),
        ('{"jsonrpc": "2.0", "id": 7}', [(7, NOT_A_MESSAGE)]),
        *(
            (json.dumps(PING | {"id": key}), [(None, NOT_A_MESSAGE)])
            for key in (True, None, 1.5, [1])
        ),
        ('{"id": 7, "method": "ping"}', [(7, NOT_A_MESSAGE)]),
        ('{"jsonrpc": "2.0", "id": 7, "method": 3}', [(7, NOT_A_MESSAGE)]),
        ('{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}', [(7, NOT_A_MESSAGE)]),
        ("[]", [(None, NOT_A_MESSAGE)]),
        (json.dumps([PING | {"id": 1}, PING | {"id": 2}]), [(None, NOT_A_MESSAGE)]),
        ("42", [(None, NOT_A_MESSAGE)]),
        ("null", [(None, NOT_A_MESSAGE)]),
        (json.dumps(PING), []),
        (json.dumps(PING | {"id": 1}), []),
        (json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), []),
        (json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}}), []),
    ],
)
def test_an_error_answers_a_bad_line(line: str, answers: list[tuple[Any, int]]) -> None:
    assert answer_of(line) == answers


def test_half_of_a_surrogate_pair_is_named() -> None:
    call = {"id": 7, "method": "tools/call", "params": {"arguments": {"text": "\ud800"}}}
    with pytest.raises(ValidationError) as refused:
        MESSAGES.validate_json(json.dumps(PING | call), by_name=False)
    error = answer_to(refused.value)
    assert error is not None
    assert (error.id, error.error.code) == (7, NOT_A_MESSAGE)
    assert "half of a surrogate pair" in error.error.message


def test_a_server_answers_unusable_lines_and_continues(memory_file: Path) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    call = {"id": 5, "method": "tools/call"}
    info = {"clientInfo": {"name": "x", "version": "0"}, "capabilities": {}}
    about = {"protocolVersion": "2025-06-18", **info}
    start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    lines = [
        b"rubbish before anything else",
        json.dumps(start).encode(),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode(),
        b'{"jsonrpc": "2.0", "id": 2, "method": 3}',
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b"",
        b"\xff\xfe",
        json.dumps(PING | {"id": 3, "method": "unknown"}).encode(),
        json.dumps(PING | {"id": 4}).encode(),
        json.dumps(PING | call | {"params": {"name": "consolidate_run", "arguments": {}}}).encode(),
    ]
    with subprocess.Popen(
        [sys.executable, *SLOWWAVE, "mcp", str(memory_file), "--allow-writes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        answered = []
        for line in lines:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            if line and b"notifications" not in line:
                answer = json.loads(process.stdout.readline())
                answered.append((answer["id"], answer.get("error", {}).get("code")))
        rest, errors = process.communicate()
    assert answered == [
        (None, NOT_JSON),
        (1, None),
        (2, NOT_A_MESSAGE),
        (None, NOT_A_MESSAGE),
        (None, NOT_JSON),
        (3, -32601),
        (4, None),
        (5, None),
    ]
    assert (rest, errors, process.returncode) == (b"", b"", 0)


def test_unusable_messages_and_foreign_hosts_over_http_are_refused(memory_file: Path) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with serving(memory_file) as (address, _), httpx2.Client(timeout=PATIENCE_S) as http:
        for body, code in ((b'{"broken', NOT_JSON), (b'{"jsonrpc": "2.0", "id": 7}', None)):
            answer = http.post(address, content=body, headers=headers)
            assert answer.status_code == 400
            assert code in (None, answer.json()["error"]["code"])
        for name, value, status in (
            ("Host", "evil.example:80", 421),
            ("Origin", "http://evil.example", 403),
        ):
            assert http.post(address, json={}, headers={name: value}).status_code == status


def test_optional_arguments_can_be_null(memory_file: Path) -> None:
    async def conversation(client: Client) -> None:
        remembered = await ask(
            client, "remember", text="Plants need light.", kind=None, tags=None, importance=None
        )
        recalled = await ask(client, "recall", query="light", limit=None, kind=None, since=None)
        assert [hit["id"] for hit in recalled["hits"]] == [remembered["id"]]

    in_this_process(conversation, memory_file, "--allow-writes")
