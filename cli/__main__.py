"""The entry point of the command, also of `python -m slowwave.cli`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Before and after a command listens, Ctrl-C ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _open_what_is_closed()
    from .app import main as run

    run()


def _open_what_is_closed() -> None:
    """Replace closed standard streams, so that no file gets their numbers.

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
