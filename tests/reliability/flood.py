"""A model server that sends endless answers, and counts what is read."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer

import http_servers

CHUNK = 64 * 1024
# Where the server itself ends: a reader without a limit must not fill the machine.
MAX_BYTES = 64 * 1024 * 1024


@dataclass
class Flood:
    """How to answer, and how much of it was read."""

    status: int = 200
    is_compressed: bool = False
    address: str = ""
    requests: int = 0
    # Bytes before compression, of all requests.
    sent: int = field(default=0)


@contextmanager
def flood(status: int = 200, is_compressed: bool = False) -> Iterator[Flood]:
    """Run a server on loopback whose answer goes on while the client reads."""
    state = Flood(status, is_compressed)

    class Handler(http_servers.Handler):
        def do_POST(self) -> None:
            state.requests += 1
            self.read_body()
            self.send_response(state.status)
            self.send_header("content-type", "application/json")
            if state.is_compressed:
                self.send_header("content-encoding", "gzip")
            self.end_headers()
            compressor = zlib.compressobj(wbits=31)
            sent = 0
            try:
                while sent < MAX_BYTES:
                    chunk = b" " * CHUNK
                    self.wfile.write(compressor.compress(chunk) if state.is_compressed else chunk)
                    sent += CHUNK
                    state.sent += CHUNK
            except ConnectionError:
                return  # the reader has had enough

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with http_servers.serving(server) as state.address:
        yield state
