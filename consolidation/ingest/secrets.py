"""Mask secrets in texts: passwords, keys, tokens and card numbers.

`detect-secrets` knows what the keys of services look like, how random a key is, and the names
that precede secrets. Its scanner is for lines of code, so only the patterns of its plug-ins are
used here. Nothing is verified by a server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from slowwave.consolidation.text.tokens import stop_words
from slowwave.store.conversations.messages import Conversation
from slowwave.store.records import json_text

if TYPE_CHECKING:
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString

# The names of secrets, besides those that the library knows.
_MORE_NAMES = r"passphrase|passcode|passwort|\bpw|token|bearer|access_?key|(?-i:PIN)"
# Between a name and its value: "password for the router is", "api_key =", "Bearer". Then a value,
# either in quotes or up to the next space.
_NAMED = (
    r"(?P<name>(?:{names})(?:_\w+)?)(?![^\W_])[\"'`\]]{{0,2}}(?P<gap>[^\n.!?:=]{{0,60}}?)"
    r"(?P<sign>\s*:?=+>?\s*|:\s*|(?:\s+(?:is|ist|was)|'s)\s+(?:now\s+)?|\s*->\s*|(?<=bearer)\s+|\s+(?=[\"'`]))"
    r"(?:(?P<mark>[\"'`])(?P<quoted>[^\"'`\n]+)(?P=mark)|(?P<value>[^\s\"'`]+)(?P<rest>[^\n.;,]*))"
)
# What is neither a word nor a name, anywhere after the name of a secret or right after it.
# It ends with a sign only if the sentence goes on, perhaps with the value that replaces it.
_ODD = (
    r"(?:{names})(?![^\W_])(?:[^\n.!?:=]{{0,60}}?\s(?P<odd>(?=\S*\d)(?=\S*[a-z])[\w+-]*[!#$%&*^~?]"
    r"(?:[\w!#$%&*^~?+-]*\w|(?<!\?)(?=\s(?-i:[a-z]))))"
    r"(?:\s\w+\s(?P<next>(?=\S*\d)(?=\S*[a-z])[\w+-]*[!#$%&*^~?][\w!#$%&*^~?+-]*))?"
    r"|\s(?P<mixed>(?=\w*\d)(?=\w*[a-z])\w{{8,}}))(?![\w/@.-]\w)"
)
_WORD = re.compile(r"\w+")
_SIGNS_OF_A_KEY = re.compile(r"[\d!#$%&*+=?@^~]|[a-z][A-Z]")
_MIN_VALUE = 4
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL
)
_CARD = re.compile(r"(?<![\w.-])[3-6](?:[ -]?\d){13,18}(?![\w-])")
# What a key consists of, and the shortest run of it whose randomness is measured.
_RUN = re.compile(r"[\w+/-]{20,}={0,2}", re.ASCII)
_TOKEN_LETTERS = re.compile(r"[\w+/=.~-]*", re.ASCII)
# Some of the library's patterns take quadratic time, so a long text is searched in pieces.
_PIECE, _OVERLAP = 2_000, 300
# The kinds of what is random, and of what has a name such as "password"; the library's are jargon.
_RANDOM, _BY_NAME = "Key or Token", "Password or Token"
_AROUND = " \t\r\n\"'`:=.,;)"


class _Found(NamedTuple):
    start: int
    end: int
    kind: str


def kinds_of_secrets(text: str) -> tuple[str, ...]:
    """Return the kinds of secret in a text, such as "GitHub Token"."""
    return _masked(text, _secrets_in(text))[1]


def mask_secrets(
    conversation: Conversation, kind_of: dict[str, str] | None = None
) -> tuple[Conversation, dict[int, tuple[str, ...]]]:
    """Return a conversation with masked secrets, and their kinds by the number of the message.

    A mask names the kind: "[masked: GitHub Token]". A secret that another message repeats is masked
    there, too. kind_of: the secrets of earlier messages and their kinds; those found are added.
    """
    messages = conversation.messages
    secrets_found = [list(_secrets_in(message.text)) for message in messages]
    kind_of = {} if kind_of is None else kind_of
    kind_of |= {
        value: secret.kind
        for message, secrets in zip(messages, secrets_found, strict=True)
        for secret in secrets
        if _SIGNS_OF_A_KEY.search(value := message.text[secret.start : secret.end])
    }
    repeated = _repeated(kind_of)
    speakers = {message.speaker for message in messages if message.speaker}
    speaker_of = {speaker: mask_name(speaker, kind_of) for speaker in speakers}
    kinds: dict[int, tuple[str, ...]] = {}
    masked = []
    for place, (message, secrets) in enumerate(zip(messages, secrets_found, strict=True), start=1):
        text, message_kinds = _masked(message.text, [*secrets, *repeated(message.text)])
        speaker = message.speaker and speaker_of[message.speaker]
        masked.append(replace(message, text=text, speaker=speaker))
        if message_kinds:
            kinds[place] = message_kinds
    # Exports name a conversation by its first message.
    file, mark, title = conversation.name.partition("#")
    name = f"{mask_name(file, kind_of)}{mark}{mask_text(title, kind_of)}"
    session = conversation.session and mask_name(conversation.session, kind_of)
    return replace(conversation, name=name, session=session, messages=tuple(masked)), kinds


def mask_text(text: str, kind_of: Mapping[str, str], shown: str = "") -> str:
    """Return a text with masked secrets.

    kind_of: those masked elsewhere, with their kinds. shown: a text whose secrets are not masked.
    """
    secrets = [*_secrets_in(text), *_repeated(kind_of)(text)]
    unshown = [secret for secret in secrets if text[secret.start : secret.end] not in shown]
    return _masked(text, unshown)[0]


def mask_known(text: str, kind_of: Mapping[str, str]) -> str:
    """Return a text with masks for known secrets only."""
    return _masked(text, _repeated(kind_of)(text))[0]


def mask_name(name: str, kind_of: Mapping[str, str]) -> str:
    """Return a name or an id with masked secrets; it may be random."""
    secrets = [*_secrets_in(name), *_repeated(kind_of)(name)]
    return _masked(name, [secret for secret in secrets if secret.kind != _RANDOM])[0]


def mask_answer(text: str, shown: str) -> str:
    """Return a model's answer with masked secrets, except those that it was shown."""
    try:
        answer = json.loads(text, strict=False)
        masked = _mask_strings(answer, shown)
    except (ValueError, RecursionError):
        return mask_text(text, {}, shown)
    return text if masked == answer else json_text(masked)


