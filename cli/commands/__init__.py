"""The commands: a module each, and what only one of them needs."""
