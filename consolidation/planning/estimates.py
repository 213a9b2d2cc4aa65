"""Tokens, reckoned without a tokenizer: those of a text, and those that asking a model will take.

Every number of tokens that a report shows is this estimate, but for those that a model counted
itself. A budget is kept by it: what is under way counts before it is paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.consolidation.proposals import Undecided
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.thresholds import ANSWERED_SHARE, WINDOW_TOKENS

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Source

# Measured with o200k_base, a test keeps it true: the instructions, the marks around the memories,
# the schema, and what the roles of the messages take.
TOKENS_OF_INSTRUCTIONS = 1_167
# Id and quotes of a memory, and its share of the line with its day.
TOKENS_A_MEMORY = 6
# What asking once more about groups adds; names, brackets and ids of one of them.
_TOKENS_OF_ANOTHER_TRY = 94
_TOKENS_A_GROUP = 38
# The same for a second opinion, and what is said of one item.
TOKENS_OF_OPINIONS = 601
_TOKENS_AN_OPINION = 24
# What comes behind the questions about windows, second opinions and repairs, had nights with known
# answers take 2.3 to 3.2 times as much as these alone (benchmarks.quality.life --knowing).
FOLLOW_UPS = 3
# Its id in an answer.
_TOKENS_AN_ID = 4
_TOKENS_AROUND_AN_ANSWER = 5


@dataclass(frozen=True)
class Estimate:
    """What one call will take."""

    prompt: int
    answer: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.answer


@dataclass(frozen=True)
class AskingEstimate:
    """What a model would be asked about everything that no guard can decide."""

    calls: int
    tokens: int


def estimate_window(sources: Sequence[Source]) -> Estimate:
    """Estimate a call about memories that are shown together."""
    texts = sum(count_tokens(source.text) for source in sources)
    shown = texts + TOKENS_A_MEMORY * len(sources)
    said = round(ANSWERED_SHARE * texts) + _TOKENS_AN_ID * len(sources)
    return Estimate(TOKENS_OF_INSTRUCTIONS + shown, said + _TOKENS_AROUND_AN_ANSWER)


def estimate_again(sources: Sequence[Source], groups: int, texts: Sequence[str]) -> Estimate:
    """Estimate a call about so many groups of an earlier answer; texts: claims and faults."""
    first = estimate_window(sources)
    more = _TOKENS_OF_ANOTHER_TRY + _TOKENS_A_GROUP * groups + sum(map(count_tokens, texts))
    return Estimate(first.prompt + more, first.answer)


def estimate_opinions(shown: str, items: int) -> Estimate:
    """Estimate a call for second opinions on so many sentences; shown: all that is said of them."""
    said = _TOKENS_AN_OPINION * items + _TOKENS_AROUND_AN_ANSWER
    return Estimate(TOKENS_OF_OPINIONS + count_tokens(shown), said)


def estimate_undecided(sources: Sequence[Source]) -> int:
    """Estimate what one group adds to a call, besides the instructions: `Undecided.tokens`."""
    return estimate_window(sources).total - TOKENS_OF_INSTRUCTIONS


def estimate_asking(undecided: Sequence[Undecided]) -> AskingEstimate:
    """Estimate the calls and tokens of asking about all groups; a call is about one tenant.

    A model is shown what is near them, too: it is at least so much.
    """
    by_tenant: dict[str, int] = {}
    for one in undecided:
        by_tenant[one.tenant] = by_tenant.get(one.tenant, 0) + one.tokens
    calls = sum(-(-tokens // WINDOW_TOKENS) for tokens in by_tenant.values())
    return AskingEstimate(calls, sum(by_tenant.values()) + calls * TOKENS_OF_INSTRUCTIONS)
