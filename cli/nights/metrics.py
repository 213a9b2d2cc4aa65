"""What nights did as metrics of Prometheus, in a file that its node exporter collects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

from slowwave.cli.views.report_file import PREFIX, write_textfile
from slowwave.consolidation.proposals import State

if TYPE_CHECKING:
    from prometheus_client import Gauge

    from slowwave.consolidation.running.outcome import Outcome

# Each of them has a value, also if that is 0: an alert needs one.
_STATES = tuple(one for one in get_args(State) if one != "planned")


class Metrics:
    """The last run of each file that a command is about, as gauges."""

    def __init__(self) -> None:
        """Begin without any."""
        from prometheus_client import CollectorRegistry

        self.registry = CollectorRegistry()
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

    def holds(self, file: Path, memories: int, tokens: int, parts: int) -> None:
        """Note the active memories of a file, their tokens, and conversation parts that wait."""
        named = {"file": str(file)}
        self._set("memories_now", "Active memories now.", memories, named)
        self._set("tokens_now", "Tokens of the active memories now.", tokens, named)
        self._set("conversation_parts_waiting", "Parts that wait for a model.", parts, named)

    def has_status(self, file: Path, status: str, number: int) -> None:
        """Note how many memories have a status."""
        labels = {"file": str(file), "status": status}
        self._set("memories_by_status", "Memories by status.", number, labels)

    def began(self, file: Path, at: float) -> None:
        """Note when the last run began. at: seconds since 1970."""
        said = "When the last run began."
        self._set("run_started_timestamp_seconds", said, at, {"file": str(file)})

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
        taken_up = outcome.waiting_parts
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
        write_textfile(path, self.registry)

    def _set(self, name: str, said: str, value: float, labels: dict[str, str]) -> None:
        from prometheus_client import Gauge

        if name not in self._gauges:
            self._gauges[name] = Gauge(
                f"{PREFIX}{name}", said, list(labels), registry=self.registry
            )
        self._gauges[name].labels(**labels).set(value)
