"""Whether a draft says what its sources say, all of it, and nothing else."""
