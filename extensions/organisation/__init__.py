"""What an organization learns and shares: experience of tasks, published facts, and a wiki."""
