"""A memory file as a wiki of Markdown pages."""
