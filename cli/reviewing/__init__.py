"""What a person decides about pending proposals."""
