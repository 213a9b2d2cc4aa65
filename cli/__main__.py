"""The command as a process; `python -m slowwave.cli` is it, too."""

from __future__ import annotations

import gc
import signal


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Before and after a command listens, Ctrl-C ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A night makes much and lets little go: to search all of it for garbage so often takes a part
    # of a dry run.
    gc.set_threshold(100_000, 20, 100)
    from .app import main as run

    run()


if __name__ == "__main__":
    main()
