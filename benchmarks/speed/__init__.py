"""How fast slowwave is, measured."""
