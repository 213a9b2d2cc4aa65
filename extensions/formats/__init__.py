"""Memory files of other agents: how each is read, and how a change is written into it."""
