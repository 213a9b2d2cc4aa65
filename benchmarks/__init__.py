"""Benchmarks of quality, speed, recall and fleets; see the targets in the Makefile."""

from slowwave.cli.terminal.interpreter import (
    keep_libraries_quiet,
    shorten_turns_of_threads,
    tune_interpreter,
)

# Measure what the command does.
keep_libraries_quiet()
tune_interpreter()
shorten_turns_of_threads()
