"""What runs did as Prometheus metrics, in a file that node_exporter collects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from slowwave.consolidation.proposals import State

from .ingest import STATES, IngestTotals
from .problems import unanswered_windows
from .report_file import PREFIX

if TYPE_CHECKING:
    from prometheus_client import Gauge

    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.store.memories import Counts

# Each has a value, even if it is 0: an alert needs one.
_STATES = tuple(state for state in get_args(State) if state != "planned")
_GATES = ("enabled", "min_interval", "min_new")


class Metrics:
    """The last run of each file that a command works on, as gauges."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry

        self.registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}

    def set_end(
        self, file: Path, ended_at: float, seconds: float, code: int, closed: str | None
    ) -> None:
        """Set how a run ended. ended_at: seconds since 1970. closed: the gate that prevented it."""
        for gate in _GATES:
            self._set("gate_closed", "1: it prevented the run.", gate == closed, file, gate=gate)
        self._set("run_timestamp_seconds", "When the last run ended.", ended_at, file)
        self._set("run_duration_seconds", "How long the last run took.", seconds, file)
        self._set("run_exit_code", "The exit code of the last run.", code, file)

    def set_pending(self, file: Path, number: int) -> None:
        """Set how many proposals are pending."""
        self._set("waiting_for_review", "Pending proposals of all runs.", number, file)

    def set_size(
        self, file: Path, counts: Counts, by_status: Mapping[str, Mapping[str, int]], parts: int
    ) -> None:
        """Set the memories of a file, and the queued conversation parts."""
        self._set("memories_now", "Active memories now.", counts.active, file)
        self._set("tokens_now", "Tokens of the active memories now.", counts.tokens, file)
        self._set("conversation_parts_waiting", "Parts queued for a model.", parts, file)
        for status, layers in by_status.items():
            number = sum(layers.values())
            self._set("memories_by_status", "Memories by status.", number, file, status=status)

    def set_ingests(self, file: Path, totals: IngestTotals) -> None:
        """Set what the ingests of a file did in all."""
        for state, number in totals.texts.items():
            self._set("ingest_texts", "Texts of all ingests by state.", number, file, state=state)
        share = totals.duplicate_share
        self._set("ingest_runs", "Ingests, without undone ones.", totals.runs, file)
        self._set("ingest_seconds", "How long all ingests took.", totals.seconds, file)
        self._set("ingest_duplicate_share", "Texts known before, 0 to 1.", share, file)

    def set_start(self, file: Path, started_at: float) -> None:
        """Set when the last run started. started_at: seconds since 1970."""
        self._set("run_started_timestamp_seconds", "When the last run started.", started_at, file)

    def set_outcome(self, file: Path, outcome: Outcome) -> None:
        """Set what a run did."""
        for when, counts in (("before", outcome.before), ("after", outcome.after)):
            self._set("active_memories", "Active memories.", counts.active, file, when=when)
            self._set("active_tokens", "Tokens of active memories.", counts.tokens, file, when=when)
        for state in _STATES:
            number = outcome.states[state]
            self._set("proposals", "Proposals of the last run by state.", number, file, state=state)
        damaged = len(outcome.plan.damaged)
        self._set("damaged_memories", "Memories whose text is damaged.", damaged, file)
        conflicts, purged = len(outcome.conflicts), len(outcome.purged.ids)
        self._set("conflicts", "Pairs of memories that contradict each other.", conflicts, file)
        self._set("purged_memories", "Memories that a purge deleted.", purged, file)
        parts = outcome.queued_parts
        for state, number in (("read", parts.read), ("waiting", parts.waiting)):
            self._set("conversation_parts", "Parts read, and queued.", number, file, state=state)
        for state in STATES:
            number = parts.states.get(state, 0)
            self._set("conversation_texts", "Texts of parts by state.", number, file, state=state)
        usage = outcome.usage
        self._set("model_calls", "Model requests.", usage.calls, file)
        unanswered = len(unanswered_windows(outcome)) + parts.unread
        self._set("model_questions_unanswered", "Unanswered questions.", unanswered, file)
        for kind in ("prompt", "completion"):
            tokens = getattr(usage, f"{kind}_tokens")
            self._set("model_tokens", "Tokens sent to and from a model.", tokens, file, kind=kind)
        if usage.cost_usd is not None:
            self._set("model_cost_usd", "What the model cost.", usage.cost_usd, file)

    def _set(self, name: str, description: str, value: float, file: Path, **labels: str) -> None:
        from prometheus_client import Gauge

        labels = {"file": str(file), **labels}
        if name not in self._gauges:
            self._gauges[name] = Gauge(
                f"{PREFIX}{name}", description, list(labels), registry=self.registry
            )
        self._gauges[name].labels(**labels).set(value)
