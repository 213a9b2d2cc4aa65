"""What a text says that must not be confused, read by rules."""
