"""Undo: what a run did, taken back to the bit, or what stands in the way."""
