"""The Python interface of a memory file: `open_memory` and `AgentMemory`."""

from pathlib import Path

from .memory import AgentMemory as AgentMemory
from .memory import Trace as Trace


def open_memory(path: Path | str, tenant: str = "default") -> AgentMemory:
    """Return the memory of a file, which is created if it does not exist. Raises `StoreError`."""
    return AgentMemory(path, tenant).__enter__()
