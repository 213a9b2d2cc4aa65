"""What FILE may be: a memory file, another agent's file, or a database."""
