"""One look at the file, its plan carried out row by row, and how a run ends."""
