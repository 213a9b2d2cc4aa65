"""Read conversations, check what a model wants to remember of them, and store it."""
