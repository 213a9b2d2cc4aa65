"""One night for each of many memory files: engine-agnostic, with receipts read from the files."""
