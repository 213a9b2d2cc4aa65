"""The memory file: all code that knows SQLite, and none that knows what memories mean.

Public functions take a `MemoryFile` and return frozen values. Another store could implement them;
no SQL is outside this folder.
"""
