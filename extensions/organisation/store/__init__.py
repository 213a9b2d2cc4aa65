"""Facts that a whole organisation shares: their log, and who may write to it."""
