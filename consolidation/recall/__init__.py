"""Finds what a file remembers of a question; superseded texts are keys of what replaced them."""
