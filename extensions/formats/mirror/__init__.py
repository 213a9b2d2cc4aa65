"""An ordinary memory file that mirrors another agent's file in both directions."""
