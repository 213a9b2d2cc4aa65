"""The memory file: all code that knows SQLite, and none that knows what memories mean.

Public functions take a `MemoryFile` and return frozen values. All SQL of the core is here;
extensions have their own.
"""
