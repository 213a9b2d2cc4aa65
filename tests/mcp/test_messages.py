"""Messages that a server cannot use, and arguments that are null."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx2
from mcp import Client
from mcp_client import PATIENCE_S, SLOWWAVE, ask, in_this_process, serving
from nights import TWINS, daily, fill

PING = {"jsonrpc": "2.0", "method": "ping"}
NOT_JSON = -32700


def test_lines_that_are_not_messages_do_not_end_a_server(memory_file: Path) -> None:
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
        b'{"id": 8, "params": ' + b"[" * 100_000,
        json.dumps(PING | {"id": 9, "params": {"text": "\ud800"}}).encode(),
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
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(4)]
        rest, errors = process.communicate()
    codes = {answer["id"]: answer.get("error", {}).get("code") for answer in answers}
    assert codes == {1: None, 3: -32601, 4: None, 5: None}
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
