"""The MCP server on stdin and stdout: a line that is not a message gets an error, not silence."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

import anyio
from anyio import AsyncFile
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

_NOT_JSON = "The line is not JSON, or it is nested too deeply."
_NOT_A_MESSAGE = (
    'The line is not a JSON-RPC message: it requires "jsonrpc": "2.0", a "method", an "id" that is '
    'a string or an integer, and "params" that are an object.'
)
# JSON allows an escaped half of a surrogate pair, and the package refuses the message.
_HALF = re.compile("[\ud800-\udfff]")
_NOT_UNICODE = "A text of the message is not valid Unicode: it has half of a surrogate pair."


@asynccontextmanager
async def checked_stdio() -> AsyncIterator[tuple[Any, Any]]:
    """Provide the streams of stdin and stdout; lines that are not messages get errors."""
    answers: list[Any] = []
    is_ready = anyio.Event()

    async def messages() -> AsyncIterator[str]:
        await is_ready.wait()
        async for line in anyio.wrap_file(_open_stdin()):
            if (error := find_error(line)) is not None:
                await answers[0].send(SessionMessage(error))
            elif line.strip():
                yield line

    async with stdio_server(cast("AsyncFile[str]", messages())) as (reads, writes):
        answers.append(writes)
        is_ready.set()
        yield reads, writes


def find_error(line: str) -> JSONRPCError | None:
    """Return the answer to a line that is not a message; None if it is one, or blank."""
    if not line.strip():
        return None
    try:
        message = json.loads(line)
        has_half = _HALF.search(json.dumps(message, ensure_ascii=False)) is not None
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, _NOT_JSON)
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        is_message = False
    else:
        # The package takes a request whose id is not an id for a notification.
        is_message = "id" not in message or _id_of(message) is not None or "error" in message
    if is_message:
        return None
    return _error(_id_of(message), INVALID_REQUEST, _NOT_UNICODE if has_half else _NOT_A_MESSAGE)


def _id_of(message: Any) -> str | int | None:
    request_id = message.get("id") if isinstance(message, dict) else None
    if isinstance(request_id, str):
        # UTF-8 has no halves of surrogate pairs, which JSON allows.
        return request_id if request_id == request_id.encode(errors="ignore").decode() else None
    return request_id if isinstance(request_id, int) and not isinstance(request_id, bool) else None


def _error(request_id: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def _open_stdin() -> TextIOWrapper:
    """Return stdin as UTF-8. The processes that a tool starts read nothing from it."""
    wire = sys.stdin.fileno()
    if wire == 0:
        wire = os.dup(0)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
    # Not closed: a thread may still read it when the server ends.
    return TextIOWrapper(os.fdopen(wire, "rb", closefd=False), "utf-8", "replace")
