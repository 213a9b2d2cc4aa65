"""What commands say of their work, for people and for programs."""
