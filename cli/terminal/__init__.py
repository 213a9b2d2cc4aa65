"""Output, exit codes, signals and progress: what a terminal or a pipe gets and sends."""