def _mask_strings(value: Any, shown: str) -> Any:
    if isinstance(value, str):
        return mask_text(value, {}, shown)
    if isinstance(value, list):
        return [_mask_strings(part, shown) for part in value]
    if isinstance(value, dict):
        return {name: _mask_strings(part, shown) for name, part in value.items()}
    return value


def _repeated(kind_of: Mapping[str, str]) -> Callable[[str], Iterator[_Found]]:
    """Return what finds known secrets in a text."""
    longest_first = sorted(kind_of, key=len, reverse=True)
    echo = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})(?!\w)")
    return lambda text: (_Found(*match.span(), kind_of[match[0]]) for match in echo.finditer(text))


def _masked(text: str, secrets: Iterable[_Found]) -> tuple[str, tuple[str, ...]]:
    """Return a text with masks, and their kinds; of overlapping secrets, the first is named.

    A service's key may also be random: then the service is named.
    """
    kinds: list[str] = []
    parts: list[str] = []
    end = 0
    order = sorted(
        (secret for secret in secrets if secret.start < secret.end),
        key=lambda secret: (secret.start, secret.kind == _RANDOM),
    )
    for match in order:
        if match.start >= end:
            parts += [text[end : match.start], f"[masked: {match.kind}]"]
            kinds.append(match.kind)
        end = max(end, match.end)
    return "".join([*parts, text[end:]]), tuple(dict.fromkeys(kinds))


def _secrets_in(text: str) -> Iterator[_Found]:
    yield from _keys_in(text)
    yield from _named_in(text)
    yield from (_Found(*match.span(), "Private Key") for match in _PEM.finditer(text))
    for match in _CARD.finditer(text):
        if _is_card_number(match[0]):
            yield _Found(*match.span(), "Card Number")


