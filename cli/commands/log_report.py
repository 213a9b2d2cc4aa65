"""`slowwave log --html` and `--md`: what a run did, as a page or as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.arguments.options import HtmlOption
from slowwave.cli.pages.report_file import STDOUT, refuse_unwritable, write_report
from slowwave.cli.terminal.output import Output, clean
from slowwave.store.places import Place


@dataclass(frozen=True)
class ReportOptions:
    """Where a run is reported to."""

    html: HtmlOption = None
    md: Annotated[
        Path | None,
        typer.Option(
            "--md", metavar="PATH", allow_from_autoenv=False, help="Write Markdown. - for stdout."
        ),
    ] = None

    @property
    def paths(self) -> list[Path]:
        """Return the paths that are named."""
        return [path for path in (self.html, self.md) if path is not None]


def write_reports(place: Place, run: str | None, to: ReportOptions, output: Output) -> None:
    """Write what a run did as an HTML page that needs no network, as Markdown, or as both.

    Conflicts are the current ones, where finding them takes seconds. An earlier report is replaced,
    and no other file. Raises `StoreError`.
    """
    if to.paths.count(STDOUT) > 1 or (output.json and STDOUT in to.paths):
        raise typer.BadParameter("Only one thing can be written to stdout.")
    for path in to.paths:
        refuse_unwritable(path)
    from slowwave.cli.pages.account_reading import account_of_run, with_current_conflicts
    from slowwave.cli.pages.markdown import as_markdown
    from slowwave.cli.pages.page import as_page
    from slowwave.store.records import timestamp

    with place.reading() as memory_file:
        account = account_of_run(memory_file, place.named, run)
        account = with_current_conflicts(account, memory_file, timestamp(datetime.now(UTC)))
        if to.html is not None:
            write_report(to.html, as_page(account, memory_file), place.named)
        if to.md is not None:
            write_report(to.md, as_markdown(account), place.named)
    written = [str(path) for path in to.paths if path != STDOUT]
    about = {"command": "report", "file": str(place.named), "run": account.run}
    output.result(about | {"written": written})
    if STDOUT not in to.paths:
        output.show(clean(f"Written: {', '.join(written)}"))
