"""Survey a file, execute its plan, and record the run."""
