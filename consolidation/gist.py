"""What one text says, as far as every night asks for it: kept, so that it is read once."""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import Decoder

from slowwave.store.records import Memory

from .checking.instructions import commands
from .entities import names_in
from .language.reading import read
from .memos import Memos
from .replacing.sayings import Saying, sayings_of


class Gist(Struct, frozen=True, array_like=True):
    """What a text says."""

    # Whom and what it mentions.
    names: tuple[str, ...]
    # Whether it says what ought to be.
    normative: bool
    # The sentences with which it tries to command who reads it.
    orders: tuple[str, ...]
    # What it is about and what it says of it, sentence by sentence.
    sayings: tuple[Saying, ...]


_FORM = Decoder(Gist)


def gist_of(memory: Memory, memos: Memos) -> Gist:
    """Give what a memory says."""
    text = memory.content
    return memos.recall(
        "gist",
        [memory.content_hash],
        _FORM,
        lambda: Gist(names_in(text), read(text).normative, commands(text), sayings_of(text)),
    )
