"""Servers on loopback that run during a block."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = {"content-type": "application/json"}


class Handler(BaseHTTPRequestHandler):
    """Reads and sends whole bodies, and logs nothing."""

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def send(self, text: str, status: int = 200, headers: Mapping[str, str] = JSON) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    """Serve in a thread of its own, and provide the address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
