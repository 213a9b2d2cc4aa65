"""Progress on stderr: bars on a terminal, or log lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slowwave.consolidation.progress import Progress

from .log_lines import log_line, writes_log_lines
from .output import console_for

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Progress]:
    """Provide a `Progress`, and show it while the block runs."""
    if writes_log_lines():
        yield _Logged()
        return
    if quiet or not sys.stderr.isatty():
        yield Progress()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bars(
        *columns, TimeElapsedColumn(), console=console_for(sys.stderr), transient=True
    ) as bars:
        yield _Shown(bars)


# Each stage of the core in words; those of extensions are shown by their names.
STAGES = {
    "importing": "reading lines",
    "embedding": "computing vectors",
    "comparing": "looking for neighbors",
    "planning": "comparing texts",
    "asking": "waiting for the model",
    "checking": "checking drafts",
    "applying": "writing to the file",
    "searching": "searching",
    "maintaining": "maintaining files",
    "reading": "reading conversations",
}


class _Shown(Progress):
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def stage(self, name: str, done: int, total: int) -> None:
        """Show a bar per stage; without a total the bar only moves."""
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(STAGES.get(name, name))
        self._bars.update(self._tasks[name], completed=done, total=total or None)


class _Logged(Progress):
    def __init__(self) -> None:
        self._stages: set[str] = set()

    def stage(self, name: str, done: int, total: int) -> None:
        """Log a stage the first time."""
        if name not in self._stages:
            self._stages.add(name)
            log_line("info", "stage", stage=name, total=total or None)
