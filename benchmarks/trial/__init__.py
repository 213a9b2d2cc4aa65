"""A night with a real, very small model, as a user would run it; `make trial-model` runs it."""
