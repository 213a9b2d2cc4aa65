"""Measurements of what slowwave decides; `make bench-quality` runs them."""
