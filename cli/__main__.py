"""The entry point of the command, also of `python -m slowwave.cli`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Before and after a command handles signals, Ctrl-C ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Closed standard streams are replaced, or a file opened later would get their descriptors:
    # stdin is empty, writing to stdout fails, and stderr discards.
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))
    from .app import main as run

    run()


if __name__ == "__main__":
    main()
