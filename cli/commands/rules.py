"""slowwave rules: what recurs, as lines for AGENTS.md, CLAUDE.md or a skill."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

from slowwave.cli.arguments.options import FileArgument, OutputOptions, TenantsOption, per_call
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted, day_of
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.lineage import trace_sources
from slowwave.store.memories import read_active, read_memories, select_tenants
from slowwave.store.places import place_of
from slowwave.store.records import Memory, json_text, timestamp
from slowwave.store.witnesses import read_witnesses

RulesFormat = Literal["agents-md", "claude-md", "skill"]
# What Claude Code reads as the name of a file to import.
_IMPORT = re.compile(r"(?<!\w)@")
_SKILL = "---\nname: recurring-rules\ndescription: {}\n---\n"
_ABOUT = "Rules and patterns that recur in the memories of {}. Read before work on what they name."


@dataclass(frozen=True)
class CoreRule:
    """A memory of layer `core` and the observed memories that it was derived from."""

    memory: Memory
    # (id, day) of each, the earliest first; () for a rule that somebody stored as such.
    evidence: tuple[tuple[str, str], ...]

    @property
    def days(self) -> int:
        """On how many days it was said."""
        return len({day for _, day in self.evidence})


def rules(
    file: FileArgument,
    # Not the format of FILE, as in other commands: that is recognized.
    form: Annotated[
        RulesFormat, per_call("--format", help="Where the lines will be pasted.")
    ] = "agents-md",
    tenant: TenantsOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Print recurring rules and patterns, formatted for AGENTS.md, CLAUDE.md or a skill.

    These are the memories in the core layer, each with a comment that lists its supporting
    memories. No file is written: copy the lines that you want.
    """
    place = place_of(file, None, None)
    with place.reading() as memory_file:
        now = timestamp(datetime.now(UTC))
        core_rules, suspicious = _read_rules(memory_file, tuple(tenant or ()), now)
    left_out = [memory.id for memory in suspicious]
    output.result("rules", file=str(file), rules=_as_json(core_rules), left_out=left_out)
    if core_rules:
        output.show(_as_text(core_rules, form, file))
    else:
        note = (
            f"{file} contains no rules: no active memory is in the core layer. A run with a model "
            "derives them from what recurs: slowwave maintain FILE --model NAME."
        )
        if place.is_memory_file:
            note += " To add one yourself: slowwave add FILE TEXT --layer core"
        output.note(note)
    if suspicious:
        count = counted(len(suspicious), "memory", "memories")
        ids = ", ".join(left_out)
        output.note(
            f"Omitted: {count} with instructions to the reader ({ids}): slowwave audit FILE"
        )


def _read_rules(
    path: Path, tenants: Sequence[str], now: str
) -> tuple[list[CoreRule], list[Memory]]:
    """Return the rules by tenant, most evidence first, and those with instructions to their reader.

    tenants: () means all. Raises `StoreError`.
    """
    from slowwave.consolidation.text.injection import commands

    rules: list[CoreRule] = []
    suspicious: list[Memory] = []
    with open_reading(path) as file:
        for tenant in select_tenants(file, tenants):
            purged = read_witnesses(file, tenant)
            tenant_rules = []
            for memory in read_active(file, tenant, now):
                if memory.layer != "core":
                    continue
                if commands(memory.content):
                    suspicious.append(memory)
                else:
                    tenant_rules.append(CoreRule(memory, _read_evidence(file, memory.id, purged)))
            rules += sorted(tenant_rules, key=lambda rule: (-len(rule.evidence), rule.memory.id))
    return rules, suspicious


def _read_evidence(
    file: MemoryFile, memory_id: str, purged: Iterable[Memory]
) -> tuple[tuple[str, str], ...]:
    steps = trace_sources(file, memory_id).steps
    sources = {source.id for step in steps.values() for source in step}
    memories = [*read_memories(file, sorted(sources)), *purged]
    observed = (memory for memory in memories if memory.id in sources and memory.generation == 0)
    return tuple(
        (memory.id, memory.observed_at[:10])
        for memory in sorted(observed, key=lambda memory: (memory.observed_at, memory.id))
    )


def _as_json(rules: Sequence[CoreRule]) -> list[dict[str, Any]]:
    """Return each rule with its evidence."""
    return [
        {
            "id": rule.memory.id,
            "tenant": rule.memory.tenant,
            "kind": rule.memory.kind,
            "origin": rule.memory.origin,
            "text": rule.memory.content,
            "days": rule.days,
            "evidence": [{"id": memory_id, "day": day} for memory_id, day in rule.evidence],
        }
        for rule in rules
    ]


def _as_text(rules: Sequence[CoreRule], form: RulesFormat, file: Path) -> str:
    """Return the rules as Markdown; of several tenants, each below its name."""
    lines = [_SKILL.format(json_text(_ABOUT.format(file.stem)))] if form == "skill" else []
    by_tenant = [
        (tenant, list(group))
        for tenant, group in groupby(rules, key=lambda rule: rule.memory.tenant)
    ]
    for tenant, group in by_tenant:
        if len(by_tenant) > 1:
            lines += [f"## {clean(tenant)}", ""]
        for rule in group:
            lines += _lines(rule, form)
        lines.append("")
    return "\n".join(lines).rstrip("\n")


def _lines(rule: CoreRule, form: RulesFormat) -> Iterator[str]:
    """Yield a rule and its evidence, which is a comment: no agent needs it."""
    # A rule must not open a comment that hides the next ones.
    text = clean(rule.memory.content).replace("<!--", "&lt;!--")
    evidence = f"<!-- {_evidence(rule).replace('>', '&gt;')} -->"
    if form == "claude-md":
        # Claude Code omits comments that are lines of their own.
        yield evidence
        yield f"- {_IMPORT.sub('&#64;', text)}"
    else:
        yield f"- {text} {evidence}"


def _evidence(rule: CoreRule) -> str:
    memory = rule.memory
    if not rule.evidence:
        day = day_of(memory.observed_at)
        return clean(f"{memory.id}: stated by {memory.origin} {day and f'on {day}'}".rstrip())
    memories = counted(len(rule.evidence), "memory", "memories")
    days = counted(rule.days, "day")
    ids = ", ".join(memory_id for memory_id, _ in rule.evidence)
    return clean(f"{memory.id}: {memories} on {days}: {ids}")
