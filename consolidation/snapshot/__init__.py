"""What the file holds, read once, and what earlier nights found out."""
