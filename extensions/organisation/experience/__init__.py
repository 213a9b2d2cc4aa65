"""Traces of tasks, and the lessons learned from them."""
