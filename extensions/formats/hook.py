"""What a harness shows at the start and at the end of an agent's session, about its memory."""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from slowwave.cli.arguments.settings import config_path
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted
from slowwave.store.file import open_reading
from slowwave.store.ledger import count_new, read_last_start, read_pending_keys
from slowwave.store.memories import tenants
from slowwave.store.places import place_of

from .find import find_memories

# Seconds after which nothing is shown, with those that Python took to start: a session waits for
# its hooks, and Claude Code cancels those at its end after 1.5.
_MAX_SECONDS, _MIN_SECONDS = 1.2, 0.3
# Consolidation is due after this time, if at least this many memories were not read by any run.
_MIN_INTERVAL, _MIN_NEW = timedelta(days=1), 10
_IS_START = {"session-start": True, "session-end": False}


def answer_hook(event: str) -> None:
    """Print what a harness shows at an event, or nothing; never fail, never change anything.

    event: session-start or session-end. The harness writes a JSON object with `cwd` and
    `transcript_path` to stdin.
    """
    seconds = max(_MIN_SECONDS, _MAX_SECONDS - time.process_time())
    deadline = threading.Timer(seconds, os._exit, [0])
    deadline.daemon = True
    deadline.start()
    # A session must not fail because of its memory.
    with suppress(Exception):
        shown = _answer(list(_all_due_work()), is_start=_IS_START[event])
        deadline.cancel()
        if shown:
            typer.echo(json.dumps(shown))


def _all_due_work() -> Iterator[tuple[str | None, str | None]]:
    """Yield for each memory what its user has to decide, and whether a run is due."""
    event_fields = json.loads(sys.stdin.read() or "{}")
    transcript = event_fields.get("transcript_path")
    folder = Path(event_fields.get("cwd") or Path.cwd())
    for memory in find_memories(folder, Path(transcript) if transcript else None):
        with suppress(Exception):  # such as a file that is damaged or locked
            yield _due_work(memory.path)


def _due_work(path: Path) -> tuple[str | None, str | None]:
    config = config_path(path)
    table = tomllib.loads(config.read_text("utf-8-sig")) if config.exists() else {}
    with place_of(path, None, None).reading() as memory_file, open_reading(memory_file) as file:
        pending, chosen = len(read_pending_keys(file, ())), tenants(file)
        last, new = read_last_start(file, chosen), count_new(file, chosen)
    is_recent = (
        last is not None and datetime.now(UTC) - datetime.fromisoformat(last) < _MIN_INTERVAL
    )
    is_due = table.get("enabled", True) and not is_recent and new >= _MIN_NEW
    are, quoted = counted(pending, "proposal is", "proposals are"), shlex.quote(str(path))
    return (
        f"{are} pending. To decide: slowwave review {quoted}" if pending else None,
        f"Consolidation of {quoted} is due: {new} memories are new. To run it: /dream"
        if is_due
        else None,
    )


def _answer(work: Sequence[tuple[str | None, str | None]], is_start: bool) -> dict[str, Any]:
    to_decide, to_dream = zip(*work, strict=True) if work else ((), ())
    first = next(filter(None, (*(to_decide if is_start else ()), *to_dream)), None)
    if first is None:
        return {}
    line = clean(f"slowwave: {first}")
    context = {"hookEventName": "SessionStart", "additionalContext": line}
    return {"systemMessage": line} | ({"hookSpecificOutput": context} if is_start else {})
