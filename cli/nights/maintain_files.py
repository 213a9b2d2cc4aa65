"""The run of `slowwave maintain` on each file: gates, consolidation, reports, exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli.arguments.monthly_budget import month_so_far
from slowwave.cli.terminal.exits import OF_VERDICT, Code, code_of, fail_late, report_late_failures
from slowwave.cli.terminal.output import NAMED_FILE, Output, with_file
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.views.memory import ids_in, read_views
from slowwave.cli.views.outcome import NightReport
from slowwave.cli.views.problems import model_failure, report_night_problems
from slowwave.cli.views.report_file import is_page, write_report
from slowwave.cli.views.wiki import update_wiki
from slowwave.consolidation.runtime.interruption import InterruptedEarly
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.errors import SlowwaveError, StoreError
from slowwave.store.file import open_any_version
from slowwave.store.memories import Counts, tenants
from slowwave.store.places import Place

from .gates import ClosedGate, Gates
from .watch import Watch

if TYPE_CHECKING:
    from slowwave.cli.arguments.model_options import RecordableModelOptions
    from slowwave.cli.arguments.night_options import NightSettings
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.options import CycleOptions
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.vectors.embedder import Embedder
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.store.places import Budget

# The exit code of several files is the last of these that any of them ended with.
_FROM_BEST_TO_WORST = (
    *(Code.DONE, Code.WORK_TO_DO, Code.PARTLY, Code.FAILED, Code.USAGE, Code.HELD),
    *(Code.UNUSABLE_FILE, Code.DEFECT, Code.INTERRUPTED, Code.TERMINATED),
)


@dataclass(frozen=True)
class Night:
    """What to do with each file, and how to report it."""

    options: CycleOptions
    settings: NightSettings
    embedder: Embedder
    # Creates a writer for each file: budgets are per file.
    models: RecordableModelOptions
    recordings: Recordings | None
    gates: Gates
    watch: Watch
    output: Output
    dry_run: bool
    # Whether it is a dry run whose exit code tells if there is work to do.
    exit_code: bool
    verbose: bool
    # Where a dry run writes its plan, for `slowwave review apply`.
    plan_out: Path | None

    def maintain(self, places: Sequence[Place]) -> int:
        """Maintain each file, and return the worst of their exit codes.

        The error of a single file is raised; of several files, each error is reported.
        """
        if len(places) == 1:
            code, result = self._maintain_place(places[0])
            self.output.result("maintain", **result)
            return code
        results: list[dict[str, Any]] = []
        codes: list[int] = []
        try:
            for place in places:
                codes.append(self._maintain_next(place, results))
                if signals_of_this_command().requested:
                    break
        finally:
            self.output.result("maintain", files=results)
        return max(codes, key=lambda code: _FROM_BEST_TO_WORST.index(Code(code)))

    def _maintain_next(self, place: Place, results: list[dict[str, Any]]) -> int:
        try:
            code, result = self._maintain_place(place)
        except SlowwaveError as error:
            code, message = code_of(error), without_secrets(error.message)
            result = {"file": str(place.named), "error": message, "hint": with_file(error.hint)}
            # Most messages name the file, and a person must know which of the files it is.
            prefix = "" if str(place.named) in message else f"{place.named}: "
            self.output.error(f"{prefix}{message}", error.hint, code)
            report_late_failures(self.output, code)
        results.append(result | {"code": int(code)})
        self.output.show("")
        return code

    def _maintain_place(self, place: Place) -> tuple[int, dict[str, Any]]:
        """Maintain a file, and report it to monitoring; return its exit code and JSON."""
        NAMED_FILE.set(place.named)
        writer = self.models.writer(self.recordings)
        self.watch.begin(place.named, self.dry_run, writer.model)
        try:
            closed = self.gates.closed(place, self.options.tenants, datetime.now(UTC))
            if closed is None:
                if self.options.consolidate and (self.options.ask or not self.dry_run):
                    self.models.refuse_unready(self.recordings, self.settings.monthly_usd)
                elif self.options.consolidate:
                    self.models.note_unlisted(self.recordings, self.output)
                code, result = self._maintain(place, writer)
            else:
                self.output.show(closed.as_text(place.named))
                code, result = Code.DONE, self._not_begun(place, writer, closed)
        except BaseException as error:
            self.watch.failed(place.named, error)
            if self.dry_run and isinstance(error, InterruptedEarly):
                error.hint = "Nothing was changed."
            raise
        code = report_late_failures(self.output, code)
        try:
            self.watch.end(place.named, code, None if closed is None else closed.name)
        except StoreError as error:
            fail_late(error.message, error.hint)
        return report_late_failures(self.output, code), result

    def _not_begun(self, place: Place, writer: Writer, closed: ClosedGate) -> dict[str, Any]:
        """Return a report with its usual keys; what would have to be read is null."""
        from slowwave.consolidation.running.outcome import Outcome

        counts = Counts(0, 0, {}, 0, 0)
        night = (
            Outcome(counts, counts),
            Place(place.named),
            writer,
            place.named,
            (None, None),
            self.dry_run,
        )
        unread = dict.fromkeys(("before", "after", "waiting", "conversations"))
        unread |= {} if place.is_memory_file else {"budget": None}
        return NightReport(*night).as_json() | unread | {"gate": closed.as_json()}

    def _maintain(self, place: Place, writer: Writer) -> tuple[int, dict[str, Any]]:
        signals, budget = signals_of_this_command(), place.budget()
        options = note_place(place, self.options, self.output)
        with place.reading() if self.dry_run else place.changing() as memory_file:
            if (usd := self.settings.monthly_usd) is not None:
                month = month_so_far(memory_file, usd, datetime.now(UTC))
                writer = self.models.writer(self.recordings, month)
            for note in _rules_without_tenant(place.named, memory_file, self.options):
                self.output.note(note)
            outcome = self._consolidate(options, memory_file, writer)
            outcome, after = write_back(place, memory_file, outcome, self.options, self.dry_run)
            if self.plan_out is not None:
                self._write_plan(self.plan_out, memory_file, outcome)
            with signals.limited():
                self.watch.report_outcome(place.named, outcome, memory_file)
                self._write_report(place.named, memory_file, outcome)
            check = self.models.check_of(writer.model)
            failure = model_failure(
                place.named, outcome, writer=writer, recordings=self.recordings, check=check
            )
            night = outcome, place, writer, memory_file, (budget, after), self.dry_run
            report = NightReport(*night, failure, self.models.concurrency)
            how = self.output, self.recordings, self.verbose, self.exit_code
            code, result = finish_night(report, *how)
        wiki = None if self.dry_run else self.settings.wiki
        return code, result | update_wiki(wiki, place, self.output)

    def _consolidate(self, options: CycleOptions, memory_file: Path, writer: Writer) -> Outcome:
        from slowwave.consolidation.cycle import run_cycle
        from slowwave.consolidation.running.run_in_file import NightInputs

        signals = signals_of_this_command()
        signals.open()
        with shown_progress(self.output.quiet) as progress:
            night = NightInputs(
                path=memory_file,
                options=options,
                embedder=self.embedder,
                writer=writer,
                now=datetime.now(UTC),
                progress=progress,
                dry_run=self.dry_run,
                interruption=signals,
            )
            outcome = run_cycle(night)
        signals.close()
        return outcome

    def _write_plan(self, path: Path, memory_file: Path, outcome: Outcome) -> None:
        from slowwave.consolidation.running.plan_file import write_plan

        ids = ids_in(result.proposal.sources for result in outcome.results)
        memories = read_views(memory_file, ids)
        texts = {memory_id: memory.content for memory_id, memory in memories.items()}
        write_plan(path, outcome.results, texts)
        self.output.note(f"Wrote the plan to {path}.")

    def _write_report(self, file: Path, memory_file: Path, outcome: Outcome) -> None:
        """Write the report of the run, if one is wanted and there is a run."""
        path, run_id = self.settings.report, outcome.run_id or outcome.last_run
        if path is None:
            return
        if run_id is None:
            self.output.note(f"{path} was not written: there is no run to report.")
            return
        from slowwave.cli.views.night import read_night
        from slowwave.cli.views.report import as_markdown, as_page

        try:
            night = read_night(memory_file, file, run_id)
            write_report(path, (as_page if is_page(path) else as_markdown)(night), file)
        except StoreError as error:
            fail_late(error.message, error.hint)


def note_place(place: Place, options: CycleOptions, output: Output) -> CycleOptions:
    """Note what a user should read about a place, and return the options that it allows."""
    if (remark := place.remark()) is not None:
        output.note(remark)
    why = place.no_new_texts_reason() if options.consolidate else None
    if why is None:
        return options
    output.note(f"{place.named} allows only merges, no new texts. {why}")
    return options.without_new_texts()


def write_back(
    place: Place, memory_file: Path, outcome: Outcome, options: CycleOptions, dry_run: bool = False
) -> tuple[Outcome, Budget | None]:
    """Write back a night, have the place fit after a complete one; return how full it is.

    A night is not complete while all proposals are reviewed.
    """
    from slowwave.consolidation.running.outcome import without_withdrawn

    try:
        if not dry_run:
            withdrawn = place.write_back()
            outcome = without_withdrawn(outcome, withdrawn, memory_file)
        is_complete = options.consolidate and not (outcome.interrupted or outcome.broken_off)
        if not is_complete or options.review == "always":
            return outcome, place.budget()
        results = (result for result in outcome.results if not result.place)
        planned = [result for result in results if result.state == "planned"]
        return outcome, place.fit(outcome.run_id, planned if dry_run else None)
    except StoreError as error:
        if dry_run or not place.outlives_a_failed_write:
            raise
        fail_late(error.message, "The next run writes it.")
        return outcome, place.budget()


def finish_night(
    report: NightReport,
    output: Output,
    recordings: Recordings | None = None,
    verbose: bool = False,
    exit_code: bool = False,
) -> tuple[int, dict[str, Any]]:
    """Show a night to people, report its problems, and return its exit code and its JSON.

    exit_code: as in `Night`.
    """
    signals, outcome = signals_of_this_command(), report.outcome
    with signals.limited():
        fields = report.as_json() if output.json else {}
        if not output.json and not output.quiet:
            output.show(*report.as_text(verbose))
    code: int = signals.code or OF_VERDICT[outcome.verdict]
    # A model that answered nothing has not said that there is nothing to do.
    if exit_code and not (signals.code or outcome.verdict == "failed"):
        code = Code.WORK_TO_DO if outcome.has_work else Code.DONE
    return report_night_problems(output, code, report, recordings), fields


def _rules_without_tenant(file: Path, memory_file: Path, options: CycleOptions) -> Iterator[str]:
    """Yield a note for each rule of a tenant that the file does not have: mostly a typo."""
    rules = [rule for rule in options.retention.rules if rule.tenant is not None]
    if not rules or not options.expire:
        return
    with open_any_version(memory_file) as opened:  # the run has not migrated it yet
        names = tenants(opened)
    for rule in rules:
        if rule.tenant not in names:
            yield f"{file} has no tenant '{rule.tenant}', but there is a rule for it: {rule.text}."
