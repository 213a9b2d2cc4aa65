"""A command called in this process or in one of its own: its exit code, stdout and stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def ends(self, code: int, *errors: str) -> Ended:
        """Check the exit code and stderr, and return itself."""
        assert self.code == code, self.err or self.out
        assert all(words in self.err for words in errors), self.err
        assert "Traceback" in errors or "Traceback" not in self.err, self.err
        return self

    def says(self, *words: str) -> Ended:
        """Check stdout, and return itself."""
        assert all(word in self.out for word in words), self.out
        return self


# The command as a process.
SLOWWAVE = (sys.executable, "-m", "slowwave.cli")


def in_a_process(*command: object, **options: Any) -> Ended:
    """Run a command in a process of its own. options: of subprocess.run."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    ended = subprocess.run([*map(str, command)], **pipes | options, text=True, check=False)
    return Ended(ended.returncode, ended.stdout or "", ended.stderr or "")


# Calls a command with its arguments, each as its text.
Cli = Callable[..., Ended]
