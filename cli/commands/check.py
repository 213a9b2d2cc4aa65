"""slowwave check: whether the file is intact."""

from __future__ import annotations

from dataclasses import asdict

import typer

from slowwave.cli.arguments.options import OutputOptions
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted
from slowwave.store.errors import SAVE_HINT
from slowwave.store.places import Place


def check(place: Place, *, output: OutputOptions) -> None:
    """Check integrity, references, lineage, hashes and vectors of the file."""
    from slowwave.store.check import check_file
    from slowwave.store.file import open_reading

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        health = check_file(opened)
    output.result("check", file=str(place.named), whole=not health.problems, **asdict(health))
    if not health.problems:
        counts = ", ".join(
            (
                counted(health.memories, "memory", "memories"),
                counted(health.embeddings, "embedding"),
                counted(health.edges, "lineage edge"),
            )
        )
        output.show(
            clean(f"{place.named} is intact: schema version {health.schema_version}, {counts}.")
        )
        return
    for problem in health.problems:
        output.show(clean(f"{problem.name}: {problem.detail}"))
    problems = counted(len(health.problems), "problem")
    output.error(f"{place.named} is not intact: {problems}.", SAVE_HINT, Code.UNUSABLE_FILE)
    raise typer.Exit(Code.UNUSABLE_FILE)
