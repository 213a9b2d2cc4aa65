"""Conversations for `slowwave ingest`, and a scripted model that reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli_calls import Cli
from commands import setting
from model_server import Asked, ModelServer, Reply, approval, model_server, oracle, says
from nights import rows

# What `slowwave ingest` writes to.
EVERY_TABLE = (
    *("memories", "embeddings", "entities", "memory_entities", "synthesized_from"),
    *("read_messages", "memory_messages", "waiting_messages"),
)
CHAT = """User: I live in Lyon and my sister Ana visits every June.
Assistant: How nice! What can I do for you?
User: I prefer dark roast coffee. Never suggest instant coffee.
Assistant: Noted. The grinder was broken; I've set the order to 2 bags of Kivu.
"""
OTHER = "User: I own a red Brompton.\nAssistant: ok\n"


def stated(content: str, *quotes: str, **fields: object) -> dict[str, object]:
    """Return a memory as a model states it."""
    return {
        "content": content,
        "kind": "fact",
        "importance": 3,
        "subject": "user",
        "tags": ["a"],
        "quotes": list(quotes),
        **fields,
    }


# What a model states of CHAT.
LYON = stated("User lives in Lyon.", "I live in Lyon")
COFFEE = stated(
    "User prefers dark roast coffee.", "I prefer dark roast coffee", kind="preference", importance=4
)


def batch(*memories: dict[str, object]) -> Reply:
    """Return the answer of a model that states memories."""
    return says({"memories": list(memories), "reasoning": "because"})


def asking(server: ModelServer) -> tuple[object, ...]:
    """Return the options that ask a model, and for JSON."""
    return ("--model", "openai/scripted", setting("api_base", server.base), "--json")


def contents(path: Path, status: str = "active") -> list[str]:
    """Return the texts of memories in the order in which they were written."""
    sql = "SELECT content FROM memories WHERE status = ? ORDER BY rowid"
    return [row["content"] for row in rows(path, sql, status)]


def is_about_a_conversation(asked: Asked) -> bool:
    """Whether a question is about a conversation and not about a night."""
    return "You choose" in str(asked.messages[0]["content"])


def remembering(*memories: dict[str, object]) -> Any:
    """Answer about conversations with memories, and about a night honestly."""

    def responder(asked: Asked) -> Reply:
        if is_about_a_conversation(asked):
            return batch(*memories)
        return says(approval(asked)) if asked.drafts else oracle(asked)

    return responder


def repeating(asked: Asked) -> Reply:
    """State each new message of a user verbatim."""
    if asked.drafts:
        return says(approval(asked))
    lines = (line for line in asked._lines("conversation") if not line.startswith("earlier"))
    messages = (json.loads(line[line.index("{") :]) for line in lines)
    return batch(*(stated(each["user"], each["user"]) for each in messages if "user" in each))


def let_wait(cli: Cli, path: Path, *conversations: Path, options: tuple[object, ...] = ()) -> None:
    """Ingest with a model that may not be called, so that the conversation is queued."""
    with model_server() as nobody:
        ended = cli(
            "ingest", path, *conversations, *asking(nobody), setting("max_calls", 0), *options
        )
    assert (ended.code, ended.json["waiting"]) == (3, len(conversations))


def maintain(cli: Cli, path: Path, *more: object) -> Any:
    """Run a night."""
    return cli("maintain", path, "--consolidate", *more)
