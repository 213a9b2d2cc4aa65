"""Days and moments as a user writes them."""

from __future__ import annotations

from datetime import UTC, datetime, time

import typer


def start_of(text: str | None, option: str) -> str | None:
    """Return the moment of a text, a day's first one, as the file writes it."""
    return _moment(text, option, time.min)


def end_of(text: str | None, option: str) -> str | None:
    """Return the moment of a text, a day's last one, as the file writes it."""
    return _moment(text, option, time.max)


def _moment(text: str | None, option: str, of_a_day: time) -> str | None:
    from slowwave.store.records import timestamp

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if len(text.strip()) <= len("2026-01-01"):
            moment = datetime.combine(moment.date(), of_a_day)
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{option} takes a day or a moment (2026-03-31, 2026-03-31T18:00+02:00), not '{text}'."
        ) from None
