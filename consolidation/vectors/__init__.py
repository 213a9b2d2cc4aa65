"""Embed texts."""
