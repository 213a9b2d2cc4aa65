"""What an organisation learns and shares: experience of tasks, published facts, and a wiki."""
