"""Runs the real Claude Code against a model server on loopback, and prints what it was sent.

python claude_code.py CLAUDE HOME PROJECT
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SENT: list[Any] = []
SAID = [
    ("message_start", {"message": {"id": "m", "type": "message", "role": "assistant"}}),
    ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "ok"}}),
    ("content_block_stop", {"index": 0}),
    ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
    ("message_stop", {}),
]


class Answering(BaseHTTPRequestHandler):
    """Says "ok" to whatever it is asked."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Keep what is asked, and answer it as a stream."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        SENT.append(body)
        start = SAID[0][1]["message"]
        start |= {"model": body.get("model", ""), "content": [], "usage": {"input_tokens": 1}}
        told = "".join(
            f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in SAID
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)


server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
threading.Thread(target=server.serve_forever, daemon=True).start()
claude, home, project = sys.argv[1:]
subprocess.run(
    [claude, "-p", "hello"],
    cwd=project,
    env={
        "HOME": home,
        "PATH": "/usr/bin:/bin",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    },
    check=True,
    capture_output=True,
    timeout=120,
)
print(json.dumps(SENT, ensure_ascii=False))
