"""slowwave audit: what needs cleaning up in a memory file, each finding with its command."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.durations import duration_of, retention_of
from slowwave.cli.arguments.night_options import MaxActiveOption, RetainOption
from slowwave.cli.arguments.options import OutputOptions, TenantsOption, checked_by
from slowwave.cli.terminal.output import clean, with_file
from slowwave.cli.terminal.wording import MAX_LISTED, counted, shortened_for_stdout, unlisted
from slowwave.cli.views.memory import dated, ids_in, read_views
from slowwave.store.places import Place

if TYPE_CHECKING:
    from slowwave.consolidation.reports.audit import Audit, Finding, FindingKind

_TITLES: dict[FindingKind, str] = {
    "orders": "Possible prompt injections; no run reads them",
    "secret": "Possible secrets, which agents and models read; forget erases them",
    "blank": "Without letters or digits",
    "verbatim": "Code, data or logs, which runs never shorten; forget what belongs in a file",
    "too long": "Too long for runs and recall",
    "distrusted": "Low trust, from feedback or their writer",
    "doubtful source": "Derived from a source that no longer supports them",
    "expired": "Expired, but still active",
    "expiring": "About to expire",
    "limit": "Tenants near max_active",
    "faded": "Not confirmed or recalled for over a half-life of their layer",
}
# What cleans up all findings of a kind.
_CLEANING = {
    "expired": "maintain FILE --phase expire",
    "expiring": "maintain FILE --phase expire",
    "limit": "maintain FILE --phase limit",
}
_NO_ACCESSES = (
    "Not recorded: which memories were recalled. Recall writes nothing, and no agent has updated "
    "access_count or accessed_at."
)
_NO_FEEDBACK = "Feedback is recorded only in the trust of a memory."


def audit(
    place: Place,
    tenant: TenantsOption = None,
    within: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=checked_by(duration_of),
            help="Also report memories that expire within this time.",
        ),
    ] = "7d",
    retain: RetainOption = None,
    max_active: MaxActiveOption = None,
    *,
    output: OutputOptions,
) -> None:
    """List what needs cleaning up in the file, each with the command for it.

    Reports memories that contain instructions or secrets, carry no information, are doubtful,
    unused or expired, and tenants near their limit. To verify the file itself, use 'slowwave
    check'.
    """
    from slowwave.consolidation.ingest.secrets import kinds_of_secrets
    from slowwave.consolidation.reports.audit import AuditOptions
    from slowwave.consolidation.reports.audit import audit as audit_file

    options = AuditOptions(
        tuple(tenant or ()),
        retention_of(retain or ()),
        max_active,
        duration_of(within) or timedelta(),
        kinds_of_secrets,
    )
    with place.reading() as memory_file:
        report = audit_file(memory_file, options, datetime.now(UTC))
        output.result("audit", file=str(place.named), **_as_json(report))
        output.show(*_as_text(report, place.named, memory_file))


def _as_json(report: Audit) -> dict[str, Any]:
    """Return the findings, each with its command, and what the file does not record."""
    command = _commands(report)
    return {
        "findings": [
            {
                "kind": finding.kind,
                "tenant": finding.tenant,
                "memories": finding.memories,
                "why": finding.why,
                "command": command(finding),
            }
            for finding in report.findings
        ],
        "active": report.active,
        "recorded": {"accesses": report.accesses_recorded, "feedback": False},
    }


def _as_text(report: Audit, file: Path, path: Path) -> Iterator[str]:
    """Yield the findings by kind, and what is not recorded.

    path: where the texts of memories are read.
    """
    active = counted(sum(report.active.values()), "active memory", "active memories")
    findings = counted(len(report.findings), "finding")
    yield clean(f"{file}: {active}, {findings}.")
    command = _commands(report)
    for kind, group in groupby(report.findings, key=lambda finding: finding.kind):
        yield ""
        yield _section(kind, list(group), command, path)
    yield ""
    yield _NO_FEEDBACK if report.accesses_recorded else f"{_NO_ACCESSES} {_NO_FEEDBACK}"


def _section(
    kind: FindingKind, findings: Sequence[Finding], command: Callable[[Finding], str], path: Path
) -> str:
    """Return the findings of a kind, with each command below what it cleans up, without secrets."""
    from slowwave.consolidation.ingest.secrets import mask_text

    lines = [f"{_TITLES[kind]}: {len(findings):,}"]
    if kind == "secret":
        lines[0] += f" ({_count_secrets(findings)})"
    shown = findings[:MAX_LISTED]
    memories = {
        memory_id: replace(memory, content=mask_text(memory.content, {}))
        for memory_id, memory in read_views(path, ids_in(each.memories for each in shown)).items()
    }
    for cleaning, group in groupby(shown, key=command):
        for finding in group:
            views = [(memory_id, memories.get(memory_id)) for memory_id in finding.memories]
            lines += [f"  {dated(memory)} ({clean(memory_id)})" for memory_id, memory in views]
            # The instruction that a memory contains has been shown with it.
            if not any(memory and finding.why in memory.content for _, memory in views):
                reason = shortened_for_stdout(finding.why)
                lines.append(f"    {reason}" if views else f"  {clean(finding.tenant)}: {reason}")
        lines.append(f"    {clean(cleaning)}")
    return "\n".join([*lines, *unlisted(len(findings))])


def _count_secrets(findings: Sequence[Finding]) -> str:
    counts = Counter(name for finding in findings for name in finding.why.split(", "))
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


def _commands(report: Audit) -> Callable[[Finding], str]:
    """Return a function that gives the command to clean up after a finding."""
    faded = Counter(finding.tenant for finding in report.findings if finding.kind == "faded")

    def command(finding: Finding) -> str:
        memory = "".join(map(shlex.quote, finding.memories[:1]))
        variable = ""
        if finding.kind == "faded":
            unfaded = max(1, report.active[finding.tenant] - faded[finding.tenant])
            variable = f"SLOWWAVE_MAX_ACTIVE={unfaded} "
            cleaning = f"maintain FILE --phase limit --tenant {shlex.quote(finding.tenant)}"
        elif finding.kind in _CLEANING:
            cleaning = _CLEANING[finding.kind]
        elif finding.kind in ("orders", "distrusted"):
            cleaning = f"correct FILE {memory} --retract"
        elif finding.proposal is None:
            cleaning = f"forget FILE {memory}"
        else:
            cleaning = f"undo FILE {finding.proposal[:8]}"
        return with_file(f"{variable}slowwave {cleaning}")

    return command
