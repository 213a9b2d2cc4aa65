"""The MCP server over HTTP: where it listens, and which requests it accepts."""

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

# How long requests in progress may take after a signal to stop.
_SHUTDOWN_S = 1


class TokenCheck:
    """Accepts only requests that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Protect an app with a token."""
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan" or self._is_authorized(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse(
            "This server requires its token: Authorization: Bearer ...\n",
            401,
            {"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _is_authorized(self, headers: Headers) -> bool:
        # In constant time, wherever they differ.
        return hmac.compare_digest(headers.get("authorization", "").encode(), self._expected)


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
        app = TokenCheck(app, token)
    # It must not log to stdout.
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
