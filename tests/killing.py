"""A command that is killed at its n-th write to the disk.

python killing.py N COMMAND...: each commit of SQLite and each file put in place counts twice,
before and after it. Prints the count of those there were if it was not killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slowwave.cli.app import run
from slowwave.extensions.formats.sqlite_file import OpenSqlite
from slowwave.store.file import MemoryFile

count = 0


def passed() -> None:
    global count
    count += 1
    if count == int(sys.argv[1]):
        os._exit(9)


def around(step: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*args: Any) -> Any:
        passed()
        done = step(*args)
        passed()
        return done

    return watched


class Watched:
    """A transaction whose commit is such a write."""

    def __init__(self, inside: Any) -> None:
        self._inside = inside

    def __enter__(self) -> None:
        self._inside.__enter__()

    def __exit__(self, *error: Any) -> Any:
        passed()
        ended = self._inside.__exit__(*error)
        passed()
        return ended


transaction = MemoryFile.transaction
MemoryFile.transaction = lambda self: Watched(transaction(self))  # type: ignore[method-assign,assignment,return-value]  # what the program does is watched, not replaced
OpenSqlite.commit = around(OpenSqlite.commit)  # type: ignore[method-assign]  # the same
Path.replace = around(Path.replace)  # type: ignore[method-assign]  # the same
code = run(sys.argv[2:])
print(count, file=sys.stderr)  # noqa: T201 - that is what it is asked for
os._exit(code)
