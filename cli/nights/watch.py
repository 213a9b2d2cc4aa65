"""What monitoring gets of a run: lines on stderr, and Prometheus metrics in a file."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from slowwave.cli.terminal.exits import Code, code_of
from slowwave.cli.terminal.log_lines import Level, log_line
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.ingest import STATES
from slowwave.cli.views.problems import unanswered_windows
from slowwave.cli.views.report_file import PREFIX, write_textfile
from slowwave.consolidation.proposals import State
from slowwave.store.errors import StoreError
from slowwave.store.file import open_reading
from slowwave.store.ledger import read_pending

if TYPE_CHECKING:
    from prometheus_client import Gauge

    from slowwave.consolidation.running.outcome import Outcome

# Lines give the reason of these states; the reasons of the rest could quote memories.
_STATES_WITH_REASON = ("failed", "skipped", "stale")
# Each has a value, even if it is 0: an alert needs one.
_STATES = tuple(state for state in get_args(State) if state != "planned")
_GATES = ("enabled", "min_interval", "min_new")


class Watch:
    """Reports the run of each file: its start, its outcome and its end."""

    def __init__(self, path: Path | None = None) -> None:
        """path: where metrics are written, if anywhere."""
        self._path = path
        self._metrics = None if path is None else _Metrics()
        self._started = 0.0

    def begin(self, file: Path, dry_run: bool, model: str | None) -> None:
        """Report that a run starts."""
        self._started = time.monotonic()
        log_line("info", "begin", file=str(file), dry_run=dry_run, model=model)

    def report_outcome(self, file: Path, outcome: Outcome, memory_file: Path) -> None:
        """Report what a run did: the id and state of each proposal, and no text of a memory."""
        for result in outcome.results:
            is_well = result.state in ("applied", "planned", "pending")
            log_line(
                "info" if is_well else "warning",
                "proposal",
                id=result.proposal.id,
                operation=result.proposal.operation,
                tenant=result.proposal.tenant,
                sources=len(result.proposal.sources),
                state=result.state,
                **({"why": result.why} if result.state in _STATES_WITH_REASON else {}),
            )
        parts = outcome.queued_parts
        log_line(
            "info",
            "outcome",
            file=str(file),
            run=outcome.run_id,
            states=dict(sorted(outcome.states.items())),
            active={"before": outcome.before.active, "after": outcome.after.active},
            conflicts=len(outcome.conflicts),
            purged=len(outcome.purged.ids),
            conversations={"read": parts.read, "waiting": parts.waiting},
            model=asdict(outcome.usage),
        )
        if self._metrics is not None:
            # If an agent has locked the file, this one gauge is missing.
            with suppress(StoreError), open_reading(memory_file) as opened:
                self._metrics.set_pending(file, len(read_pending(opened)))
            self._metrics.set_outcome(file, outcome)

    def end(self, file: Path, code: int, closed: str | None = None) -> None:
        """Report how a run ended, or which gate closed it; write metrics. Raises `StoreError`."""
        seconds = round(time.monotonic() - self._started, 3)
        level: Level = "info" if code in (Code.DONE, Code.WORK_TO_DO) else "error"
        log_line(level, "end", file=str(file), code=int(code), seconds=seconds)
        if self._metrics is not None and self._path is not None:
            self._metrics.set_end(file, time.time(), seconds, code, closed)
            write_textfile(self._path, self._metrics.registry)

    def failed(self, file: Path, error: BaseException) -> None:
        """Report that a run ended with an error; the caller reports the error itself."""
        with suppress(StoreError):  # one error is enough
            self.end(file, signals_of_this_command().code or code_of(error))


class _Metrics:
    """The last run of each file that a command works on, as gauges."""

    def __init__(self) -> None:
        """Start without any."""
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
