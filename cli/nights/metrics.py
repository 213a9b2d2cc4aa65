"""What nights did as metrics of Prometheus, in a file that its node exporter collects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from slowwave.consolidation.proposals import State
from slowwave.store.errors import StoreError

if TYPE_CHECKING:
    from prometheus_client import Gauge

    from slowwave.consolidation.running.outcome import Outcome

_PREFIX = "slowwave_"
# Each of them has a value, also if that is 0: an alert needs one.
_STATES = tuple(one for one in get_args(State) if one != "planned")
# What such a file of ours begins with, and no other.
_MARK = f"# HELP {_PREFIX}".encode()


def refuse_unwritable_metrics(path: Path) -> None:
    """Refuse a path that metrics cannot be written to, before a night is spent on it.

    Raises `StoreError`.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        raise StoreError(f"Cannot write {path}: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise StoreError(f"Cannot write {path}: nothing can be written in {folder}.")
    if path.exists() and not _is_ours(path):
        raise StoreError(
            f"{path} holds no metrics of slowwave, and stays as it is.", "Give another name."
        )


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            beginning = stream.read(len(_MARK))
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    return beginning in (b"", _MARK)


class Metrics:
    """The last run of each file that a command is about, as gauges."""

    def __init__(self) -> None:
        """Begin without any."""
        from prometheus_client import CollectorRegistry

        self._registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}

    def ended(self, file: Path, at: float, seconds: float, code: int) -> None:
        """Note how a run ended. at: seconds since 1970."""
        named = {"file": str(file)}
        self._set("run_timestamp_seconds", "When the last run ended.", at, named)
        self._set("run_duration_seconds", "How long it took.", seconds, named)
        self._set("run_exit_code", "How it ended: see the exit codes.", code, named)

    def waits(self, file: Path, number: int) -> None:
        """Note how many proposals a person has to decide about."""
        said = "Proposals of all runs that wait for a person."
        self._set("waiting_for_review", said, number, {"file": str(file)})

    def did(self, file: Path, outcome: Outcome) -> None:
        """Note what a run did."""
        named = {"file": str(file)}
        for when, counts in (("before", outcome.before), ("after", outcome.after)):
            labels = named | {"when": when}
            self._set("active_memories", "Active memories.", counts.active, labels)
            self._set("active_tokens", "Tokens of what they say.", counts.tokens, labels)
        said = "Proposals of the last run by what became of them."
        for state in _STATES:
            self._set("proposals", said, outcome.states[state], named | {"state": state})
        conflicts, purged = len(outcome.conflicts), len(outcome.purged.ids)
        self._set("conflicts", "Pairs with two values for one thing.", conflicts, named)
        self._set("purged_memories", "Memories that a purge deleted.", purged, named)
        taken_up = outcome.taken_up
        said = "Parts of conversations that were read, and that wait for a model now."
        for state, number in (("read", taken_up.read), ("waiting", taken_up.waiting)):
            self._set("conversation_parts", said, number, named | {"state": state})
        usage = outcome.usage
        self._set("model_calls", "Requests to a model.", usage.calls, named)
        for kind in ("prompt", "completion"):
            tokens = getattr(usage, f"{kind}_tokens")
            said = "Tokens that a model was sent and gave."
            self._set("model_tokens", said, tokens, named | {"kind": kind})
        if usage.cost_usd is not None:
            self._set("model_cost_usd", "What a model cost.", usage.cost_usd, named)

    def write(self, path: Path) -> None:
        """Put them in place of what stands there, whole. Raises `StoreError`."""
        from prometheus_client import write_to_textfile

        try:
            # Beside it, and then renamed.
            write_to_textfile(str(path), self._registry)
        except OSError as error:
            raise StoreError(f"Cannot write {path}: {error.strerror}.") from error

    def _set(self, name: str, said: str, value: float, labels: dict[str, str]) -> None:
        from prometheus_client import Gauge

        if name not in self._gauges:
            self._gauges[name] = Gauge(
                f"{_PREFIX}{name}", said, list(labels), registry=self._registry
            )
        self._gauges[name].labels(**labels).set(value)
