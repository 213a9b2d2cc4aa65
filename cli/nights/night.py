"""A night on one file or on several: carried out, reported, and its exit code."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.exits import OF_VERDICT, Code, code_of
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.asked import routes_as_json
from slowwave.cli.views.guard import guard_as_json, guard_as_text
from slowwave.cli.views.memory import ids_in, read_views
from slowwave.cli.views.outcome import as_json, as_text, budget_as_json, budget_as_text
from slowwave.cli.views.problems import tell_problems
from slowwave.cli.views.report_file import report_of, write_report
from slowwave.cli.views.wiki import write_after_run
from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.errors import StoreError

from .garbage_collection import without_garbage_collection
from .gates import ClosedGate, Gates
from .watch import Watch

if TYPE_CHECKING:
    from slowwave.consolidation.ageing.retention import Rule
    from slowwave.consolidation.evaluation.guarded_night import GuardedNight, RecallGuard
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.options import CycleOptions
    from slowwave.consolidation.progress import Progress
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.places import Place

# Of several files the worst counts: the last of these that any of them ended with.
_WORSE_AND_WORSE = (
    *(Code.DONE, Code.WORK_TO_DO, Code.PARTLY, Code.FAILED, Code.USAGE, Code.HELD),
    *(Code.UNUSABLE_FILE, Code.DEFECT, Code.INTERRUPTED, Code.TERMINATED),
)


@dataclass(frozen=True)
class Night:
    """What is to be done with each file, and how that is reported."""

    options: CycleOptions
    embedder: Embedder
    # A new one for each file: budgets are of one.
    writer: Callable[[], Writer]
    recordings: Recordings | None
    dry_run: bool
    # Whether a dry run that finds work ends with a code of its own.
    tells_work: bool
    verbose: bool
    # What recall is measured by before anything is applied; None: it is not.
    guard: RecallGuard | None
    # Where what it did is written as a page or as Markdown, if anywhere.
    report: Path | None
    output: Output
    # Where a dry run writes its plan, for `slowwave apply`.
    plan_out: Path | None = None
    # Where the file is written out as a wiki afterwards.
    wiki: Path | None = None
    # What has to hold for it to begin.
    gates: Gates = field(default_factory=Gates)
    # What is told to those who watch.
    watch: Watch = field(default_factory=lambda: Watch(None))
    # Whether a terminal sees how far it is: also where questions come in place of a report.
    shows_progress: bool = True

    def on(self, files: Sequence[Place]) -> int:
        """Maintain the files, one after the other, and give the worst of their exit codes.

        With one file an error is raised; with several it is reported, and the others go on.
        """
        if len(files) == 1:
            code, found = self._on(files[0])
            self.output.result({"command": "maintain", **found})
            return code
        results: list[dict[str, Any]] = []
        codes: list[int] = []
        try:
            for file in files:
                codes.append(self._maintain_one(file, results))
                if signals_of_this_command().asked:
                    break
        finally:
            self.output.result({"command": "maintain", "files": results})
        return max(codes, key=lambda one: _WORSE_AND_WORSE.index(Code(one)))

    def _maintain_one(self, file: Place, results: list[dict[str, Any]]) -> int:
        try:
            code, found = self._on(file)
        except (StoreError, ConsolidationError) as error:
            self.output.error(
                f"{file.named}: {without_secrets(error.message)}", error.hint, code_of(error)
            )
            return code_of(error)
        results.append(found)
        self.output.show("")
        return code

    def _on(self, place: Place) -> tuple[int, dict[str, Any]]:
        writer = self.writer()
        self.watch.begin(place.named, self.dry_run, writer.model)
        try:
            code, found = self._gated(place, writer)
        except BaseException as error:
            self.watch.failed(place.named, error)
            raise
        try:
            self.watch.end(place.named, code)
        except StoreError as error:
            code = code if code not in (Code.DONE, Code.WORK_TO_DO) else Code.PARTLY
            self.output.error(error.message, error.hint, code)
        return code, found

    def _gated(self, place: Place, writer: Writer) -> tuple[int, dict[str, Any]]:
        closed = self._closed_gate(place)
        if closed is not None:
            self.output.show(clean(f"{place.named}: nothing was done: {closed.why}."))
            dry_run = {"dry_run": self.dry_run, "gate": closed.as_json()}
            return Code.DONE, {"file": str(place.named), **dry_run}
        return self._carried_out(place, writer)

    def _carried_out(self, place: Place, writer: Writer) -> tuple[int, dict[str, Any]]:
        signals, full = signals_of_this_command(), place.budget()
        if (remark := place.remark()) is not None:
            self.output.note(clean(remark))
        with place.reading() if self.dry_run else place.changing() as memory_file:
            for rule in _rules_for_nobody(memory_file, self.options):
                said = (
                    f"{place.named} has no tenant '{rule.tenant}'; a rule is for it: {rule.text}."
                )
                self.output.note(clean(said))
            signals.open()
            with shown_progress(not self.shows_progress) as progress:
                options = self._options_for(place)
                guarded = self._guarded(memory_file, options, writer, progress)
                if guarded is not None:
                    options = guarded.options
                outcome = self._maintained(memory_file, options, writer, progress)
                if guarded is not None:
                    outcome = replace(outcome, usage=outcome.usage + guarded.usage)
            signals.close()
            unwritten: StoreError | None = None
            unreported: StoreError | None = None
            wiki_folder = None if self.dry_run else self.wiki
            if not self.dry_run:
                try:
                    from slowwave.consolidation.running.outcome import without_stale

                    stale, tenants = place.write_back(), self.options.tenants
                    outcome = without_stale(outcome, stale, memory_file, tenants)
                except StoreError as error:
                    if not place.outlives_a_failed_write:
                        raise
                    unwritten = error
            found: dict[str, Any] = {}
            if self.plan_out is not None:
                self._write_plan(self.plan_out, memory_file, outcome)
            with signals.limited():
                self.watch.came_of_it(place.named, outcome, partial(_waiting, memory_file))
                try:
                    self._report(outcome, memory_file, place.named, writer)
                except StoreError as error:
                    unreported = error
                pages = write_after_run(wiki_folder, memory_file, place.named)
                if self.output.json:
                    found = as_json(outcome, str(place.named), self.dry_run, writer)
                    found["ways"] = routes_as_json(outcome, memory_file)
                    found |= budget_as_json(full, place.budget()) | guard_as_json(guarded)
                    found |= pages.as_json()
                elif not self.output.quiet:
                    shown = outcome, place.named, self.dry_run, writer, memory_file, self.verbose
                    self.output.show(
                        *as_text(*shown),
                        *budget_as_text(full, place.budget()),
                        *guard_as_text(guarded),
                    )
        code = signals.code or _code(outcome, self.dry_run and self.tells_work)
        if unwritten is None:
            code = self._with_problems(place.named, outcome, writer, code)
        if unreported is not None:
            code = code if code not in (Code.DONE, Code.WORK_TO_DO) else Code.PARTLY
            self.output.error(unreported.message, unreported.hint, code)
        code = pages.tell(self.output, code)
        if unwritten is not None:
            code = code or Code.PARTLY
            self.output.error(unwritten.message, "The next run writes it.", code)
        return code, found

    def _closed_gate(self, place: Place) -> ClosedGate | None:
        closed = self.gates.switch()
        if closed is not None or not self.gates.look_at_the_file:
            return closed
        with place.reading() as memory_file:
            return self.gates.closed(memory_file, self.options.tenants, datetime.now(UTC))

    def _report(self, outcome: Outcome, memory_file: Path, named: Path, writer: Writer) -> None:
        """Write the page or the Markdown that is wanted. Raises `StoreError`."""
        if self.report is None:
            return
        from slowwave.cli.views.night import view_night

        night = view_night(outcome, memory_file, named, self.dry_run, writer.model or writer.name)
        write_report(self.report, report_of(night, self.report), named)

    def _options_for(self, place: Place) -> CycleOptions:
        """Return what may be done to a file, and say so where that is less than was asked for."""
        why = place.why_no_texts() if self.options.consolidate else None
        if why is None:
            return self.options
        self.output.note(clean(f"{place.named} gets merges only, and no new texts. {why}"))
        return self.options.without_new_texts()

    def _guarded(
        self, memory_file: Path, options: CycleOptions, writer: Writer, progress: Progress
    ) -> GuardedNight | None:
        """Try the night on copies first, if recall is to be guarded."""
        if self.guard is None or not options.consolidate:
            return None
        from slowwave.consolidation.evaluation.guarded_night import guard_night

        return guard_night(
            memory_file,
            options,
            self.embedder,
            writer,
            datetime.now(UTC),
            self.guard,
            keeps_answers=not self.dry_run,
            progress=progress,
            interruption=signals_of_this_command(),
        )

    def _maintained(
        self, memory_file: Path, options: CycleOptions, writer: Writer, progress: Progress
    ) -> Outcome:
        from slowwave.consolidation.cycle import run_cycle

        # The libraries that call a model make reference cycles, and may do so for hours.
        asks = writer.model is not None
        with nullcontext() if asks else without_garbage_collection():
            return run_cycle(
                memory_file,
                options,
                self.embedder,
                writer,
                datetime.now(UTC),
                self.dry_run,
                progress,
                signals_of_this_command(),
            )

    def _write_plan(self, path: Path, memory_file: Path, outcome: Outcome) -> None:
        from slowwave.consolidation.running.plan_file import write_plan

        ids = ids_in(one.proposal.sources for one in outcome.results)
        texts = {one: memory.content for one, memory in read_views(memory_file, ids).items()}
        write_plan(path, outcome.results, texts)
        self.output.note(clean(f"The plan is written: {path}"))

    def _with_problems(self, file: Path, outcome: Outcome, writer: Writer, code: int) -> int:
        """Report on stderr what went wrong, and return the exit code."""
        in_short, hint = _what_went_wrong(file, outcome)
        code = tell_problems(
            self.output, code, writer, self.recordings, outcome.broken_off, in_short, hint
        )
        if not outcome.end_is_kept:
            self.output.note("The end could not be written: the log will say 'interrupted'.")
        elif outcome.not_kept:
            self.output.note(
                f"What this run found out could not be kept: {outcome.not_kept} "
                "The next one finds it out again."
            )
        return code


def _waiting(memory_file: Path) -> int:
    """Count what waits for a person."""
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import read_pending

    with open_reading(memory_file) as file:
        return len(read_pending(file))


def _rules_for_nobody(memory_file: Path, options: CycleOptions) -> list[Rule]:
    """Return the rules for tenants that a file does not have: mostly a slip of the pen."""
    rules = [one for one in options.retention.rules if one.tenant is not None]
    if not rules or not options.expire:
        return []
    from slowwave.store.file import open_reading
    from slowwave.store.memories import tenants

    with open_reading(memory_file) as file:
        known = tenants(file)
    return [one for one in rules if one.tenant not in known]


def _code(outcome: Outcome, tells_work: bool) -> Code:
    if tells_work:
        return Code.WORK_TO_DO if outcome.is_work else Code.DONE
    return OF_VERDICT[outcome.verdict]


def _what_went_wrong(file: Path, outcome: Outcome) -> tuple[str, str]:
    """Return in a line what a quiet run would have reported, and where to read more."""
    wrong = [one for one in outcome.results if one.state in ("failed", "skipped", "rejected")]
    unanswered = [one for one in outcome.asked if one.state in ("failed", "skipped")]
    counts = [
        f"{sum(one.state == state for one in wrong)} {state}"
        for state in ("failed", "skipped", "rejected")
        if any(one.state == state for one in wrong)
    ]
    if unanswered:
        counts.append(f"{counted(len(unanswered), 'question', 'questions')} not answered")
    taken_up = outcome.waiting_parts
    if taken_up.unread:
        counts.append(
            counted(
                taken_up.unread, "conversation part still waits", "conversation parts still wait"
            )
        )
    if raw := taken_up.states.get("raw"):
        counts.append(f"{counted(raw, 'answer', 'answers')} about conversations could not be read")
    if outcome.purged.why:
        counts.append("not all purged")
    aged = [one.why for one in outcome.aged if one.why]
    if aged:
        counts.append("not all expired or archived")
    whys = [*(one.why for one in unanswered), *(one.why for one in wrong), outcome.purged.why]
    whys += [*aged, taken_up.why]
    why = next((one for one in whys if one), "")
    first = f", first: {why.rstrip('.')}." if why else "."
    more = f"See: slowwave log {shlex.quote(str(file))} {outcome.run_id}" if outcome.run_id else ""
    return clean(f"{file}: {', '.join(counts)}{first}"), clean(more)
