"""What one text says, as far as every night asks for it: kept, so that it is read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slowwave.store.records import Memory

from .checking.instructions import commands
from .entities import names_in
from .language.reading import read
from .memos import Memos
from .replacing.sayings import Saying, sayings_of


@dataclass(frozen=True)
class Gist:
    """What a text says."""

    # Whom and what it mentions.
    names: tuple[str, ...]
    # Whether it says what ought to be.
    normative: bool
    # The sentences with which it tries to command who reads it.
    orders: tuple[str, ...]
    # What it is about and what it says of it, sentence by sentence.
    sayings: tuple[Saying, ...]


def gist_of(memory: Memory, memos: Memos) -> Gist:
    """Give what a memory says."""

    def work_out() -> list[Any]:
        text = memory.content
        sayings = [saying.to_json() for saying in sayings_of(text)]
        return [names_in(text), read(text).normative, commands(text), sayings]

    names, normative, orders, sayings = memos.recall("gist", [memory.content_hash], work_out)
    return Gist(tuple(names), normative, tuple(orders), tuple(map(Saying.from_json, sayings)))
