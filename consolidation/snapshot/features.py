"""The cached features of a text that every night needs."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from msgspec import Struct
from msgspec.json import Decoder

from slowwave.consolidation.comparison.normal_form import normal_form
from slowwave.consolidation.comparison.rivals import matter_of
from slowwave.consolidation.text.density import Density, density_of
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.text.tokens import is_relative
from slowwave.store.records import Memory

from .cache import Cache

# Bytes of the hash of a form.
_FORM_BYTES = 12


class TextFeatures(Struct, frozen=True, array_like=True):
    """The features of a text."""

    # The sentences that contain instructions to its reader.
    orders: tuple[str, ...]
    # Whether it must be kept verbatim.
    density: Density
    # The hash of its normal form: texts with the same hash say the same.
    form: str
    # Whether its meaning depends on the day.
    is_relative: bool
    # What it is about: its content words, without values.
    matter: tuple[str, ...]


_FEATURES = Decoder(TextFeatures)


def features_of(memories: Iterable[Memory], cache: Cache) -> dict[str, TextFeatures]:
    """Return the features of memories, by the hashes of their texts."""
    texts = {memory.content_hash: memory.content for memory in memories}
    hashes = list(texts)
    features = cache.compute_unknown(
        "gist",
        [[text_hash] for text_hash in hashes],
        _FEATURES,
        lambda places: [_features(texts[hashes[place]]) for place in places],
    )
    return dict(zip(hashes, features, strict=True))


def _features(text: str) -> TextFeatures:
    return TextFeatures(
        orders=commands(text),
        density=density_of(text),
        form=blake2b(normal_form(text).encode(), digest_size=_FORM_BYTES).hexdigest(),
        is_relative=is_relative(text),
        matter=tuple(sorted(matter_of(text))),
    )
