"""slowwave report: what a run did, as a page or as Markdown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.settings import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.files.foreign import FormatOption, StateOption, place_of
from slowwave.cli.pages.report_file import STDOUT, refuse_unwritable, write_report
from slowwave.cli.terminal.output import Output, clean

if TYPE_CHECKING:
    from slowwave.cli.pages.account import Account

# What a name ends with, and which form the report has then.
SUFFIXES = {".html": "page", ".htm": "page", ".md": "Markdown"}


def report(
    file: FileArgument,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="Its id, or the start of it; by default the last one."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="PATH", help="As a page for a browser; - for stdout."),
    ] = None,
    md: Annotated[
        Path | None,
        typer.Option(
            "--md", metavar="PATH", help="As Markdown for a mail or a comment; - for stdout."
        ),
    ] = None,
    format: FormatOption = None,
    state: StateOption = None,
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
    from slowwave.store.records import timestamp

    with place_of(file, format, state, writes=False).reading() as memory_file:
        account = account_of_run(memory_file, file, run)
        account = with_current_conflicts(account, memory_file, timestamp(datetime.now(UTC)))
        if html is not None:
            write_report(html, _page(account, memory_file), file)
        if md is not None:
            write_report(md, _markdown(account), file)
    output = Output(json, quiet or STDOUT in paths)
    written = [str(one) for one in paths if one != STDOUT]
    output.result({"command": "report", "file": str(file), "run": account.run, "written": written})
    output.show(clean(f"Written: {', '.join(written)}"))


def report_of(account: Account, path: Path, memory_file: Path) -> str:
    """Return a report in the form that the name of its file asks for."""
    return _page(account, memory_file) if is_page(path) else _markdown(account)


def is_page(path: Path) -> bool:
    """Whether a report of this name is a page. Raises wrong usage for any other ending."""
    form = SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise typer.BadParameter(f"--report takes a name that ends in .html or .md, not '{path}'.")
    return form == "page"


def _page(account: Account, memory_file: Path) -> str:
    from slowwave.cli.pages.page import as_page

    return as_page(account, memory_file)


def _markdown(account: Account) -> str:
    from slowwave.cli.pages.markdown import as_markdown

    return as_markdown(account)
