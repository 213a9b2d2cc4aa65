"""The command as a process; `python -m slowwave.cli` is it, too."""

from __future__ import annotations

import gc
import os
import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Before and after a command listens, Ctrl-C ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A night makes much and lets little go: to search all of it for garbage so often takes a part
    # of a dry run.
    gc.set_threshold(100_000, 20, 100)
    _open_what_is_closed()
    from .app import main as run

    run()


def _open_what_is_closed() -> None:
    """Put something in the place of closed standard streams: no file is to get their numbers.

    Nothing is read from stdin then, stdout refuses what is written to it, stderr drops it.
    """
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))


if __name__ == "__main__":
    main()
