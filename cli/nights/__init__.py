"""The night of one file or of several, as `slowwave maintain` runs it."""
