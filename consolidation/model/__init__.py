"""The optional model."""
