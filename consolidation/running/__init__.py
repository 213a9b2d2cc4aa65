"""One look at the file, its plan applied row by row, and how a run ends."""
