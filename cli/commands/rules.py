"""slowwave rules: what recurs, as lines for AGENTS.md, CLAUDE.md or a skill."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from slowwave.cli.arguments.options import FileArgument, OutputOptions, TenantsOption, per_call
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.rules import RulesFormat, rules_as_json, rules_as_text
from slowwave.store.places import place_of
from slowwave.store.records import timestamp


def rules(
    file: FileArgument,
    # Not the format of FILE, as in other commands: that is recognized.
    form: Annotated[
        RulesFormat, per_call("--format", help="What the lines are for.")
    ] = "agents-md",
    tenant: TenantsOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Print the rules and patterns that recur as lines for AGENTS.md, CLAUDE.md or a skill.

    These are the memories in the core layer, each with a comment that lists its supporting
    memories. No file is written: copy the lines that you want.
    """
    from slowwave.consolidation.reports.core_rules import read_core_rules

    place = place_of(file, None, None)
    with place.reading() as memory_file:
        now = timestamp(datetime.now(UTC))
        found, suspicious = read_core_rules(memory_file, tuple(tenant or ()), now)
    left_out = [memory.id for memory in suspicious]
    output.result("rules", file=str(file), rules=rules_as_json(found), left_out=left_out)
    if found:
        output.show(rules_as_text(found, form, file))
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
