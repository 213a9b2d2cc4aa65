"""So that `python -m slowwave.cli` is the command, too."""

from .app import main

main()
