"""Tokens, reckoned without a tokenizer: those of a text, and those that asking a model will take.

Every number of tokens that a report shows is this estimate, but for those that a model counted
itself. A budget is kept by it: what is under way counts before it is paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from slowwave.consolidation.proposals import Undecided
from slowwave.consolidation.text.token_count import count_tokens

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Source

# What a model may be asked: to judge pairs, to write one memory of many, to say what others add
# to a memory that stands, to find a rule.
Question = Literal["judge", "synthesize", "grow", "extract"]

# The most pairs in one call. The instructions are then a tenth of a pair's price, more pairs would
# save next to nothing; and what a call that fails takes with it stays small.
MOST_PAIRS = 10


# Measured with o200k_base, a test keeps them true: the instructions, the marks around the
# memories, the schema, and what the roles of the messages take.
TOKENS_OF_INSTRUCTIONS: dict[Question, int] = {
    "judge": 277,
    "synthesize": 300,
    "grow": 334,
    "extract": 240,
}
# Id, date and quotes of a memory; the number of a pair; quotes and ids of a claim.
_TOKENS_A_MEMORY = 18
_TOKENS_A_PAIR = 9
_TOKENS_A_CLAIM = 13
_TOKENS_A_JUDGEMENT = 15
_TOKENS_A_SUPPORTER = 4
_TOKENS_AROUND_AN_ANSWER = 5
_PAIR = 2


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
class Asking:
    """What a model would be asked about everything that no rule can decide."""

    calls: int
    tokens: int


def estimate_writing(question: Question, sources: Sequence[Source]) -> Estimate:
    """Estimate a call about the sources of one proposal; of a memory that grows, with its owner."""
    texts = [count_tokens(source.text) for source in sources]
    prompt = TOKENS_OF_INSTRUCTIONS[question] + sum(texts) + _TOKENS_A_MEMORY * len(texts)
    if question == "extract":
        # One sentence, and who supports it.
        said = sum(texts) // len(texts) + _TOKENS_A_SUPPORTER * len(texts)
    else:
        # The texts again, and where each comes from; what stands already is not said again.
        said = sum(texts) + _TOKENS_A_CLAIM * len(texts)
        said -= texts[0] + _TOKENS_A_CLAIM if question == "grow" else 0
    return Estimate(prompt, said + _TOKENS_AROUND_AN_ANSWER)


def estimate_judging(pairs: Sequence[Sequence[Source]]) -> Estimate:
    """Estimate a call about so many pairs."""
    asked = sum(estimate_pair(pair).prompt for pair in pairs)
    answered = sum(estimate_pair(pair).answer for pair in pairs)
    around = TOKENS_OF_INSTRUCTIONS["judge"]
    return Estimate(around + asked, answered + _TOKENS_AROUND_AN_ANSWER)


def estimate_pair(pair: Sequence[Source]) -> Estimate:
    """Estimate what one pair adds to a call."""
    texts = sum(count_tokens(source.text) for source in pair)
    prompt = texts + _TOKENS_A_MEMORY * len(pair) + _TOKENS_A_PAIR
    return Estimate(prompt, _TOKENS_A_JUDGEMENT)


def shared_by_each(pairs: int) -> int:
    """Give each pair's share of what the calls take beside the pairs."""
    calls = -(-pairs // MOST_PAIRS)
    around = TOKENS_OF_INSTRUCTIONS["judge"] + _TOKENS_AROUND_AN_ANSWER
    return round(calls * around / pairs) if pairs else 0


def estimate_undecided(sources: Sequence[Source]) -> int:
    """Estimate what asking about one group takes: `Undecided.tokens`.

    A pair is judged together with others, so it is counted without its share of the instructions,
    which `estimate_asking` adds; of a larger group one memory is to be written.
    """
    if len(sources) == _PAIR:
        return estimate_pair(sources).total
    return estimate_writing("synthesize", sources).total


def estimate_asking(undecided: Sequence[Undecided]) -> Asking:
    """Estimate the calls and tokens of asking about all groups; a call is about one tenant."""
    pairs = sorted(one.tenant for one in undecided if len(one.sources) == _PAIR)
    judging = sum(-(-len(list(same)) // MOST_PAIRS) for _, same in groupby(pairs))
    around = TOKENS_OF_INSTRUCTIONS["judge"] + _TOKENS_AROUND_AN_ANSWER
    tokens = sum(one.tokens for one in undecided) + judging * around
    return Asking(judging + len(undecided) - len(pairs), tokens)
