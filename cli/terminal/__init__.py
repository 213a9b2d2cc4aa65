"""What goes to a terminal or a pipe and comes from it: output, exit codes, signals, progress."""
