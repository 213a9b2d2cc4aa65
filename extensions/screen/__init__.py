"""The screen of `slowwave review --tui`: the pending proposals, and keys to decide on them."""
