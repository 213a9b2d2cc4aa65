"""Redact secrets from texts that are kept, shown or logged."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

# Environment variables with these names hold secrets; shorter values are not secrets.
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION|BEARER", re.IGNORECASE
)
_SHORTEST_SECRET = 8
# The user of any URL in a text.
_USER_IN_URL = re.compile(r"(?<=://)[^/\s@'\"<>]+@")
_KEY_IN_QUERY = re.compile(
    r"(?i)([?&][\w.-]*(?:key|token|secret|password|passwd|signature|sig)=)[^&#\s'\"<>)]+"
)
_HIDDEN = "***"
# The whole of a long secret, such as a private key, would take seconds to compile: this many of its
# first characters are looked for before.
_PREFIX = 16
# What JSON writes after a backslash.
_IN_JSON = {"\n": "n", "\r": "r", "\t": "t"}


def without_secrets(text: str, address: str | None = None) -> str:
    """Return a text without the secrets of the environment and of an address.

    Secrets are found in any case, and escaped as in JSON, URLs, HTML or HTTP headers. They are
    replaced by the name of their variable.
    """
    masks = {
        spelling: f"${name}" for name, value in _in_environment() for spelling in _spell(value)
    }
    masks |= {spelling: _HIDDEN for value in _in_address(address) for spelling in _spell(value)}
    # The longest first: a secret may be a part of another.
    for spelling in sorted(masks, key=len, reverse=True):
        if _escaped_pattern(spelling[:_PREFIX]).search(text):
            name = masks[spelling].replace("\\", r"\\")
            text = _escaped_pattern(spelling).sub(name, text)
    return _KEY_IN_QUERY.sub(rf"\1{_HIDDEN}", _USER_IN_URL.sub(f"{_HIDDEN}@", text))


def _in_environment() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            yield name, value
        # Such as a proxy's.
        for part in _in_address(value):
            yield name, part


def _in_address(address: str | None) -> Iterator[str]:
    """Yield the secrets of a URL: password, user with password, and query values."""
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
    """Yield a secret, and its spellings in HTTP headers."""
    yield secret
    for text in (secret, f"{secret}:", f":{secret}"):
        # Basic authentication with the key as user or password.
        yield base64.b64encode(text.encode()).decode()


@lru_cache(maxsize=256)
def _escaped_pattern(secret: str) -> re.Pattern[str]:
    return re.compile("".join(map(_escapes_of, secret)), re.IGNORECASE)


def _escapes_of(letter: str) -> str:
    """Return a pattern for a letter and its escapes in JSON, URLs and HTML."""
    # Nested JSON has more backslashes. All repetitions are bounded: a text of backslashes must not
    # take quadratic time.
    plain = re.escape(letter) if letter.isalnum() else rf"\\{{0,15}}{re.escape(letter)}"
    if letter in _IN_JSON:
        plain += rf"|\\{{1,15}}{_IN_JSON[letter]}"
    units = letter.encode("utf-16-be", errors="surrogatepass").hex()
    in_json = "".join(
        rf"\\{{1,15}}u{units[offset : offset + 4]}" for offset in range(0, len(units), 4)
    )
    # A URL within a URL has its percent signs escaped.
    octets = letter.encode(errors="surrogateescape")
    in_address = "".join(f"%(?:25){{0,7}}{octet:02x}" for octet in octets)
    in_page = f"&#(?:0*{ord(letter)}|x0*{ord(letter):x});"
    return f"(?:{plain}|{in_json}|{in_address}|{in_page})"
