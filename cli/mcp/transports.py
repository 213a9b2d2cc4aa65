"""How messages reach the MCP server: on stdin and stdout, or over HTTP.

A line of stdin that is not a message gets an error, not silence.
"""

from __future__ import annotations

import hmac
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import mcp_types
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import TypeAdapter, ValidationError, model_validator
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from slowwave.store.errors import StoreError

# How long requests in progress may take after a signal to stop.
_SHUTDOWN_S = 1
_NOT_JSON = "The line is not JSON, or it is nested too deeply."
_NOT_A_MESSAGE = (
    'The line is not a JSON-RPC message: it requires "jsonrpc": "2.0", a "method", an "id" that is '
    'a string or an integer, and "params" that are an object.'
)
# JSON allows an escaped half of a surrogate pair, and the package refuses the message.
_NOT_UNICODE = "A text of the message is not valid Unicode: it has half of a surrogate pair."


class _Notification(JSONRPCNotification):
    """A message without an id. The package ignores an id that is wrong, and so sends no answer."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_id(cls, message: Any) -> Any:
        if isinstance(message, dict) and "id" in message:
            raise ValueError("the id is not a string or an integer")
        return message


MESSAGES: TypeAdapter[JSONRPCMessage] = TypeAdapter(
    JSONRPCRequest | _Notification | JSONRPCResponse | JSONRPCError
)


@asynccontextmanager
async def checked_stdio() -> AsyncIterator[tuple[Any, Any]]:
    """Provide the streams of stdin and stdout; lines that are not messages get errors."""
    # The package has no setting for it.
    mcp_types.jsonrpc_message_adapter = MESSAGES
    sending, receiving = anyio.create_memory_object_stream[Any](0)

    async def forward(reads: Any, writes: Any) -> None:
        async with sending:
            async for item in reads:
                if not isinstance(item, Exception):
                    await sending.send(item)
                elif (error := answer_to(item)) is not None:
                    await writes.send(SessionMessage(error))

    async with stdio_server() as (reads, writes), anyio.create_task_group() as tasks:
        tasks.start_soon(forward, reads, writes)
        yield receiving, writes


def answer_to(error: Exception) -> JSONRPCError | None:
    """Return the answer to a line that the package could not read; None for a blank line."""
    details = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    inputs = [detail["input"] for detail in details]
    if not details or details[0]["type"] == "json_invalid":
        line = str(inputs[0]) if inputs else ""
        if details and not line.strip():
            return None
        try:
            inputs = [json.loads(line)]
        except (ValueError, RecursionError):
            return _error(None, PARSE_ERROR, _NOT_JSON)
        return _error(_id_in(inputs), INVALID_REQUEST, _NOT_UNICODE)
    return _error(_id_in(inputs), INVALID_REQUEST, _NOT_A_MESSAGE)


def _id_in(inputs: list[Any]) -> str | int | None:
    ids = (message.get("id") for message in inputs if isinstance(message, dict))
    request_id = next((key for key in ids if type(key) in (int, str)), None)
    # Half of a surrogate pair could not be sent.
    return (
        request_id.encode(errors="replace").decode() if isinstance(request_id, str) else request_id
    )


def _error(request_id: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def require_token(app: ASGIApp, token: str) -> ASGIApp:
    """Return an app that accepts only requests that carry the token."""
    expected = f"Bearer {token}".encode()
    refusal = PlainTextResponse(
        "This server requires its token: Authorization: Bearer ...\n",
        401,
        {"WWW-Authenticate": "Bearer"},
    )

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        is_allowed = scope["type"] == "lifespan"
        if not is_allowed:
            sent = Headers(scope=scope).get("authorization", "").encode()
            # In constant time, wherever they differ.
            is_allowed = hmac.compare_digest(sent, expected)
        await (app if is_allowed else refusal)(scope, receive, send)

    return checked


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at an address while the block runs. Raises `StoreError` if it is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise StoreError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}.",
            "If another program uses the port, --http 0 chooses a free one.",
        ) from error
    with listener:
        yield listener


def serve_http(server: MCPServer, listener: socket.socket, host: str, token: str | None) -> None:
    """Serve until a signal ends it. Requests are independent of each other."""
    app: ASGIApp = server.streamable_http_app(
        stateless_http=True, json_response=True, transport_security=_security(host, token)
    )
    if token is not None:
        app = require_token(app, token)
    import uvicorn

    # The server must not log to stdout.
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    anyio.run(uvicorn.Server(config).serve, [listener])


def _security(host: str, token: str | None) -> TransportSecuritySettings:
    """Return the names that the server answers to: a web page can give loopback another name.

    With a token, any name is accepted.
    """
    names = [f"[{host}]" if ":" in host else host, "127.0.0.1", "localhost", "[::1]"]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=token is None,
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
