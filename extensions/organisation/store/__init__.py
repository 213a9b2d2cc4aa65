"""Facts that a whole organization shares: their log, and who may write to it."""
