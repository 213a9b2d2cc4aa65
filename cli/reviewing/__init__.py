"""What a person decides about proposals that wait."""
