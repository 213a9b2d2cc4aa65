"""A bucket for tests: moto's S3 server on loopback, and its requests."""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowwave.extensions.fleet.store.object_store import Objects


class _Requests(logging.Handler):
    """Counts of requests by method and key; listings have no key."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.counts: Counter[tuple[str, str]] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        words = record.getMessage().replace('"', " ").split()
        method = next((word for word in words if word.endswith(("GET", "PUT", "POST"))), "")
        path = next((word for word in words if word.startswith("/")), "")
        key = path.partition("?")[0].removeprefix(f"/{self._name}").strip("/")
        self.counts[method[-4:].lstrip("m").strip(), key] += 1


class Bucket:
    """A bucket that exists while the block runs."""

    def __init__(self, name: str, requests: _Requests) -> None:
        self.address = f"s3://{name}"
        self.receipts = f"{self.address}/.slowwave-receipts"
        self._requests = requests

    def put(self, key: str, path: Path) -> None:
        """Upload a file without a condition, as an agent does."""
        self._store().write(key, path.read_bytes())

    def get(self, key: str, path: Path) -> Path:
        """Copy an object to a file."""
        path.write_bytes(self._store().read(key))
        return path

    def asked(self, method: str) -> list[str]:
        """Return the memory files of requests with a method, and forget all requests."""
        keys = sorted(key for (how, key) in self._requests.counts if how == method and ".db" in key)
        self._requests.counts.clear()
        return keys

    def forget(self) -> None:
        """Forget all requests."""
        self._requests.counts.clear()

    def _store(self) -> Objects:
        return Objects(self.address)


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Run a server with an empty bucket."""
    from moto.server import ThreadedMotoServer

    from slowwave.extensions.fleet.store import object_store

    # Servers of the same process share their objects.
    name = f"agents-{secrets.token_hex(6)}"
    logger, requests = logging.getLogger("werkzeug"), _Requests(name)
    logger.addHandler(requests)
    was = logger.level
    logger.setLevel(logging.INFO)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for variable, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(variable, value)
    object_store._store.cache_clear()
    try:
        _make(f"http://{host}:{port}/{name}")
        yield Bucket(name, requests)
    finally:
        server.stop()
        object_store._store.cache_clear()
        logger.removeHandler(requests)
        logger.setLevel(was)


def _make(address: str) -> None:
    from urllib.request import Request, urlopen

    with urlopen(Request(address, method="PUT")) as answer:  # noqa: S310 - on loopback
        assert answer.status == 200
