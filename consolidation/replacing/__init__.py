"""A newer value in the place of an older one: which holds, and which conflict."""
