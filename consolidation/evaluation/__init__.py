"""Measures what a file finds before and after a night, on a copy, before anything is written."""
