"""The Python interface of a memory file: `open_memory` and `AgentMemory`."""

from .memory import AgentMemory as AgentMemory
from .memory import open_memory as open_memory
from .results import Trace as Trace
