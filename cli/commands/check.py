"""slowwave check: whether the file is whole."""

from __future__ import annotations

import typer

from slowwave.cli.arguments.options import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.files.places import on_place
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import counted
from slowwave.store.places import Place


@on_place
def check(
    file: FileArgument,
    place: Place,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check whether the file is whole.

    Integrity, references, lineage, hashes, vectors.
    """
    from slowwave.store.check import check_file
    from slowwave.store.file import open_reading

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        health = check_file(opened)
    output = Output(json, quiet)
    output.result(
        {
            "command": "check",
            "file": str(file),
            "whole": not health.problems,
            "schema_version": health.schema_version,
            "memories": health.memories,
            "embeddings": health.embeddings,
            "edges": health.edges,
            "problems": [{"name": one.name, "detail": one.detail} for one in health.problems],
        }
    )
    if not health.problems:
        output.show(
            clean(
                f"{file} is whole: schema version {health.schema_version}, "
                f"{counted(health.memories, 'memory', 'memories')}, "
                f"{counted(health.embeddings, 'embedding', 'embeddings')}, "
                f"{counted(health.edges, 'edge', 'edges')} of lineage."
            )
        )
        return
    for problem in health.problems:
        output.show(clean(f"{problem.name}: {problem.detail}"))
    count = len(health.problems)
    output.note(clean(f"{file} is not whole: {count} problem{'s' if count > 1 else ''}."))
    raise typer.Exit(Code.UNUSABLE_FILE)
