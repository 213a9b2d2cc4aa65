"""The paths of the pages within the folder of a wiki: stable, plain, and never outside of it."""

from __future__ import annotations

import posixpath
import re
from hashlib import sha256

from slowwave.store.records import Memory

INDEX = "index.md"

# Names that are valid on every file system, and in a link without escapes.
_PLAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
# The end of names that are made here; texts that look like one of them get a hash, too.
_HASHED = re.compile(r"(?:^|-)[0-9a-f]{10}\Z")
_MAX_LETTERS = 60
# Names of Windows devices, with any extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])\Z")


def stem_of(text: str) -> str:
    """Return a file name for a text: the text itself if it is plain enough.

    Otherwise its plain characters and a part of its hash, so that no two texts share a name, even
    if the file system ignores case.
    """
    short = len(text) <= _MAX_LETTERS
    if short and _PLAIN.match(text) and not _HASHED.search(text) and not _DEVICES.match(text):
        return text
    plain = re.sub(r"[^a-z0-9]+", "-", text[: 4 * _MAX_LETTERS].lower())
    digits = sha256(text.encode(errors="backslashreplace")).hexdigest()[:10]
    return f"{plain.strip('-')[:_MAX_LETTERS].strip('-')}-{digits}".lstrip("-")


def link_to(target: str, page: str) -> str:
    """Return the relative path to a page from another page."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def name_of_memory(memory: Memory) -> str:
    """Return the page of a memory: in raw/ if it was observed, in wiki/ if it was derived."""
    is_observed = memory.generation == 0 and memory.origin != "consolidation"
    return f"{'raw' if is_observed else 'wiki/memories'}/{stem_of(memory.id)}.md"


def name_of_tenant(tenant: str) -> str:
    """Return the page of a tenant."""
    return f"wiki/tenants/{stem_of(tenant)}.md"


def name_of_entity(tenant: str, name: str) -> str:
    """Return the page of an entity; another tenant may mean something else by its name."""
    return f"wiki/entities/{stem_of(tenant)}/{stem_of(name)}.md"
