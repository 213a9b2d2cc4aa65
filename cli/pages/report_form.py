"""The form of a report: a page or Markdown, as the name of its file asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from .account import Account

# What a name ends with, and whether the report is a page then.
_IS_PAGE = {".html": True, ".htm": True, ".md": False}


def report_of(account: Account, path: Path, memory_file: Path) -> str:
    """Return a report in the form that the name of its file asks for."""
    from .markdown import as_markdown
    from .page import as_page

    return as_page(account, memory_file) if is_page(path) else as_markdown(account)


def is_page(path: Path) -> bool:
    """Whether a report of this name is a page. Raises wrong usage for any other ending."""
    form = _IS_PAGE.get(path.suffix.lower())
    if form is None:
        raise typer.BadParameter(f"--report takes a name that ends in .html or .md, not '{path}'.")
    return form
