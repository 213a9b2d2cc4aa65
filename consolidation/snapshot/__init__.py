"""The contents of the file, read once, and what earlier nights found out."""
