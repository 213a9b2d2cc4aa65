"""A person's yes or no before an agent replaces protected memories, where the client can ask."""

# Annotations are evaluated here: the resolver is a closure.
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

from slowwave.consolidation.agent import AgentMemory
from slowwave.store.errors import StoreError

from .consolidation_tools import ConsolidationTools, ProposalId

# From this version on, a question travels in the answer of a tool.
_WITHOUT_CHANNEL = "2026-07-28"
_DECLINED = "A person declined to replace protected memories: nothing was changed."


class Consent(BaseModel):
    """The answer of a person."""

    replace: bool = Field(description="Whether to replace them; undo restores them.")


def with_consent(memory: AgentMemory, nights: ConsolidationTools) -> Callable[..., dict[str, Any]]:
    """Return consolidate_apply; the client asks a person before protected memories leave."""

    def consent(context: Context, proposal_id: str) -> Consent | Elicit[Consent]:
        leaving = protected_by(proposal_id) if _can_ask(context) else []
        if not leaving:
            return Consent(replace=True)
        return Elicit(f"The agent replaces protected memories: {' | '.join(leaving)}", Consent)

    def protected_by(proposal_id: str) -> list[str]:
        try:
            meant = [each for each in memory.waiting() if each.id.startswith(proposal_id)]
        except StoreError:
            return []  # which applying it reports
        return [
            waiting.memories[memory_id].content
            for waiting in meant
            for memory_id in waiting.kept.proposal.leaving
            if memory_id in waiting.memories and waiting.memories[memory_id].protected
        ]

    def consolidate_apply(
        context: Context,
        proposal_id: ProposalId,
        answer: Annotated[ElicitationResult[Consent], Resolve(consent)],
    ) -> dict[str, Any]:
        if not isinstance(answer, AcceptedElicitation) or not answer.data.replace:
            raise StoreError(
                "A person declined to replace protected memories.", "Nothing was changed."
            )
        return nights.consolidate_apply(context, proposal_id)

    consolidate_apply.__doc__ = nights.consolidate_apply.__doc__
    return consolidate_apply


def _can_ask(context: Context) -> bool:
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return False
    asks_later = (context.protocol_version or "") >= _WITHOUT_CHANNEL
    return asks_later or context.session.can_send_request
