"""Keys stay out of whatever is kept, shown or logged: a text from outside may repeat them."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

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

    A key is found in capital and in small letters, and however JSON, an address, a page or a header
    of HTTP escapes any of its characters. The name of its variable takes its place.
    """
    named = {
        spelling: f"${name}" for name, value in _in_environment() for spelling in _spell(value)
    }
    named |= {spelling: _HIDDEN for value in _in_address(address) for spelling in _spell(value)}
    # The longest first: one may be a part of another.
    for spelling in sorted(named, key=len, reverse=True):
        name = named[spelling].replace("\\", r"\\")
        text = _however_escaped(spelling).sub(name, text)
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
    """Yield a secret as it is, and as a header of HTTP spells it."""
    yield secret
    for text in (secret, f"{secret}:", f":{secret}"):
        # A client that wants a name and a password takes a key for either.
        yield base64.b64encode(text.encode()).decode()


@lru_cache(maxsize=256)
def _however_escaped(secret: str) -> re.Pattern[str]:
    return re.compile("".join(map(_escapes_of, secret)), re.IGNORECASE)


def _escapes_of(letter: str) -> str:
    """Return a pattern of one letter: itself, or as JSON, addresses and pages write it."""
    # What JSON may have a backslash before; a JSON text within another has more of them. All is
    # bounded: a text of backslashes alone must not take square time.
    plain = re.escape(letter) if letter.isalnum() else rf"\\{{0,15}}{re.escape(letter)}"
    units = letter.encode("utf-16-be", errors="surrogatepass").hex()
    in_json = "".join(rf"\\{{1,15}}u{units[at : at + 4]}" for at in range(0, len(units), 4))
    # An address within another has its percent signs escaped.
    octets = letter.encode(errors="surrogateescape")
    in_address = "".join(f"%(?:25){{0,7}}{octet:02x}" for octet in octets)
    in_page = f"&#(?:0*{ord(letter)}|x0*{ord(letter):x});"
    return f"(?:{plain}|{in_json}|{in_address}|{in_page})"
