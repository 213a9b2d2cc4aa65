"""How a fleet's night goes on each engine: the same proposals, and what an engine costs a file."""
