"""Text in a memory that contains instructions to its reader.

A memory is data, and nobody gave the orders in it. A rule that the user set ("Never commit
secrets") or a wish ("Answer with bullet points") is not an order; one about the reader's own
instructions, answers or notes is, and so is text that imitates the system or its tools.

The latter is found by its marks, the rest by a logistic regression over hashed
n-grams of words and letters. `python training/train_injection.py` trains it on fixtures/injection
and writes it to injection.npy (float16; sha256
a0c4d1ecc6249472fb232dcf8c405ce7c39ae0621d00ddab2b0d7f2b29291574).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .invisible import hides_text, is_unseen
from .tokens import split_sentences

WEIGHTS = Path(__file__).with_name("injection.npy")
# The weights of the n-grams' hashes; the last weight is the bias.
_BITS = 16
BUCKETS = 1 << _BITS
# In characters: a long text after an order must not hide it.
_WINDOW = 120
_LETTERS = (3, 4, 5)
_WORDS = (1, 2, 3)
# Odd numbers whose multiples spread over all 64 bits (Knuth's multiplicative hashing).
_STEP, _SPREAD = np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15)
# Marks of chat templates, tool calls, our own prompts, and answers to them.
_MARKS = re.compile(
    r"<\|\w+\|>|\[/?(?:INST|SYSTEM)\]|<</?SYS>>|^#+\s*(?:system|assistant)\s*:|"
    r"[\"']role[\"']\s*:\s*[\"'](?:system|developer|tool)[\"']|[\"']tool_calls[\"']\s*:|"
    r"<\s{0,4}/?\s{0,4}(?:tool_calls?|function_calls|invoke)\b[^>]{0,40}>|"
    r"<\s{0,4}/\s{0,4}(?:memor(?:y|ies)|groups|faults|system|instructions?)\b[^>]{0,40}>|"
    r"[\"'](?:groups|unsupported|wrong_join)[\"']\s*:\s*\[",
    re.IGNORECASE | re.MULTILINE,
)
# Control codes, which can hide words even in ASCII.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Tag characters, which no screen shows but a model may read.
_TAGS = {number: chr(number - 0xE0000) for number in range(0xE0020, 0xE007F)}
# Letters that look like Latin ones; only read as these in words that also have Latin letters.
_LOOKS_LIKE = str.maketrans(
    "аеорсухіјѕԁһӏпѵԛкмтАВЕКМНОРСТУХІЈЅοαρνιυκτηεΑΒΕΖΗΙΚΜΝΟΡΤΥΧɡı",
    "aeopcyxijsdhlnvqkmtABEKMHOPCTYXIJSoapviuktneABEZHIKMNOPTYXgi",
)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_NUMBER = re.compile(r"\d+")


def commands(text: str) -> tuple[str, ...]:
    """Return the sentences that try to command their reader, verbatim."""
    sentences = split_sentences(text)
    orders = tuple(sentence for sentence in sentences if _is_command(sentence))
    if orders:
        return orders
    # An order may continue after a line or a sentence, or hide in a very long one.
    rest = set(_windows(text)).difference(sentences)
    return (text,) if any(map(_is_command, rest)) else ()


def units(text: str) -> list[str]:
    """Return what is judged of a text: sentences and windows, as a model may read them."""
    parts = (*split_sentences(text), *_windows(text))
    return list(dict.fromkeys(plain for part in parts for plain in _readings(part)))


def hashes(text: str) -> NDArray[np.intp]:
    """Return the n-grams of a text, each once, as numbers below BUCKETS; all numbers are alike."""
    lowered = f" {_NUMBER.sub('0', ' '.join(text.lower().split()))} "
    letters = np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    words = [crc32(word.encode("utf-8", "surrogatepass")) for word in _TOKEN.findall(lowered)]
    grams = [
        *_grams(letters.astype(np.uint64), _LETTERS),
        *_grams(np.array(words, dtype=np.uint64), _WORDS),
    ]
    buckets = np.concatenate(grams) * _SPREAD >> np.uint64(64 - _BITS)
    # Faster than `np.unique`: a stable sort of small numbers is a radix sort.
    buckets = np.sort(buckets.astype(np.uint16), kind="stable")
    return np.append(buckets[:1], buckets[1:][buckets[1:] != buckets[:-1]]).astype(np.intp)


def _grams(parts: NDArray[np.uint64], sizes: tuple[int, ...]) -> Iterator[NDArray[np.uint64]]:
    """Yield the hashes of all runs of parts, for each size."""
    grams = parts
    for size in range(1, max(sizes) + 1):
        if size > 1:
            grams = grams[:-1] * _STEP + parts[size - 1 :]
        if size in sizes:
            yield grams


@cache
def _weights() -> NDArray[np.float32]:
    return np.asarray(np.load(WEIGHTS), dtype=np.float32)


def _windows(text: str) -> list[str]:
    """Return stretches of a text that overlap by half; a short text is one."""
    joined = " ".join(text.split())
    starts = range(0, max(1, len(joined) - _WINDOW // 2), _WINDOW // 2)
    return [joined[start : start + _WINDOW] for start in starts]


def _is_command(text: str) -> bool:
    return hides_text(text) or any(
        _MARKS.search(plain) or _score(plain) > 0 for plain in _readings(text)
    )


def _score(text: str) -> float:
    """Return the logarithm of the odds that a text contains instructions to its reader."""
    buckets, weights = hashes(text), _weights()
    return float(weights[buckets].sum() / np.sqrt(max(1, len(buckets))) + weights[-1])


def _readings(text: str) -> tuple[str, ...]:
    """Return a text as a model may read it: normalized, with the letters that others look like.

    An invisible mark may be within a word or between two, so it is removed, or read as a blank.
    """
    if text.isascii() and not _CONTROLS.search(text):
        return (text,)
    folded = unicodedata.normalize("NFKC", text.translate(_TAGS))
    hidden = [ord(letter) for letter in set(folded) if is_unseen(letter)]
    if not hidden:
        return (_TOKEN.sub(_as_latin, folded),)
    shown = (folded.translate(dict.fromkeys(hidden, blank)) for blank in ("", " "))
    return tuple(_TOKEN.sub(_as_latin, reading) for reading in shown)


def _as_latin(word: re.Match[str]) -> str:
    mixed = {letter.isascii() for letter in word[0] if letter.isalpha()} == {True, False}
    return word[0].translate(_LOOKS_LIKE) if mixed else word[0]
