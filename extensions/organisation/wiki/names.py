"""The names of the pages of a wiki: stable, plain, and never a way out of its folder."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from hashlib import sha256

# What a name may consist of on every file system, and in a link without escapes.
_PLAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
# How names end that are made here: no other may look like one of them.
_HASHED = re.compile(r"(?:^|-)[0-9a-f]{10}\Z")
_MAX_LETTERS = 60
# Names of Windows devices, with any extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])\Z")


def stem_of(text: str) -> str:
    """Return the name of what a text names: the text itself where it is plain enough.

    Otherwise what is plain of it, and a part of its hash, so that no two texts share a name, also
    where capital and small letters are one.
    """
    short = len(text) <= _MAX_LETTERS
    if short and _PLAIN.match(text) and not _HASHED.search(text) and not _DEVICES.match(text):
        return text
    plain = re.sub(r"[^a-z0-9]+", "-", text[: 4 * _MAX_LETTERS].lower())
    digits = sha256(text.encode(errors="backslashreplace")).hexdigest()[:10]
    return f"{plain.strip('-')[:_MAX_LETTERS].strip('-')}-{digits}".lstrip("-")


@dataclass(frozen=True)
class PageName:
    """Where a page lies within the folder, in parts that are all of them plain."""

    parts: tuple[str, ...]

    def link_to(self, second: PageName) -> str:
        """Return how a link in this page leads to another."""
        folder = posixpath.join("", *self.parts[:-1]) or "."
        return posixpath.relpath(posixpath.join(*second.parts), folder)


INDEX = PageName(("index.md",))


def name_of_memory(memory_id: str, observed: bool) -> PageName:
    """Return the page of a memory: what was observed lies in raw/, what was derived in wiki/."""
    folder = ("raw",) if observed else ("wiki", "memories")
    return PageName((*folder, f"{stem_of(memory_id)}.md"))


def name_of_rule(memory_id: str) -> PageName:
    """Return the page of a rule and its evidence."""
    return PageName(("wiki", "rules", f"{stem_of(memory_id)}.md"))


def name_of_tenant(tenant: str) -> PageName:
    """Return the page of a tenant."""
    return PageName(("wiki", "tenants", f"{stem_of(tenant)}.md"))


def name_of_entity(tenant: str, name: str) -> PageName:
    """Return the page of an entity: the same name may mean another thing elsewhere."""
    return PageName(("wiki", "entities", stem_of(tenant), f"{stem_of(name)}.md"))
