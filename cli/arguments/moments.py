"""Days and times as a user writes them."""

from __future__ import annotations

from datetime import time

import typer


def start_of(text: str | None, option: str) -> str | None:
    """Return a time, or the start of a day, in the form of the file. Raises wrong usage."""
    return _moment(text, option, time.min)


def end_of(text: str | None, option: str) -> str | None:
    """Return a time, or the end of a day, in the form of the file. Raises wrong usage."""
    return _moment(text, option, time.max)


def _moment(text: str | None, option: str, time_of_day: time) -> str | None:
    from slowwave.store.records import timestamp_of

    try:
        return None if text is None else timestamp_of(text, time_of_day, option)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
