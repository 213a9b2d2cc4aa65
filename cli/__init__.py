"""The command line: everything that knows terminals, and nothing that decides."""
