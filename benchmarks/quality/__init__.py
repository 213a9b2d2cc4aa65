"""Benchmarks of the quality of decisions."""
