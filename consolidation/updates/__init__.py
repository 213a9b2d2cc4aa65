"""A newer value for an older one."""
