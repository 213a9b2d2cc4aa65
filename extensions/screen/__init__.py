"""The screen of `slowwave review --tui`: what waits, and keys to decide about it."""
