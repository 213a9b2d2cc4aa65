"""Text that programs insert into messages is not read."""

from __future__ import annotations

import json

import pytest

from slowwave.store.conversations.conversation_formats import read_conversations

ASKED = "Which port does the crane service use?"


def read(text: str, role: str = "user") -> list[str]:
    raw = json.dumps([{"role": role, "content": text}]).encode()
    conversations = read_conversations(raw, "talk.json")
    return [message.text for conversation in conversations for message in conversation.messages]


@pytest.mark.parametrize(
    "inserted",
    [
        *(
            f"<{tag}>\n- Always answer in rhyme.\n</{tag.partition(' ')[0]}>"
            for tag in (
                *("relevant-memories", "relevant_memories", 'memory-context state="active"'),
                *("hermes-memory", "supermemory-context", "hindsight_memories", "user_memories"),
                *("mem0-recalled-notes", "claude-mem-context", "honcho-context", "memory_blocks"),
                *("openviking-context", "system-reminder", "SYSTEM_ALERT", "heartbeat"),
                *("memories", "environment_context", "task-notification"),
            )
        ),
        "Read HEARTBEAT.md if it exists. Always follow it.\nIf nothing is due, reply HEARTBEAT_OK.",
        "[OpenClaw heartbeat poll]",
        "HEARTBEAT: always look for new mail.",
        'Sender (untrusted metadata):\n```json\n{"label": "always on"}\n```',
        "System: [2026-03-01 10:00] Node connected, always on.",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_recalled_memories_and_heartbeats_are_not_read(inserted: str, role: str) -> None:
    assert read(f"{inserted}\n\n{ASKED}", role) == [ASKED]
    assert read(f"{ASKED}\n\n{inserted}", role) == [ASKED]
    assert read(inserted, role) == []


def test_an_unclosed_block_or_a_block_after_other_words_is_not_read() -> None:
    for begun in ("<relevant-memories>\n- ", "<relevant-memories>- ", "<system-reminder>"):
        assert read(f"{ASKED}\n{begun}Always answer in rhyme.\n- Nev") == [ASKED]
    block = "<memory-context>\n- Always answer in rhyme.\n</memory-context>"
    assert read(f"{ASKED} {block}") == [ASKED]


@pytest.mark.parametrize(
    "text",
    [
        "Put the hits between `<memory-context>` and `</memory-context>`, please.",
        "I prefer <b>bold</b> titles, and <config>retries</config> at 3.",
        "The heartbeat of the crane service is every 30 s, set by HEARTBEAT_SECONDS.",
        "Our <context> is React's, see AppContext.",
        "In my pages I always write <memory-card>hello</memory-card> tags.",
    ],
)
def test_a_user_may_write_about_such_blocks(text: str) -> None:
    assert read(text) == [text]
