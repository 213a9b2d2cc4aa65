"""What a program can look up in a text."""
