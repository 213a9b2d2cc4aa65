"""Conversations that other programs recorded, read into messages."""
