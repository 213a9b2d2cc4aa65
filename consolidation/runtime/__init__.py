"""What a process needs while it works: threads, interruption, what must not be shown."""
