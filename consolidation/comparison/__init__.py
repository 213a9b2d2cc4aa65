"""Two readings, compared once: what tells them apart, and whether one says what the other says."""
