"""Measurements of what slowwave decides; `make bench-quality` runs them."""

from slowwave.cli.terminal.interpreter import (
    keep_libraries_quiet,
    shorten_turns_of_threads,
    tune_interpreter,
)

# What is measured here is to be what the command does.
keep_libraries_quiet()
tune_interpreter()
shorten_turns_of_threads()
