"""A real browser for tests: headless Chromium, controlled through a pipe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "</script><script>document.title = 'owned'</script>",
    "</style><img src=x onerror=\"document.title = 'owned'\">",
    "</title></svg><svg onload=\"document.title = 'owned'\">",
    '" onmouseover="document.title = \'owned\'" x="',
    "{{ 7 * 191 }} {% for x in y %} {{ account.__class__ }}",
    "<!-- --> <plaintext> </bdi></li></ul></article>",
    "\x00 \x1b[31m \u202egnp.exe \ud7ff \x85 nothing",
    "``` ```` ~~~ @someone #1 [a](https://example.org) ![b](https://example.org/b.png) **c**",
    "w" * 3_000,
)

CHROMIUM = shutil.which("chromium")
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--no-first-run", "--remote-debugging-pipe"),
)
# It reads from 3 and writes to 4: first move the pipes out of the way of both.
_WITH_PIPES = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for number, pipe in enumerate(pipes, 3):
    os.dup2(pipe, number)
os.execv(sys.argv[3], sys.argv[3:])
"""
# What the browser says of a page that should not be.
_COMPLAINTS = {
    "Runtime.exceptionThrown",
    "Runtime.consoleAPICalled",
    "Log.entryAdded",
    "Page.javascriptDialogOpening",
}


class Browser:
    """A page in a browser, and the events that the browser reported."""

    def __init__(self, to: int, reading_end: int) -> None:
        self._to = to
        self._of = reading_end
        self._number = 0
        self._session: str | None = None
        self._rest = b""
        self.complaints: list[Any] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the browser, and return its result."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def open(self, path: Path, width: int, height: int = 900) -> None:
        """Load a file at a width in pixels, and wait for it."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=path.as_uri())
        # In one expression: between two, the page before could give way to this one.
        there = f"location.href === {json.dumps(path.as_uri())}"
        while not self.value(f"{there} && document.readyState === 'complete'"):
            pass

    def value(self, expression: str) -> Any:
        """Return the value of an expression on the page."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return reply["result"].get("value")

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._of, 65_536)
            assert more, "the browser has ended"
            self._rest += more
        message_, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(message_)
        if message.get("method") in _COMPLAINTS:
            self.complaints.append(message)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Provide a browser with its own profile while the block runs."""
    assert CHROMIUM is not None
    theirs_in, to = os.pipe()
    output_end, theirs_out = os.pipe()
    command = [CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}"]
    with subprocess.Popen(
        [sys.executable, "-c", _WITH_PIPES, str(theirs_in), str(theirs_out), *command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(to, output_end)
        finally:
            process.kill()
            os.close(to)
            os.close(output_end)
