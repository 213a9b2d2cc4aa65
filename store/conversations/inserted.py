"""Text that programs put into a prompt: recalled memories, reminders, heartbeats.

The user did not write it. A plug-in's memories would be remembered again as the user's words.
"""

from __future__ import annotations

import re

# The tags of memory plug-ins, and of slowwave's own block: <relevant-memories>, <memory-context>,
# <hermes-memory>. In a line with other text, they are the user's: "I use <memory-card>A</...>".
_OF_MEMORIES = r"[\w-]*memor(?:y|ies)[\w-]*"
# The tags of the elements that each program inserts.
_TAGS = {
    "mem0": r"mem0-[\w-]+",
    "claude-mem": r"claude-mem-[\w-]+",
    "Hindsight": r"hindsight[\w-]+",
    "Honcho, OpenViking, Graphiti, Zep": r"(?:honcho|openviking|graphiti|zep)[\w-]*context",
    "other recall": r"recall(?:ed)?[_-][\w-]+|user-persona|relevant-scenes|scene-navigation",
    "harnesses": r"system[_-](?:reminder|notification|alert|warning|note|message)|heartbeat",
    "Claude Code": r"local-command-\w+|command-\w+|bash-\w+|ide_\w+|user-prompt-submit-hook"
    r"|task-notification",
    "Codex": r"environment_context|user_instructions|INSTRUCTIONS|turn_aborted"
    r"|permissions instructions",
    "Cline, Roo Code": r"environment_details",
}
# What begins a line and is never closed was cut off. Tags in backquotes are only mentioned.
_ELEMENT = re.compile(
    r"(?:^[ \t]*<(?P<block>{0}|{1})(?:\s[^>]*)?>.*?(?:</(?P=block)\s*>|\Z)"
    r"|(?<!`)<(?P<tag>{0}|{1}(?=(?:\s[^>]*)?>[ \t]*$))(?:\s[^>]*)?>.*?</(?P=tag)\s*>)".format(
        "|".join(_TAGS.values()), _OF_MEMORIES
    ),
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
# How paragraphs without tags begin; each ends at a blank line.
_PARAGRAPHS = {
    "OpenClaw's heartbeat": r"[^\n]*\bHEARTBEAT(?:_OK|\.md)\b|\W*HEARTBEAT\b"
    r"|\[[^\]\n]*(?i:heartbeat)[^\]\n]*\]",
    "OpenClaw's events": r"System: \[|\[(?:cron:|Subagent Context|Queued messages)"
    r"|Pre-compaction memory flush|A new session was started via /|NO_REPLY$",
    "OpenClaw's envelope": r"[^\n]*\(untrusted[^)\n]*\):\n```",
    "Claude Code": r"\[Request interrupted by user",
    "Codex": r"# AGENTS\.md instructions for ",
}
_PARAGRAPH = re.compile(
    rf"^(?:{'|'.join(_PARAGRAPHS.values())})[^\n]*(?:\n[^\n]*\S[^\n]*)*", re.MULTILINE
)


def without_inserted(text: str) -> str:
    """Return the text of a message without what programs put into it."""
    return _PARAGRAPH.sub("", _ELEMENT.sub("", text)).strip()