def _keys_in(text: str) -> Iterator[_Found]:
    """Yield what has the form of a service's key, and what is random."""
    detectors = _detectors()
    randomness = detectors.randomness
    for first in range(0, len(text), _PIECE):
        for pattern, kind in detectors.patterns:
            for match in pattern.finditer(text, first, first + _PIECE + _OVERLAP):
                start, end = match.span(1) if match.re.groups and match[1] else match.span()
                letters = _TOKEN_LETTERS.match(text, end)
                yield _trimmed(text, start, letters.end() if letters else end, kind)
    for match in _RUN.finditer(text):
        if randomness.calculate_shannon_entropy(match[0]) > randomness.entropy_limit:
            yield _Found(*match.span(), _RANDOM)


def _named_in(text: str) -> Iterator[_Found]:
    """Yield the values after the names of secrets."""
    position = 0
    while match := _detectors().named.search(text, position):
        position = match.end("name")
        if (value := _value_of(match)) is not None:
            yield _trimmed(text, *match.span(value), _BY_NAME)
    for match in _detectors().odd.finditer(text):
        for group in ("odd", "next", "mixed"):
            if match[group]:
                yield _Found(*match.span(group), _BY_NAME)


def _trimmed(text: str, start: int, end: int, kind: str) -> _Found:
    value = text[start:end]
    return _Found(
        start + len(value) - len(value.lstrip(_AROUND)),
        end - len(value) + len(value.rstrip(_AROUND)),
        kind,
    )


def _value_of(match: re.Match[str]) -> str | None:
    """Return which group is the value of a named secret; None if it is a mere word."""
    from detect_secrets.filters import heuristic

    after = _WORD.search(match["gap"])
    # "The password manager is ..." is about something else.
    if after and after[0].lower() not in stop_words():
        return None
    group = "quoted" if match["quoted"] else "value"
    value = match[group].strip(_AROUND)
    is_reference = (
        value.startswith(("/", "~", "[masked"))
        or heuristic.is_templated_secret(value)
        or heuristic.is_prefixed_with_dollar_sign(value)
        or heuristic.is_indirect_reference(f"secret = {match[group]}")
    )
    if is_reference or len(value) < _MIN_VALUE:
        return None
    sign = match["sign"].strip()
    if _SIGNS_OF_A_KEY.search(value) or (sign and group == "quoted") or "=" in sign:
        return group
    # "Password: swordfish", but not "Secrets: never in the chat".
    return group if sign == ":" and not match["rest"].strip() else None


def _is_card_number(text: str) -> bool:
    """Whether the digits of a text pass the check of card numbers (Luhn)."""
    digits = [int(letter) for letter in reversed(text) if letter.isdigit()]
    return sum(digits[::2] + [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]) % 10 == 0


class _Detectors(NamedTuple):
    """What the library looks for."""

    # Patterns of the keys of services, with their kinds.
    patterns: tuple[tuple[re.Pattern[str], str], ...]
    named: re.Pattern[str]
    odd: re.Pattern[str]
    randomness: Base64HighEntropyString


@cache
def _detectors() -> _Detectors:
    # Imported late: the library loads an HTTP client, which it uses only to verify what it found.
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString
    from detect_secrets.plugins.ip_public import IPPublicDetector
    from detect_secrets.plugins.keyword import DENYLIST

    # The library's types are too narrow.
    plugins: list[Any] = [*get_mapping_from_secret_type_to_class().values()]
    patterns = [
        (pattern, plugin.secret_type)
        for plugin in plugins
        # An address is not a secret.
        if issubclass(plugin, RegexBasedDetector) and plugin is not IPPublicDetector
        for pattern in plugin.denylist
    ]
    names = "|".join((*DENYLIST, _MORE_NAMES)).replace("_?", "[ _-]?")
    return _Detectors(
        tuple(patterns),
        re.compile(_NAMED.format(names=names), re.IGNORECASE),
        re.compile(_ODD.format(names=names), re.IGNORECASE),
        Base64HighEntropyString(),
    )
