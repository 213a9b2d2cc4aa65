"""A model, asked through litellm, and believed nothing."""
