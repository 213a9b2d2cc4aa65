"""Traces of tasks, and what was learned from them."""
