"""A bucket on loopback: moto's S3 server in a separate process, and its requests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO, cast
from urllib.request import Request, urlopen

from slowwave.extensions.fleet.store.object_store import Objects

# The lines that werkzeug, the server of moto, logs for a request and when it has started.
_REQUEST = re.compile(r'"(?:\x1b\[[0-9;]*m)?(GET|PUT) /[^/ ]+/([^ ?"]+\.db)[ ?]')
_RUNNING = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


class Bucket:
    """A new bucket of a running server."""

    def __init__(self, name: str, log: IO[str]) -> None:
        """Wait until the server has started, and create the bucket. log: its output."""
        self.address = f"s3://{name}"
        self.receipts = f"{self.address}/.slowwave-receipts"
        self.requests: Counter[tuple[str, str]] = Counter()
        # Called with the key of each GET of a memory file, in the thread that reads the log.
        self.on_get: Callable[[str], None] | None = None
        self._log = log
        address = next(match[1] for line in log if (match := _RUNNING.search(line)))
        os.environ |= {
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
        urlopen(Request(f"{address}/{name}", method="PUT")).close()  # noqa: S310 - on loopback
        self.objects = Objects(self.address)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def upload(self, paths: list[Path]) -> None:
        """Upload files."""
        for path in paths:
            self.objects.write(path.name, path.read_bytes())

    def download(self, folder: Path, names: list[str]) -> Path:
        """Download files into a folder."""
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_bytes(self.objects.read(name))
        return folder

    def count(self, method: str) -> int:
        """Return the number of requests for memory files with a method."""
        return sum(count for (used, _), count in self.requests.items() if used == method)

    def _read(self) -> None:
        for line in self._log:
            if (match := _REQUEST.search(line)) is not None:
                method, key = match[1], match[2]
                self.requests[method, key] += 1
                if method == "GET" and self.on_get is not None:
                    self.on_get(key)


@contextmanager
def bucket(name: str) -> Iterator[Bucket]:
    """Run a server with an empty bucket.

    name: must be unique within this process, which caches properties of buckets.
    """
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            yield Bucket(name, cast("IO[str]", server.stderr))
        finally:
            server.terminate()
