"""Measurements of what slowwave decides; `make bench-quality` runs them."""

from slowwave.cli.interpreter import prepare_process

# What is measured here is to be what the command does.
prepare_process()
