"""Undo: restore what a run changed bit for bit, or name the obstacles."""
