"""The receipts of runs as JSON Lines, in a folder or a bucket: written in parts, read as one.

Each shard of a run has a folder of its own, `TIME-shard-I-of-N-ID/`: `begin.json`, parts that are
written during the run, and `end.json` at its end. The parts of a killed run count, too.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from slowwave.store.errors import StoreError, UnusableFile, file_errors
from slowwave.store.records import json_text, timestamp

from .object_store import Gone, Objects, is_bucket
from .receipt import Receipt

if TYPE_CHECKING:
    from slowwave.consolidation.model.usage_limits import UsageLimits

# Receipts that are written at a time; those that a kill loses, the next run finds again.
_RECEIPTS_PER_PART = 1_000
_BEGIN, _END = "begin.json", "end.json"
_NAME = re.compile(r"\d{8}T\d{12}Z-shard-(?P<number>\d+)-of-(?P<of>\d+)-[0-9a-f]{8}")
_SUFFIX = ".jsonl.gz"
_LINES, _OF_A_LINE = msgspec.json.Encoder(), msgspec.json.Decoder(Receipt)


@dataclass(frozen=True)
class Shard:
    """The share of one process in a run: the files whose keys hash to `number` of `of`."""

    number: int = 0
    of: int = 1

    def has(self, key: str) -> bool:
        """Whether a file is in it, by its key alone, so that shards need not communicate."""
        digest = hashlib.blake2b(key.encode(errors="surrogateescape"), digest_size=8).digest()
        return int.from_bytes(digest) % self.of == self.number

    def share_of(self, budget: UsageLimits) -> UsageLimits:
        """Return its share of a budget. Shards run at the same time, so each has all of it."""
        return replace(
            budget,
            calls=self._part_of(budget.calls),
            tokens=self._part_of(budget.tokens),
            cost_usd=None if budget.cost_usd is None else budget.cost_usd / self.of,
        )

    def _part_of(self, amount: int | None) -> int | None:
        """Return a whole number; those of all shards add up to the amount."""
        if amount is None:
            return None
        return amount * (self.number + 1) // self.of - amount * self.number // self.of


@dataclass(frozen=True)
class ShardNight:
    """The receipts of one shard of a run."""

    name: str
    shard: Shard
    parts: tuple[str, ...]
    # The content of end.json; None if the run was killed, or goes on.
    end: dict[str, Any] | None

    @property
    def is_complete(self) -> bool:
        """Whether it maintained all of its files."""
        return self.end is not None and self.end.get("complete") is True

    @property
    def source(self) -> str:
        """The mark of the source of its files; empty if unknown."""
        return str((self.end or {}).get("source", ""))


class Archive:
    """The receipts of all runs in one place."""

    def __init__(self, place: str) -> None:
        """place: a folder or the address of a bucket. Raises `StoreError`."""
        self.place = place
        with file_errors("read", Path(place)):
            is_there = is_bucket(place) or Path(place).is_dir()
        self._objects = Objects(place) if is_there else None

    def nights(self) -> list[ShardNight]:
        """Return the shards of all runs, the latest first. Raises `StoreError`."""
        files: dict[str, list[str]] = {}
        for object in () if self._objects is None else self._objects.list():
            name, _, file = object.key.partition("/")
            if _NAME.fullmatch(name) and file:
                files.setdefault(name, []).append(file)
        return [self._night(name, files[name]) for name in sorted(files, reverse=True)]

    def begin(self, began: datetime, shard: Shard) -> ReceiptWriter:
        """Begin the receipts of a run. Raises `StoreError` if nothing can be written there."""
        if self._objects is None:
            Objects("/")  # without obstore, no folder is created
            try:
                Path(self.place).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"Cannot write receipts to {self.place}: {error.strerror}.",
                    "Specify another folder with --receipts.",
                ) from error
            self._objects = Objects(self.place)
        name = f"{began:%Y%m%dT%H%M%S%f}Z-shard-{shard.number}-of-{shard.of}-{secrets.token_hex(4)}"
        return ReceiptWriter(self._objects, name, began, shard)

    def manifest(self, keys: Iterable[str], mark: str) -> tuple[dict[str, Receipt], list[str]]:
        """Return the latest receipts of files, by key, and which receipts cannot be read.

        keys: of the files; mark: of their source. Runs are read from the latest backwards until
        all files are known, or all shards of a run on that source are complete. Raises
        `StoreError`.
        """
        wanted = set(keys)
        latest: dict[str, Receipt] = {}
        unreadable: list[str] = []
        # The complete shards, by the number of shards of their run.
        complete: dict[int, set[int]] = {}
        for night in self.nights():
            if not wanted:
                break
            for part in reversed(night.parts):
                try:
                    for receipt in self._read(f"{night.name}/{part}"):
                        latest.setdefault(receipt.key, receipt)
                        wanted.discard(receipt.key)
                except StoreError as error:
                    unreadable.append(error.message)
            if night.is_complete and night.source == mark:
                numbers = complete.setdefault(night.shard.of, set())
                numbers.add(night.shard.number)
                if len(numbers) == night.shard.of:
                    break
        return latest, unreadable

    def receipts(self, night: ShardNight) -> Iterator[Receipt]:
        """Yield the receipts of a shard. Raises `StoreError`."""
        for part in night.parts:
            yield from self._read(f"{night.name}/{part}")

    def _read(self, key: str) -> list[Receipt]:
        try:
            assert self._objects is not None  # noqa: S101 - it has listed the key
            return _OF_A_LINE.decode_lines(gzip.decompress(self._objects.read(key)))
        except (msgspec.MsgspecError, EOFError, zlib.error, OSError, Gone) as error:
            why = str(error).rstrip(". ") or "it is gone"
            raise UnusableFile(
                f"The receipts {self.place}/{key} cannot be read: {why}.",
                "Delete that file; the next run examines its files again.",
            ) from error

    def _night(self, name: str, files: Sequence[str]) -> ShardNight:
        match = _NAME.fullmatch(name)
        assert match is not None  # noqa: S101 - `nights` has matched it
        parts = tuple(sorted(file for file in files if file.endswith(_SUFFIX)))
        end = None
        if _END in files:
            assert self._objects is not None  # noqa: S101 - it has listed the file
            with suppress(ValueError, Gone):
                end = json.loads(self._objects.read(f"{name}/{_END}"))
        return ShardNight(name, Shard(int(match["number"]), int(match["of"])), parts, end)


class ReceiptWriter:
    """Writes the receipts of a shard as they come."""

    def __init__(self, objects: Objects, name: str, began: datetime, shard: Shard) -> None:
        """Write that the run has begun. Raises `StoreError` if nothing can be written there."""
        self._objects = objects
        self.name = name
        self._began = began
        self._shard = shard
        self._receipts: list[Receipt] = []
        self._parts = 0
        objects.write(f"{name}/{_BEGIN}", json_text({"began": timestamp(began)}).encode())

    def add(self, receipt: Receipt) -> None:
        """Add a receipt, and write a portion once there are enough. Raises `StoreError`."""
        self._receipts.append(receipt)
        if len(self._receipts) == _RECEIPTS_PER_PART:
            self._write_portion()

    def end(self, now: datetime, complete: bool, source: str) -> None:
        """Write the remaining receipts, and the end. Raises `StoreError`.

        source: the mark of the source of the files.
        """
        if self._receipts:
            self._write_portion()
        summary = {
            "complete": complete,
            "began": timestamp(self._began),
            "ended": timestamp(now),
            "shard": f"{self._shard.number}/{self._shard.of}",
            "source": source,
        }
        self._objects.write(f"{self.name}/{_END}", json_text(summary).encode())

    def _write_portion(self) -> None:
        # A name that is not text is escaped; its receipt is not found again, so the file is due.
        lines = _LINES.encode_lines(
            replace(receipt, key=receipt.key.encode(errors="backslashreplace").decode())
            for receipt in self._receipts
        )
        data = gzip.compress(lines, compresslevel=1)
        self._objects.write(f"{self.name}/part-{self._parts:06d}{_SUFFIX}", data)
        self._parts += 1
        self._receipts.clear()
