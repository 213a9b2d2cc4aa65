"""Nights on files: `slowwave maintain`, and the rounds of `questions`, `answer` and `dream`."""
