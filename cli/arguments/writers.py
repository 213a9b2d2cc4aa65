"""The writer of drafts and the operations of a night, from the options of a command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import typer

from slowwave.cli.terminal.interpreter import shorten_turns_of_threads
from slowwave.consolidation.proposals import OPERATIONS, Operation

if TYPE_CHECKING:
    from slowwave.consolidation.model.calls import Endpoint
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.model.usage_limits import BudgetOwner
    from slowwave.consolidation.writing.writer import Writer


def make_writer(
    model: str | None,
    api_base: str | None,
    checker: str | None,
    concurrency: int,
    limits: tuple[int | None, int | None, float | None, float | None],
    recordings: Recordings | None,
    owner: BudgetOwner | None = None,
) -> Writer:
    """Return the writer: the model that is named or was recorded, or the built-in one.

    limits: the most calls, tokens, USD and seconds. owner: grants them, where several runs share
    them.
    """
    for option, name in (("--model", model), ("--checker", checker)):
        if name is not None and not name.strip():
            raise typer.BadParameter(f"{option} takes the name of a model, not a blank.")
    if model is None and recordings is not None and recordings.recording is not None:
        model = recordings.recording.model
    if model is None:
        from slowwave.consolidation.writing.writer import BuiltInWriter

        return BuiltInWriter()
    from slowwave.consolidation.model.calls import Endpoint
    from slowwave.consolidation.model.usage_limits import UsageLimits
    from slowwave.consolidation.model.writer import ModelWriter

    shorten_turns_of_threads()
    # What is answered from a recording takes nothing but time.
    asks = recordings is None or recordings.asks
    usage = UsageLimits(*limits) if asks else UsageLimits(seconds=limits[-1])
    endpoint = Endpoint(model, api_base)
    checked_by = _checker(checker, endpoint)
    return ModelWriter(endpoint, concurrency, usage, recordings, checked_by, owner)


def _checker(name: str | None, endpoint: Endpoint) -> Endpoint | Literal["same", "none"]:
    """Return who checks; a key or an address is of one provider, and goes to no other."""
    if name is None or name == endpoint.model:
        return "same"
    if name == "none":
        return "none"
    provider = endpoint.model.partition("/")[0]
    at = endpoint.api_base if name.partition("/")[0] == provider else None
    return replace(endpoint, model=name, api_base=at)


def make_recordings(record: Path | None, replay: Path | None, dry_run: bool) -> Recordings | None:
    """Open the files of answers; a dry run asks nothing, and writes to none of them."""
    if record is None and replay is None:
        return None
    from slowwave.consolidation.model.recording import Recordings, open_recordings, read_recording

    if dry_run:
        return Recordings(recording=None if replay is None else read_recording(replay))
    return open_recordings(record, replay)


def operations_of(only: str) -> frozenset[Operation]:
    """Return the operations that are named, with commas between them."""
    chosen = [part.strip() for part in only.split(",")]
    unknown = [part for part in chosen if part not in OPERATIONS]
    if unknown:
        raise typer.BadParameter(
            f"--only takes some of {','.join(OPERATIONS)}, not '{','.join(unknown)}'."
        )
    return frozenset(cast("list[Operation]", chosen))
