"""A command that is killed before or after the n-th statement that it sends to PostgreSQL.

python killing_statements.py N COMMAND...: each statement and each commit counts twice, before and
after it, except for those of threads, which renew a lease while the command lasts. Prints the count
of those there were if it was not killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from threading import current_thread, main_thread
from typing import Any

import psycopg

from slowwave.cli.app import run

count = 0


def passed() -> None:
    global count
    if current_thread() is not main_thread():
        return
    count += 1
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)


def around(step: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*args: Any, **kwargs: Any) -> Any:
        passed()
        done = step(*args, **kwargs)
        passed()
        return done

    return watched


psycopg.Connection.execute = around(psycopg.Connection.execute)  # type: ignore[method-assign]  # what the program does is watched, not replaced
psycopg.Connection.commit = around(psycopg.Connection.commit)  # type: ignore[method-assign]  # the same
code = run(sys.argv[2:])
print(count, file=sys.stderr)  # noqa: T201 - that is what it is asked for
os._exit(code)
