"""A memory file in an agent's own program: one import, `AgentMemory`, which says the rest."""

from .found import Trace as Trace
from .memory import AgentMemory as AgentMemory
