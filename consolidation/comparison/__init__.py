"""Two texts, compared: what one of them says of what the other says."""
