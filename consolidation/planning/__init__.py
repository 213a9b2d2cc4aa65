"""From a file to the plan of a run."""
