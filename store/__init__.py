"""The memory file: everything that knows SQLite, and nothing that knows what a memory means.

Public functions take a `MemoryFile` and give plain frozen values. They are the seam behind
which another store could stand; nothing outside this folder sees SQL.
"""
