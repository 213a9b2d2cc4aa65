"""One text, read once: words, values, names, marks."""
