"""Memories from conversations: what is read, what is believed, and what comes of it."""
