"""The commands `experience` and `shared`."""
