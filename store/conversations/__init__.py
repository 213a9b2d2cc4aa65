"""Conversations as other programs write them down, read into messages."""
