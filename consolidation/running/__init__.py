"""A plan to rows, and how a run ends."""
