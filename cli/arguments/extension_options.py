"""Options that an extension implements."""

from __future__ import annotations

from typing import Any

import typer

from slowwave.store.extension_points import registered


def worker_of(option: str) -> Any:
    """Return what an extension registers for an option. Raises wrong usage if none does."""
    found = dict(registered("options", option))
    if option not in found:
        raise typer.BadParameter(f"--{option} requires an extension that is not installed.")
    return found[option]
