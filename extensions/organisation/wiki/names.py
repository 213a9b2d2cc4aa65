"""The names of the pages of a wiki: stable, plain, and always inside its folder."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from hashlib import sha256

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


@dataclass(frozen=True)
class PageName:
    """The path of a page within the folder, in plain parts."""

    parts: tuple[str, ...]

    def link_to(self, target: PageName) -> str:
        """Return the relative path from this page to another."""
        folder = posixpath.join("", *self.parts[:-1]) or "."
        return posixpath.relpath(posixpath.join(*target.parts), folder)


INDEX = PageName(("index.md",))


def name_of_memory(memory_id: str, observed: bool) -> PageName:
    """Return the page of a memory: in raw/ if it was observed, in wiki/ if it was derived."""
    folder = ("raw",) if observed else ("wiki", "memories")
    return PageName((*folder, f"{stem_of(memory_id)}.md"))


def name_of_tenant(tenant: str) -> PageName:
    """Return the page of a tenant."""
    return PageName(("wiki", "tenants", f"{stem_of(tenant)}.md"))


def name_of_entity(tenant: str, name: str) -> PageName:
    """Return the page of an entity; another tenant may mean something else by its name."""
    return PageName(("wiki", "entities", stem_of(tenant), f"{stem_of(name)}.md"))
