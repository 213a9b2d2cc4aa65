"""slowwave init: a new, empty memory file."""

from __future__ import annotations

from slowwave.cli.arguments.options import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.terminal.output import Output, clean


def init(
    file: FileArgument,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a new, empty memory file."""
    from slowwave.store.file import create_file

    create_file(file)
    output = Output(json, quiet)
    output.result({"command": "init", "file": str(file)})
    output.show(clean(f"Made {file}."))
