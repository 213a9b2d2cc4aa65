"""A command called in this process: its exit code, stdout and stderr."""

from __future__ import annotations

import json
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
        """Check the exit code and what stderr has, and return itself."""
        assert self.code == code, self.err or self.out
        assert all(words in self.err for words in errors), self.err
        assert "Traceback" in errors or "Traceback" not in self.err, self.err
        return self

    def says(self, *words: str) -> Ended:
        """Check what stdout has, and return itself."""
        assert all(word in self.out for word in words), self.out
        return self


# Calls a command with its arguments, each as its text.
Cli = Callable[..., Ended]
