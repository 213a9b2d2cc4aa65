"""Whether a thing is among others, going by stems of one word."""

from __future__ import annotations

from functools import lru_cache

# Two stems of one word have so many letters in common, and no more behind them.
_COMMON, _ENDING = 4, 4


def is_known(key: str, known: frozenset[str]) -> bool:
    """Whether a thing is among others, as far as its stem tells."""
    return key in known or any(
        _of_one_word(key, other) for other in _by_beginning(known).get(key[:_COMMON], ())
    )


@lru_cache(maxsize=4_096)
def _by_beginning(known: frozenset[str]) -> dict[str, list[str]]:
    """Return things by the letters that all stems of one word have in common."""
    found: dict[str, list[str]] = {}
    for key in known:
        found.setdefault(key[:_COMMON], []).append(key)
    return found


def _of_one_word(one: str, other: str) -> bool:
    """Whether two stems with one beginning are of one word: "publish", "public"."""
    if " " in one or " " in other:
        return False
    common = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    rest = sorted((len(one) - common, len(other) - common))
    return rest[0] <= 1 and rest[1] <= _ENDING and rest[1] < common
