"""Decay, expiry and archiving of memories."""
