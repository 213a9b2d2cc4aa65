"""The Python interface of a memory file: `AgentMemory`."""

from .memory import AgentMemory as AgentMemory
from .results import Trace as Trace
