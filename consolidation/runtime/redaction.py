"""Keys stay out of whatever is kept, shown or logged: a text from outside may repeat them."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, unquote, urlsplit

# Variables of the environment with such a name hold secrets; a shorter value is none.
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION|BEARER", re.IGNORECASE
)
_SHORTEST_SECRET = 8
# Of any address: who may use it. What is meant may stand in any text, in an address of anyone's.
_USER_IN_URL = re.compile(r"(?<=://)[^/\s@'\"<>]+@")
_KEY_IN_QUERY = re.compile(
    r"(?i)([?&][\w.-]*(?:key|token|secret|password|passwd|signature|sig)=)[^&#\s'\"<>)]+"
)
_HIDDEN = "***"


def without_secrets(text: str, address: str | None = None) -> str:
    """Return a text without the keys of the environment, and without those in an address.

    In the place of a key stands the name of its variable.
    """
    named = {
        spelling: f"${name}" for name, value in _in_environment() for spelling in _spell(value)
    }
    named |= {spelling: _HIDDEN for value in _in_address(address) for spelling in _spell(value)}
    # The longest first: one may be a part of another.
    for spelling in sorted(named, key=len, reverse=True):
        text = text.replace(spelling, named[spelling])
    return _KEY_IN_QUERY.sub(rf"\1{_HIDDEN}", _USER_IN_URL.sub(f"{_HIDDEN}@", text))


def _in_environment() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            yield name, value
        # Such as that of a proxy.
        for part in _in_address(value):
            yield name, part


def _in_address(address: str | None) -> Iterator[str]:
    """Yield what in an address lets one in: the password, with its user too, and keys."""
    try:
        parts = urlsplit(address or "")
        user, password = parts.username, parts.password
    except ValueError:  # not an address
        return
    if not parts.scheme or not parts.netloc:
        return
    if password:
        yield f"{unquote(user or '')}:{unquote(password)}"
    for value in (password, *(value for _, value in parse_qsl(parts.query))):
        if value and len(value) >= _SHORTEST_SECRET:
            yield unquote(value)


def _spell(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as JSON, addresses and a header of HTTP spell it."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield quote(secret)
    yield quote(secret, safe="")
    for text in (secret, f"{secret}:", f":{secret}"):
        # A client that wants a name and a password takes a key for either.
        yield base64.b64encode(text.encode()).decode()
