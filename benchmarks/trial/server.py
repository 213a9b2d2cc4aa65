"""llama-cpp-python's server, which speaks OpenAI's protocol, as long as a trial lasts."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Tokens of a question and its answer together: all that SmolLM2 was made for.
CONTEXT = 8_192
# How long a model may take to load.
_START_S = 120.0
_TICK_S = 0.5
_STOP_S = 10.0
# The end of the log, where it did not start.
_LINES_SHOWN = 20


class NotServed(Exception):
    """The server did not start. Its message says why."""


@contextmanager
def served(python: Path, weights: Path, name: str, log: Path) -> Iterator[str]:
    """Serve a model under a name on a free port of this machine, and give the address.

    python: the interpreter that has the server. Raises `NotServed`.
    """
    port = _free_port()
    address = f"http://127.0.0.1:{port}/v1"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the server that was asked for
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
        # Else a second question breaks off the answer to the first.
        "interrupt_requests": False,
    }
    flat = [str(part) for option, value in options.items() for part in (f"--{option}", value)]
    return [str(python), "-m", "llama_cpp.server", *flat]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + _START_S
    while not _answers(address):
        if process.poll() is not None:
            last = log.read_text("utf-8", "replace").splitlines()[-_LINES_SHOWN:]
            raise NotServed("\n".join(["The server ended:", *last]))
        if time.monotonic() > end:
            raise NotServed(f"The server did not answer within {_START_S:g} seconds; see {log}.")
        time.sleep(_TICK_S)


def _answers(address: str) -> bool:
    # No proxy of the environment's: the address is this machine's own.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/models", timeout=_TICK_S):
            return True
    except (urllib.error.URLError, TimeoutError):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
