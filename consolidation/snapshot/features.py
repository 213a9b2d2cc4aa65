"""What one text says, as far as every night asks for it: kept, so that it is read once."""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import Decoder

from slowwave.consolidation.text.density import Density, density_of
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.updates.sentence_features import SentenceFeatures, sentence_features
from slowwave.store.records import Memory

from .cache import Cache
from .entities import names_in


class TextFeatures(Struct, frozen=True, array_like=True):
    """What a text says."""

    # Whom and what it mentions.
    names: tuple[str, ...]
    # Whether it says what ought to be.
    normative: bool
    # The sentences that give orders to its reader.
    orders: tuple[str, ...]
    # What it is about and what it says of it, sentence by sentence.
    sentences: tuple[SentenceFeatures, ...]
    # How far it is meant to the letter.
    density: Density


_FORM = Decoder(TextFeatures)


def features_of(memory: Memory, cache: Cache) -> TextFeatures:
    """Return what a memory says."""
    text = memory.content
    return cache.get_or_compute(
        "gist",
        [memory.content_hash],
        _FORM,
        lambda: TextFeatures(
            names_in(text),
            read(text).normative,
            commands(text),
            sentence_features(text),
            density_of(text),
        ),
    )
