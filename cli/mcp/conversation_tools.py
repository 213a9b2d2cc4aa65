"""The tool of the MCP server that takes memories from a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from slowwave.cli.views.ingest import as_json, conversation_as_json
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.agent.conversing import EVERY
from slowwave.consolidation.writing.writer import Writer

from .answers import suspicious
from .consolidation_tools import reported_progress


class SaidMessage(BaseModel):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: str
    at: str | None = Field(None, description="When it was said, in ISO 8601. Default: now.")
    id: str | None = Field(None, description="Its id: a known one is skipped.")


class ConversationTools:
    """What an agent can call about its conversations."""

    def __init__(self, memory: AgentMemory, writer_of: Callable[[], Writer]) -> None:
        """Serve the memories of a file. writer_of: creates the writer of a reading."""
        self._memory = memory
        self._writer_of = writer_of

    def ingest(
        self,
        context: Context,
        messages: Annotated[
            list[SaidMessage], Field(description="The next messages, or all so far, oldest first.")
        ],
        conversation: Annotated[
            str, Field(min_length=1, description="Its id, the same in each call.")
        ],
        every: Annotated[
            int, Field(ge=1, description="After how many turns of user and assistant it is read.")
        ] = EVERY,
        read_now: Annotated[
            bool,
            Field(description="Read all that is unread: at its end, or after a completed action."),
        ] = False,
    ) -> dict[str, Any]:
        """Store messages of a conversation at once, and extract memories from it from time to time.

        No message is read twice, and those that the conversation already ends with are skipped.
        read: the memories that were stored, or known already, with the messages that they come
        from; null if it was not read now. If the server has no model, the messages are queued:
        consolidation_questions asks you about what was read_now, or is due.
        """
        talk = self._memory.conversation(conversation, every, writer_of=self._writer_of)
        passed = [message.model_dump(exclude_none=True) for message in messages]
        kept = talk.keep(passed, can_repeat=True)
        outcome = None
        if read_now or talk.is_due(kept):
            with reported_progress(context) as progress:
                outcome = talk.read(progress)
        remembered = [] if outcome is None else outcome.remembered
        texts = {result.memory or "": result.content for result in remembered}
        return {
            "conversation": conversation_as_json(kept.cut),
            "unread_turns": kept.turns,
            "read": None if outcome is None else as_json(outcome, self._writer_of()),
            "tries_to_command": suspicious(texts),
        }
