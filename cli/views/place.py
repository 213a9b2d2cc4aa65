"""What a report contains about another agent's file itself, in JSON and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.wording import (
    MAX_LISTED,
    counted,
    named,
    shortened_for_stdout,
    unlisted,
)
from slowwave.consolidation.proposals import Result
from slowwave.store.places import Budget, Place, Repeated, Untouched

from .memory import ids_in, read_views

if TYPE_CHECKING:
    from .outcome import NightReport


def place_as_json(report: NightReport) -> dict[str, Any]:
    """Return what a run leaves unchanged, what is repeated, and how full a place is.

    Also the file of each memory of the results, if it has its own.
    """
    place, results, (before, after) = report.place, report.outcome.results, report.budgets
    files = _files_of(report)
    fields: dict[str, Any] = {
        "files": files,
        "untouched": list(map(vars, _staying(place, results, files))),
        "repeated": list(map(vars, _repeated(place, results, files))),
    }
    now = place.budget()
    if before is not None and after is not None and now is not None:
        budget = asdict(now)
        fields["budget"] = {
            "most": budget.pop("limit"),
            **budget,
            "before": before.used,
            "tokens_before": before.tokens,
            "after": after.used,
            "tokens_after": after.tokens,
            "tokens_saved": before.tokens - after.tokens,
            "shortened": after.shortened or (),
        }
    return fields


def place_as_text(report: NightReport) -> list[str]:
    """Return the same without the files, as lines, with a blank line before each part."""
    place, results, files = report.place, report.outcome.results, _files_of(report)
    has_applied = any(result.state in ("applied", "planned") for result in results)
    parts = [
        *_untouched_as_text(_staying(place, results, files), report.writer.model is not None),
        *_repeated_as_text(list(_repeated(place, results, files))),
        *_budget(*report.budgets, report.dry_run, has_applied),
    ]
    return [line for part in parts for line in ("", part)]


def _files_of(report: NightReport) -> dict[str, str]:
    """Return the files of the memories of results, by memory."""
    if report.place.is_memory_file:
        return {}
    ids = ids_in(result.proposal.sources for result in report.outcome.results)
    views = read_views(report.path, ids)
    return {memory_id: view.file for memory_id, view in views.items() if view.file}


def _staying(
    place: Place, results: Sequence[Result], files: Mapping[str, str]
) -> Iterator[Untouched]:
    """Yield what a run leaves unchanged, except the files that a plan removes."""
    leaving = _leaving(results, files)
    for kind in place.untouched():
        if names := tuple(name for name in kind.names if name not in leaving):
            yield replace(kind, names=names)


def _repeated(
    place: Place, results: Sequence[Result], files: Mapping[str, str]
) -> Iterator[Repeated]:
    """Yield what several places say, except in the files that a plan removes."""
    leaving = _leaving(results, files)
    for statement in place.repeated():
        # A name is followed by the heading.
        places = tuple(name for name in statement.places if name.split(" (")[0] not in leaving)
        if len(places) > 1:
            yield replace(statement, places=places)


def _leaving(results: Sequence[Result], files: Mapping[str, str]) -> set[str | None]:
    """Return the files that a plan removes."""
    planned = (result.proposal for result in results if result.state == "planned")
    return {files.get(memory_id) for proposal in planned for memory_id in proposal.leaving}


def _untouched_as_text(untouched: Iterable[Untouched], has_model: bool) -> Iterator[str]:
    lines = []
    for kind in untouched:
        if not (kind.is_for_model and has_model):
            names = f"{len(kind.names):,} {kind.why} ({named(kind.names)})"
            lines.append(clean(f"  {names}. {kind.hint}"))
    if lines:
        yield "\n".join(["Left unchanged:", *lines])


def _repeated_as_text(repeated: Sequence[Repeated]) -> Iterator[str]:
    if not repeated:
        return
    lines = [f"{counted(len(repeated), 'statement')} in more than one place:"]
    for statement in repeated[:MAX_LISTED]:
        text = shortened_for_stdout(statement.text)
        lines.append(f"  {text} ({clean(', '.join(statement.places))})")
    yield "\n".join([*lines, *unlisted(len(repeated))])


def _budget(
    before: Budget | None, after: Budget | None, dry_run: bool, has_applied: bool
) -> Iterator[str]:
    if before is None or after is None:
        return
    # If the run applied nothing, an agent changed the place meanwhile.
    is_own = has_applied or bool(after.shortened)
    used = f"has {after.used:,}"
    if is_own and before.unit == after.unit and before.used != after.used:
        used = f"now has {after.used:,} ({before.used:,} before)"
        if dry_run:
            used = f"has {before.used:,} ({after.used:,} after this plan)"
    aim = "" if after.target is None else f" and should have at most {after.target:,}"
    limit = f"The limit of the agent is {after.limit:,} {after.unit} of {after.file}"
    lines = [f"{limit}, which {used}{aim}."]
    if after.shortened:
        entries = counted(len(after.shortened), "entry", "entries")
        lines.append(f"  {entries} shortened ({named(after.shortened)}): the rest is in the files.")
    if after.target is not None and (excess := after.used - after.target) > 0:
        reason = "in this run, nothing more can be shortened without losing content"
        if after.shortened is None:
            reason = "entries are shortened only by a complete run without --review always"
        lines.append(f"  ! {excess:,} too many: {reason}.")
    if after.used > after.limit:
        lines.append(f"  ! {after.used - after.limit:,} {after.unit} above the limit.")
        if after.target is None and after.all_bytes is not None:
            command = f"slowwave maintain FILE --target {after.all_bytes // 1000}KB --dry-run"
            hint = f"  Preview which entries can be shortened: {command}"
            lines.append(with_file(hint))
    saved_tokens = before.tokens - after.tokens if is_own else 0
    change, subject = "", "Each"
    if saved_tokens:
        change = f", {abs(saved_tokens):,} {'fewer' if saved_tokens > 0 else 'more'} than before"
        subject = "After this plan, each" if dry_run else subject
    lines.append(f"{subject} session loads {after.tokens:,} tokens of {after.file}{change}.")
    yield "\n".join(lines)
