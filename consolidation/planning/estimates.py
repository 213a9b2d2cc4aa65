"""Estimate the tokens of questions to a model, without a tokenizer.

All numbers of tokens in reports are such estimates, except for those that a model counted. Budgets
are kept by them: pending calls count before they are paid for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.text.tokens import count_tokens
from slowwave.consolidation.thresholds import ANSWERED_SHARE

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Source

# Measured with o200k_base, and kept valid by a test: the prompt, the marks around the memories, the
# schema, and the roles of the messages.
TOKENS_OF_WRITING = 1_173
TOKENS_OF_CHECKING = 785
# What is added where notes are shown.
TOKENS_OF_NOTES = 168
# Id and quotes of a memory, and its share of the line with its day.
TOKENS_A_MEMORY = 6
# The prompt of a repair, and the keys of one group.
_TOKENS_OF_REPAIR = 110
_TOKENS_A_GROUP = 38
# The answer about one draft.
_TOKENS_A_CHECK = 30
# Its id in an answer.
_TOKENS_AN_ID = 4
_TOKENS_AROUND_AN_ANSWER = 10
_MARKS = re.compile(r'[{}\[\]":,]{2,}')
# Checking reads the sources and the draft once more; some windows are repaired.
FOLLOW_UPS = 2.5


@dataclass(frozen=True)
class Estimate:
    """The estimated tokens of one call."""

    prompt: int
    answer: int

    @property
    def total(self) -> int:
        """Their sum."""
        return self.prompt + self.answer


def estimate_window(sources: Sequence[Source]) -> Estimate:
    """Estimate a call about memories that are shown together."""
    has_notes = any(source.is_note for source in sources)
    return estimate_texts([source.text for source in sources], has_notes)


def estimate_texts(texts: Sequence[str], has_notes: bool) -> Estimate:
    """Estimate a call about the texts of memories."""
    tokens = sum(map(count_tokens, texts))
    shown = tokens + TOKENS_A_MEMORY * len(texts)
    answer = round(ANSWERED_SHARE * tokens) + _TOKENS_AN_ID * len(texts)
    if has_notes:
        shown += TOKENS_OF_NOTES
    return Estimate(TOKENS_OF_WRITING + shown, answer + _TOKENS_AROUND_AN_ANSWER)


def estimate_repair(sources: Sequence[Source], groups: Sequence[Mapping[str, Any]]) -> Estimate:
    """Estimate a call about groups of an earlier answer, each with its text and faults."""
    first = estimate_window(sources)
    texts = [text for group in groups for text in (group["text"], *group["faults"])]
    more = _TOKENS_OF_REPAIR + _TOKENS_A_GROUP * len(groups) + sum(map(count_tokens, texts))
    return Estimate(first.prompt + more, first.answer)


def estimate_check(shown: str, drafts: int) -> Estimate:
    """Estimate a call that checks drafts; shown: all that is shown of them."""
    answer = _TOKENS_A_CHECK * drafts + _TOKENS_AROUND_AN_ANSWER
    # The marks of JSON between two words are one token.
    return Estimate(TOKENS_OF_CHECKING + count_tokens(_MARKS.sub('"', shown)), answer)
