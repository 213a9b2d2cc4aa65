"""Measure recall before and after a night, on a copy of the file."""
