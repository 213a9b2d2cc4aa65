"""Many memory files: where they lie, what was last seen of each, and the receipts of nights."""
