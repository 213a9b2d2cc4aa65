"""A memory file in an agent's own program: one import, `AgentMemory`, which says the rest."""

from .memory import AgentMemory as AgentMemory
from .memory import Trace as Trace
