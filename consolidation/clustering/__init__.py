"""Vectors to groups."""
