"""How long the stages of a night take, seen from outside: the night itself knows no clock."""

from __future__ import annotations

import functools
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.quality.bench import Json

from .machine import forget_peak, peak

# What is in no other stage.
REST = "all else"


class Clock:
    """Gives each moment, and the most memory in it, to the innermost stage that is under way."""

    def __init__(self) -> None:
        """Begin to count."""
        self.stages: dict[str, Json] = {}
        self.counts: dict[str, int] = {}
        self._under_way = [REST]
        forget_peak()
        self._since = time.perf_counter(), time.process_time()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done in the block for a stage of this name."""
        self._note()
        self._under_way.append(name)
        try:
            yield
        finally:
            self._note()
            self._under_way.pop()

    def watch(self, stage: str, place: str) -> None:
        """Count every call of a function, named as `module:function`, for a stage.

        The function is replaced wherever it was imported to. Where it is not there any more an
        error says so: a stage that nobody watches would look like one that takes no time.
        """
        function = _found(place)

        @functools.wraps(function)
        def watched(*arguments: Any, **named: Any) -> Any:
            with self.stage(stage):
                return function(*arguments, **named)

        _replace(function, watched)

    def count(self, what: str, place: str) -> None:
        """Count what a generator gives, however often it is called."""
        function = _found(place)
        self.counts[what] = 0

        @functools.wraps(function)
        def counted(*arguments: Any, **named: Any) -> Iterator[Any]:
            for item in function(*arguments, **named):
                self.counts[what] += 1
                yield item

        _replace(function, counted)

    def total(self) -> Json:
        """Return all of it, and each stage."""
        self._note()
        return {
            "seconds": sum(stage["seconds"] for stage in self.stages.values()),
            "processor": sum(stage["processor"] for stage in self.stages.values()),
            "peak": max(stage["peak"] for stage in self.stages.values()),
            "stages": self.stages,
            **self.counts,
        }

    def _note(self) -> None:
        now = time.perf_counter(), time.process_time()
        kept = self.stages.setdefault(
            self._under_way[-1], {"seconds": 0.0, "processor": 0.0, "peak": 0}
        )
        kept["seconds"] += now[0] - self._since[0]
        kept["processor"] += now[1] - self._since[1]
        kept["peak"] = max(kept["peak"], peak())
        forget_peak()
        self._since = now


def _found(place: str) -> Callable[..., Any]:
    module, name = place.split(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _replace(function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Put another function in the place of one, wherever it was imported to."""
    for loaded in [item for key, item in sys.modules.items() if key.startswith("slowwave.")]:
        if getattr(loaded, function.__name__, None) is function:
            setattr(loaded, function.__name__, other)
