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
        return None if text is None else timestamp_of(text, time_of_day)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{option} takes a day or a time (2026-03-31, 2026-03-31T18:00+02:00), not '{text}'."
        ) from None
