"""Errors and hints for an agent, which has tools and no shell."""

from __future__ import annotations

import re

from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.store.errors import SlowwaveError

# What only commands do for a person, and tools for an agent.
WORDING = {
    "'slowwave log FILE' lists the runs, 'slowwave log FILE RUN' the proposals of a run.": (
        "memory_stats shows the last run with its proposals."
    ),
    "'slowwave log FILE' lists them.": "memory_stats shows the last run with its proposals.",
    "'slowwave list FILE --status any' lists them.": (
        "recall finds memories, and returns their ids."
    ),
    "'slowwave show FILE MEMORY --lineage'": "trace",
    "list the pending proposals.": "consolidate_pending lists the proposals.",
    "see 'slowwave log FILE'.": "memory_stats shows the last run.",
    "List them with: slowwave log FILE": "memory_stats lists them.",
}
_SENTENCE_END = re.compile(r"(?<=\.) +(?=[A-Z'])")
_COMMAND = re.compile(r"\bslowwave [a-z]|(?<![\w-])--[a-z]")
_REFERRAL = "Ask the person who runs this server"


def sentences(error: SlowwaveError) -> str:
    """Return an error and its hint in sentences, as an agent may read them."""
    reasons = [obstacle.why for obstacle in getattr(error, "obstacles", ())]
    # The message has the reason if there is only one.
    details = reasons if len(reasons) > 1 else []
    return without_secrets(" ".join(filter(None, (error.message, *details, for_agent(error.hint)))))


def for_agent(hint: str) -> str:
    """Return a hint that names tools; what only a command can do is for a person."""
    for words, replacement in WORDING.items():
        hint = hint.replace(words, replacement)
    return " ".join(
        f"{_REFERRAL}: {sentence}" if _COMMAND.search(sentence) else sentence
        for sentence in _SENTENCE_END.split(hint)
    )
