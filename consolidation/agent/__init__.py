"""The Python interface of a memory file: `open_memory` and `AgentMemory`."""

from pathlib import Path

from slowwave.store.lineage import Trace as Trace

from .memory import AgentMemory as AgentMemory


def open_memory(path: Path | str, tenant: str = "default") -> AgentMemory:
    """Return the memory of a file, which is created if it does not exist. Raises `StoreError`."""
    return AgentMemory(path, tenant).__enter__()
