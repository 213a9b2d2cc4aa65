"""What a user writes, read: options, settings, durations, days."""
