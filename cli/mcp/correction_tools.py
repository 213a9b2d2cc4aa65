"""The tools of the MCP server with which an agent corrects, pins and retracts single memories."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from slowwave.cli.views.correction import correction_as_json
from slowwave.consolidation.agent import AgentMemory

from .answers import mark
from .tools import MemoryId


class CorrectionTools:
    """An agent's word on single memories; it changes none that is human, pinned or core."""

    def __init__(self, memory: AgentMemory) -> None:
        """Serve the memories of a file."""
        self._memory = memory

    def correct(
        self,
        memory_id: MemoryId,
        text: Annotated[str, Field(min_length=1, description="What is right, as one memory.")],
        supersedes: Annotated[
            list[str] | None, Field(description="The ids of more memories that it replaces.")
        ] = None,
    ) -> dict[str, Any]:
        """Supersede a wrong or outdated memory by a new one. undo reverts the run.

        left: the superseded memories, copies of them included. derived: the active memories that
        were derived from them; correct these too if they repeat what was wrong. secrets: the kinds
        of secret in the text, which is stored as it is. Memories that are human, pinned or core are
        refused: ask the user.
        """
        done = self._memory.correct(memory_id, text, supersedes=supersedes or ())
        return correction_as_json(done) | mark(text)

    def pin(self, memory_id: MemoryId) -> dict[str, Any]:
        """Pin a memory, so that no run supersedes, expires or archives it. undo reverts the run."""
        return correction_as_json(self._memory.pin(memory_id))

    def retract(self, memory_id: MemoryId) -> dict[str, Any]:
        """Archive a memory that is wrong, and that nothing replaces. undo reverts the run.

        left: the memory, and copies of it. derived: the active memories that were derived from it.
        Memories that are human, pinned or core are refused: ask the user.
        """
        return correction_as_json(self._memory.retract(memory_id))
