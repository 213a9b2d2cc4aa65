"""The OpenAI-compatible server of llama-cpp-python."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The maximum number of tokens of a question and its answer: the context of SmolLM2.
CONTEXT = 8_192
# The maximum time to start and to stop, and the interval of checks, in seconds.
_MAX_START_S = 120.0
_MAX_STOP_S = 10.0
_INTERVAL_S = 0.5
# The number of lines of the log to print if the server did not start.
_MAX_LOG_LINES = 20


class NotServed(Exception):
    """The server did not start, with the reason as its message."""


@contextmanager
def served(python: Path, weights: Path, name: str, log: Path) -> Iterator[str]:
    """Serve a model on a free local port, and provide its base URL.

    python: the interpreter with the server. Raises `NotServed`.
    """
    port = _free_port()
    address = f"http://127.0.0.1:{port}/v1"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the server that the user specifies
            _command(python, weights, name, port), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait(process, address, log)
            yield address
        finally:
            _stop(process)


def _command(python: Path, weights: Path, name: str, port: int) -> list[str]:
    options = {
        "model": weights,
        "model_alias": name,
        "host": "127.0.0.1",
        "port": port,
        "n_ctx": CONTEXT,
        # Otherwise a second request would abort the first one.
        "interrupt_requests": False,
    }
    flat = [str(part) for option, value in options.items() for part in (f"--{option}", value)]
    return [str(python), "-m", "llama_cpp.server", *flat]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + _MAX_START_S
    while not _answers(address):
        if process.poll() is not None:
            last = log.read_text("utf-8", "replace").splitlines()[-_MAX_LOG_LINES:]
            raise NotServed("\n".join(["The server ended:", *last]))
        if time.monotonic() > end:
            raise NotServed(
                f"The server did not answer within {_MAX_START_S:g} seconds; see {log}."
            )
        time.sleep(_INTERVAL_S)


def _answers(address: str) -> bool:
    # Without the proxy of the environment, since the address is local.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/models", timeout=_INTERVAL_S):
            return True
    except (urllib.error.URLError, TimeoutError):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_MAX_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
