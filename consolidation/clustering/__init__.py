"""Group near vectors."""
