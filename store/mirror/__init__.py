"""An ordinary memory file beside another agent's: filled from that, and written back to it."""
