"""Surroundings of slowwave: hostile servers, environments, and observers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from http_servers import Handler, serving


@dataclass(frozen=True)
class Request:
    """A request as it was received."""

    path: str
    headers: Mapping[str, str]
    body: str

    @property
    def all_of_it(self) -> str:
        """The whole request as bytes."""
        return json.dumps([self.path, dict(self.headers), self.body])


@dataclass(frozen=True)
class Response:
    """A response, byte for byte."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Recorder(ThreadingHTTPServer):
    """A server that records each request, of any provider."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Request], Response]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[Request] = []

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(Handler):
    server: Recorder

    def _handle(self) -> None:
        request = Request(self.path, dict(self.headers), self.read_body().decode())
        self.server.requests.append(request)
        response = self.server.answer(request)
        with suppress(ConnectionError):
            self.send(response.body, response.status, response.headers)

    do_POST = do_GET = do_CONNECT = _handle


@contextmanager
def recorder(answer: Callable[[Request], Response] = lambda _: Response(404)) -> Iterator[Recorder]:
    """Run a server on a free port while the block runs."""
    server = Recorder(answer)
    with serving(server):
        yield server


def completion(content: str, **fields: Any) -> str:
    """Return the body of an answer as OpenAI sends it."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "scripted"}
    usage = {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320}
    return json.dumps(head | {"choices": [choice], "usage": usage} | fields)


# Python's audit events: they do not depend on the library.
_WATCHED = """
import json, os, sys
_out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
_told = ('socket.connect', 'socket.getaddrinfo', 'socket.gethostby', 'socket.send', 'socket.bind',
         'subprocess.', 'os.system', 'os.exec', 'os.posix_spawn', 'os.spawn', 'os.fork',
         'pickle.find_class', 'urllib.', 'ftplib.', 'smtplib.')
def _hook(event, args):
    if event.startswith(_told):
        what = args[1:] if event.startswith('socket.connect') else args
        os.write(_out, (json.dumps([event, repr(what)]) + chr(10)).encode())
    elif event == 'open' and isinstance(args[0], (str, bytes, os.PathLike)):
        os.write(_out, (json.dumps([event, os.fsdecode(args[0])]) + chr(10)).encode())
sys.addaudithook(_hook)
from slowwave.cli.app import run
sys.exit(run(sys.argv[2:]))
"""


@dataclass(frozen=True)
class Watched:
    """What a watched process did."""

    code: int
    out: str
    err: str
    events: list[tuple[str, str]]
    # What the system saw of it, a line each; None if nobody could look.
    network: list[str] | None

    @property
    def beyond_files(self) -> list[tuple[str, str]]:
        """All events except opened files."""
        return [(event, what) for event, what in self.events if event != "open"]

    @property
    def opened(self) -> list[str]:
        """The files that it opened."""
        return [what for event, what in self.events if event == "open"]


def watched(
    folder: Path, *arguments: object, cwd: Path | None = None, strace: str | None = None, **env: str
) -> Watched:
    """Run slowwave under Python's audit hook and, if installed, strace."""
    log, calls = folder / "events.log", folder / "network.log"
    program = [sys.executable, "-c", _WATCHED, str(log), *map(str, arguments)]
    if strace is not None:
        program = [strace, "-f", "-qq", "-e", "trace=network", "-o", str(calls), *program]
    ended = subprocess.run(
        program,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | env,
        timeout=300,
    )
    lines = log.read_text().splitlines() if log.exists() else []
    network = calls.read_text().splitlines() if calls.exists() else None
    events = [(event, what) for event, what in map(json.loads, lines)]
    return Watched(ended.returncode, ended.stdout, ended.stderr, events, network)
