"""From what lies near each other to proposals: one module per operation."""
