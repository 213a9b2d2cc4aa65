"""Problems of a command that may ask a model, reported on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import counted, named

if TYPE_CHECKING:
    from pathlib import Path

    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.proposals import AskedWindow, State
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.errors import SlowwaveError

    from .outcome import NightReport

# A quiet run reports how many proposals are in each of these states.
_FAILURE_STATES: tuple[State, ...] = ("failed", "skipped", "rejected")


def report_problems(
    output: Output,
    code: int,
    writer: Writer,
    recordings: Recordings | None,
    *,
    broken_off: SlowwaveError | None,
    summary: str,
    hint: str = "'slowwave log FILE' shows the run.",
    failure: tuple[str, str] | None = None,
) -> int:
    """Report on stderr what went wrong, and return the exit code.

    summary, hint: for a quiet run, which reported nothing else. failure: what the model did not
    answer, and what to do.
    """
    if recordings is not None and recordings.problem is not None:
        code = code or Code.PARTLY
        output.error(recordings.problem, "The answers are kept in the memory file.", code)
    if broken_off is not None:
        output.error(broken_off.message, broken_off.hint, code)
    elif failure is not None:
        output.error(*failure, code)
    elif writer.refused is not None:
        output.error(_refusal(writer), "", code)
    elif writer.overspent is not None:
        code = code or Code.PARTLY
        output.error(f"The model used {writer.overspent}.", "", code)
    elif code in (Code.PARTLY, Code.FAILED) and output.quiet:
        output.error(summary, hint, code)
    return code


def report_night_problems(
    output: Output, code: int, report: NightReport, recordings: Recordings | None
) -> int:
    """Report on stderr what went wrong in a night, and return the exit code."""
    file, outcome = report.place.named, report.outcome
    summary, hint = _summarize(file, outcome)
    code = report_problems(
        output,
        code,
        report.writer,
        recordings,
        broken_off=outcome.broken_off,
        summary=summary,
        hint=hint,
        failure=report.failure,
    )
    if outcome.why_unrecorded:
        output.note(f"{file}: {outcome.why_unrecorded}")
    elif outcome.why_unsaved:
        output.note(
            f"Could not store what this run computed: {outcome.why_unsaved} "
            "The next run computes it again."
        )
    if outcome.migrated_from is not None:
        migrated = f"{file}: migrated from schema version {outcome.migrated_from}."
        output.note(migrated, important=True)
    if output.quiet and (ids := outcome.plan.damaged):
        skipped = f"{file}: skipped memories whose text is damaged: {named(ids)}."
        output.note(skipped, "See: slowwave check FILE", important=True)
    return code


def model_failure(
    file: Path, outcome: Outcome, *, writer: Writer, recordings: Recordings | None, check: str
) -> tuple[str, str] | None:
    """Return what the model did not answer and why, and what to do. check: tests the model.

    None if it answered everything, or if an interruption or an error of the file is the reason.
    """
    windows = unanswered_windows(outcome)
    parts = outcome.queued_parts
    if outcome.interrupted or outcome.broken_off is not None or not (windows or parts.unread):
        return None
    unanswered = [counted(len(windows), "question")] if windows else []
    if parts.unread:
        unanswered.append(counted(parts.unread, "conversation part"))
    states = {window.state for window in windows}
    problem = f"{file}: {' and '.join(unanswered)} not answered"
    if writer.refused is not None:
        problem = f"{_refusal(writer).rstrip('.')}. {problem}."
    else:
        # A failure says more than the limit that skipped other questions.
        windows.sort(key=lambda window: window.state != "failed")
        reasons = (*(window.why for window in windows), parts.why)
        reason = next(filter(None, reasons), "no reason was given")
        first = ". First error" if len(windows) + parts.unread > 1 else ""
        problem = f"{problem}{first}: {reason.rstrip('.')}."
    if recordings is not None and not recordings.asks:
        todo = "Add the answers to the recording, and repeat the run."
    elif states == {"skipped"} and writer.refused is None:
        todo = "The next run asks again, within the same limit: raise it to ask more at once."
        if not outcome.usage.calls:
            todo = "What is left of the budget does not cover another call: raise the limit."
    else:
        todo = f"The next run asks again. To test server and key: {check}"
    return clean(problem), clean(todo)


def _refusal(writer: Writer) -> str:
    return f"The model was not called again: {writer.refused}"


def unanswered_windows(outcome: Outcome) -> list[AskedWindow]:
    """Return the windows without an answer from the model."""
    return [window for window in outcome.asked if window.state in ("failed", "skipped")]


def _summarize(file: Path, outcome: Outcome) -> tuple[str, str]:
    """Return in one line what a quiet run does not show, and where to read more."""
    counts = [f"{count} {state}" for state in _FAILURE_STATES if (count := outcome.states[state])]
    rejections = (result.why for result in outcome.results if result.state == "rejected")
    reason = outcome.why or next(filter(None, rejections), "")
    first_reason = f", first: {reason.rstrip('.')}." if reason else "."
    hint = f"See: slowwave log FILE {outcome.run_id}" if outcome.run_id else ""
    return f"{file}: {', '.join(counts) or 'not everything was done'}{first_reason}", hint
