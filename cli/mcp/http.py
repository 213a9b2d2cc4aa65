"""The MCP server over HTTP: where it listens, and whom it lets in."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from slowwave.store.errors import StoreError

# Once it is to end, requests under way have so many seconds.
_PATIENCE_S = 1


class TokenCheck:
    """Lets in who brings the token along, whatever is asked for."""

    def __init__(self, inside: ASGIApp, token: str) -> None:
        """Take what is behind the door, and its key."""
        self._inside = inside
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or turn it away."""
        if scope["type"] == "lifespan" or self._is_right(Headers(scope=scope)):
            await self._inside(scope, receive, send)
            return
        refusal = PlainTextResponse(
            "This server needs its token: Authorization: Bearer ...\n",
            401,
            {"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _is_right(self, headers: Headers) -> bool:
        given = headers.get("authorization", "").encode()
        # In the same time wherever they differ.
        return hmac.compare_digest(given, self._expected)


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at an address while the block runs. Raises `StoreError` if that is not to be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise StoreError(
            f"Cannot listen at {host}, port {port}: {error.strerror or error}.",
            "Another program may have the port: --http 0 takes a free one.",
        ) from error
    with listener:
        yield listener


def serve_http(server: MCPServer, listener: socket.socket, host: str, token: str | None) -> None:
    """Serve until a signal ends it. Nothing is kept of a client between its requests."""
    app: ASGIApp = server.streamable_http_app(
        stateless_http=True, json_response=True, transport_security=_names(host, token)
    )
    if token is not None:
        app = TokenCheck(app, token)
    # stdout and its logs are left alone.
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=_PATIENCE_S,
    )
    anyio.run(uvicorn.Server(config).serve, [listener])


def _names(host: str, token: str | None) -> TransportSecuritySettings:
    """Return the names under which it answers: a page in a browser may give loopback another.

    Who has the token may come by any name.
    """
    names = [f"[{host}]" if ":" in host else host, "127.0.0.1", "localhost", "[::1]"]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=token is None,
        allowed_hosts=[f"{one}:*" for one in names],
        allowed_origins=[f"http://{one}:*" for one in names],
    )
