"""Folders and buckets through obstore: list, get, put, and replace only a version that was read.

Credentials come from the variables that a bucket's own tools use (`AWS_...`, `GOOGLE_...`,
`AZURE_...`; https://developmentseed.org/obstore/latest/authentication/).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slowwave.store.errors import StoreError
from slowwave.store.extras import install_hint

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ObjectStore

SCHEMES = ("s3://", "gs://", "az://")


class Changed(Exception):
    """Another program has replaced the object since it was read."""


class Gone(Exception):
    """The object no longer exists."""


class Listed(NamedTuple):
    """A file in a listing.

    version changes whenever the file does: an object's ETag; for a file on a disk, its size and
    time, and those of its log.
    """

    key: str
    version: str


def is_bucket(place: str) -> bool:
    """Whether a place is the address of a bucket."""
    return place.startswith(SCHEMES)


class Objects:
    """The objects in a folder or below a prefix of a bucket, by keys relative to it."""

    def __init__(self, place: str) -> None:
        """place: a folder's path or a bucket's address. Raises `StoreError` if it is invalid."""
        self._place = place
        with self._explained(""):
            self._store = _store(place)

    def list(self) -> Iterator[Listed]:
        """Yield all objects, listed a thousand at a time. Raises `StoreError`."""
        import obstore

        with self._explained(""):
            for portion in obstore.list(self._store, chunk_size=1_000):
                for meta in portion:
                    yield Listed(meta["path"], _quoted(meta["e_tag"], meta["version"]))

    def read(self, key: str) -> bytes:
        """Return an object. Raises `Gone` and `StoreError`."""
        import obstore

        with self._explained(key):
            return bytes(obstore.get(self._store, key).bytes())

    def write(self, key: str, data: bytes) -> None:
        """Put an object completely or not at all. Raises `StoreError`."""
        import obstore

        with self._explained(key):
            obstore.put(self._store, key, data, use_multipart=False)

    def fetch(self, key: str, path: Path) -> str:
        """Copy an object to a file, and return its version. Raises `Gone` and `StoreError`."""
        import obstore

        with self._explained(key):
            result = obstore.get(self._store, key)
            with path.open("wb") as stream:
                for part in result:
                    stream.write(part)
            return _quoted(result.meta["e_tag"], result.meta["version"])

    def replace(self, key: str, path: Path, version: str) -> str:
        """Replace the version that was read by a file, and return the new version.

        Raises `Changed` if there is another version by now, `Gone`, and `StoreError`.
        """
        import obstore

        with self._explained(key):
            put = obstore.put(self._store, key, path, mode=_update(version), use_multipart=False)
            return _quoted(put["e_tag"], put["version"])

    @contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        """Translate obstore's errors into ours."""
        try:
            from obstore import exceptions
        except ImportError as error:
            raise StoreError(
                "The package obstore is not installed.", f"Install it {install_hint('fleet')}"
            ) from error
        where = f"{self._place.rstrip('/')}/{key}" if key else self._place
        try:
            yield
        except FileNotFoundError as error:
            raise Gone(where) from error
        except (exceptions.PreconditionError, exceptions.AlreadyExistsError) as error:
            raise Changed(where) from error
        except (exceptions.BaseError, OSError, ValueError) as error:
            raise StoreError(
                f"{where} cannot be reached: {_first_line(error)}", self._hint()
            ) from error

    def _hint(self) -> str:
        """Return what to check; obstore itself does not mention an endpoint without TLS."""
        if not is_bucket(self._place):
            return "Check that this user may read and write it, and that the disk is not full."
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        if endpoint.startswith("http://") and "AWS_ALLOW_HTTP" not in os.environ:
            return f"{endpoint} does not use TLS: set AWS_ALLOW_HTTP=true to use it anyway."
        return "Check its name, the credentials and the region."


@cache
def _store(place: str) -> ObjectStore:
    from obstore.store import LocalStore, from_url

    if is_bucket(place):
        return from_url(place)
    return LocalStore(Path(place), mkdir=False)


def _quoted(e_tag: str | None, version: str | None) -> str:
    """Return a version as one text; some stores have an ETag, others a generation, too."""
    return f"{e_tag or ''} {version}" if version else e_tag or ""


def _update(version: str) -> UpdateVersion:
    e_tag, _, generation = version.partition(" ")
    return {"e_tag": e_tag, "version": generation} if generation else {"e_tag": e_tag}


def _first_line(error: Any) -> str:
    # A bucket's answer is an XML document.
    sentence = str(error).partition("<?xml")[0]
    lines = [line.strip() for line in sentence.splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
