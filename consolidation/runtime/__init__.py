"""Threads, interruption, and redaction of secrets."""
