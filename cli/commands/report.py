"""slowwave report: what a run did, as a page or as Markdown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.options import (
    ConfigOption,
    FileArgument,
    HtmlOption,
    JsonOption,
    QuietOption,
)
from slowwave.cli.files.places import on_place
from slowwave.cli.pages.report_file import STDOUT, refuse_unwritable, write_report
from slowwave.cli.terminal.output import Output, clean
from slowwave.store.places import Place


@on_place
def report(
    file: FileArgument,
    place: Place,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="Its id, or the start of it; by default the last one."
        ),
    ] = None,
    html: HtmlOption = None,
    md: Annotated[
        Path | None,
        typer.Option(
            "--md", metavar="PATH", help="As Markdown for a mail or a comment; - for stdout."
        ),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write what a run did as one HTML page that needs no network, or as Markdown, or both.

    Conflicts are those that stand in the file now, looked for where that is a matter of seconds. An
    earlier report is replaced, nothing else.
    """
    paths = [one for one in (html, md) if one is not None]
    if not paths:
        raise typer.BadParameter("Say where to: --html PATH, --md PATH or both.")
    if paths.count(STDOUT) > 1 or (json and STDOUT in paths):
        raise typer.BadParameter("Only one thing can be written to stdout.")
    for path in paths:
        refuse_unwritable(path)
    from slowwave.cli.pages.account_reading import account_of_run, with_current_conflicts
    from slowwave.cli.pages.markdown import as_markdown
    from slowwave.cli.pages.page import as_page
    from slowwave.store.records import timestamp

    with place.reading() as memory_file:
        account = account_of_run(memory_file, file, run)
        account = with_current_conflicts(account, memory_file, timestamp(datetime.now(UTC)))
        if html is not None:
            write_report(html, as_page(account, memory_file), file)
        if md is not None:
            write_report(md, as_markdown(account), file)
    output = Output(json, quiet or STDOUT in paths)
    written = [str(one) for one in paths if one != STDOUT]
    output.result({"command": "report", "file": str(file), "run": account.run, "written": written})
    output.show(clean(f"Written: {', '.join(written)}"))
