"""How much of a text is meant verbatim, as configuration, code, ids and tables are.

Any paraphrase changes a dense text, so no model rewrites one, and no part of it is quoted.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from msgspec import Struct

from slowwave.consolidation.thresholds import (
    DENSE,
    WEIGHT_OF_LETTERS,
    WEIGHT_OF_LINES,
    WEIGHT_OF_NUMBERS,
)

# The minimum number of lines that show a structure, and of assignments that are data.
_MIN_LINES = 3
_MIN_PAIRS = 3
# A value with more words is a sentence, or nearly one.
_MAX_WORDS_OF_A_VALUE = 5

_FENCE = re.compile(r"\s*(?:```|~~~)")
_CODE_LINE = re.compile(
    r".*[;{]\s*(?://.*)?$|\s*[})\]]+[;,)]*$|\s*(?:\$|>>>|PS>) \S.*"
    r"|\s*(?:def|class|fn|func|function|import|from|return|if|elif|else|for|while|try|except|with|"
    r"let|const|var|public|private|static|async|await|package|use|#include|@)\b.*"
    r"(?:[:;{(]|\w\([^()]*\)|\s=\s.*)\s*"
    r"|\s*(?:from [\w.]+ )?import [\w., *]+$|\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER)\b.*"
    r"|\s*(?:[A-Z]+\s)?[\w.]+\([^()]*\)[.;]?$|\s*(?://|#!|/\*|\*/).*"
    r"|Traceback \(.*|[\w.]*(?:Error|Exception)\b: .*|\s+\w+\.[\w.]+$"
    r"|\s*at [\w.$<>]+\(.*\)$|\s*File \"[^\"]+\", line \d+.*"
)
_ASSIGNED = re.compile(r"(?:^|(?<=[\s,;&?]))[\w.-]+\s?=\s?(?:\"[^\"]*\"|'[^']*'|[^\s,;&]+)")
_SECTION = re.compile(r"\s*\[{1,2}[\w.:\" -]+\]{1,2}\s*$|\s*---+\s*$")
_KEYED = re.compile(r"\s*[\"']?[\w./-]+[\"']?\s*:(?:\s+(?P<value>.*))?$")
_LISTED = re.compile(r"\s*[-*]\s+(?P<value>\S.*)$")
_BRACKETS = re.compile(r"\s*[{\[].*[}\]],?\s*$|\s*[{}\[\]],?\s*$")
_SEPARATED = re.compile(r"(?:[^|]*\|){2,}[^|]*$|(?:[^\t]+\t){2,}[^\t]*$")
_COMMAS = re.compile(r"(?:[^,]{1,40},){3,}[^,]{0,40}$")
_STAMPED = re.compile(
    r"\s*\[?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\s*(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b"
)

_WORD = re.compile(r"\S+")
_EDGES = "\"'`()[]{}<>,.;:!?|*"
_IDENTIFIER = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?:~|\.{0,2})/[\w.@/-]+|[\w.-]+(?:/[\w.@-]+){2,}|\w*_\w+|[a-z]+[A-Z]\w*"
    r"|[0-9a-f]{8}-[0-9a-f-]{20,}|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}"
    r"|[\w.-]+=\S+|--?[a-z][\w-]+|(?=\S*\d)(?=\S*[A-Za-z])[\w.:-]{6,}"
)
_NUMBER = re.compile(r"[-+$€£#~]?\d[\d.,:/%-]*\w{0,3}")


class Density(Struct, frozen=True, array_like=True):
    """How much of a text is meant verbatim, by kind; each is a share of it."""

    # Shares of its lines.
    code: float
    data: float
    # Shares of its words.
    identifiers: float
    numbers: float
    # The lines that are not sentences; 0 for a text with hardly any lines.
    lines: float

    @property
    def score(self) -> float:
        """From 0, nothing but sentences, to 1."""
        weighed = (
            WEIGHT_OF_LETTERS * (self.code + self.data + self.identifiers)
            + WEIGHT_OF_NUMBERS * self.numbers
            + WEIGHT_OF_LINES * self.lines
        )
        return round(min(1.0, weighed), 2)

    @property
    def is_dense(self) -> bool:
        """Whether the text must be kept verbatim."""
        return self.score >= DENSE

    @property
    def why(self) -> str:
        """The reasons, the strongest first, for a report."""
        shares = {
            "code": self.code,
            "structured data": self.data,
            "identifiers": self.identifiers,
            "numbers": self.numbers,
            "lines that are not sentences": self.lines,
        }
        present = sorted((item for item in shares.items() if item[1]), key=lambda item: -item[1])
        named = ", ".join(f"{name} {share:.0%}" for name, share in present)
        return f"density {self.score:g} (limit {DENSE:g}): {named or 'sentences'}"


def density_of(text: str) -> Density:
    """Return how dense a text is."""
    lines = [line for line in text.splitlines() if line.strip()]
    words = [match.group().strip(_EDGES) for match in _WORD.finditer(text)]
    words = [word for word in words if word]
    if not lines or not words:
        return Density(0.0, 0.0, 0.0, 0.0, 0.0)
    # Letters alone are neither, unless there are capitals within the word.
    special = [word for word in words if not (word.isalpha() and word[1:].islower())]
    identifiers = [word for word in special if _IDENTIFIER.fullmatch(word)]
    numbers = [word for word in special if _NUMBER.fullmatch(word)]
    code = _code_lines(lines)
    return Density(
        _share(len(code), len(lines)),
        _share(_data_lines(lines, code), len(lines)),
        _share(len(identifiers), len(words)),
        _share(len(numbers), len(words)),
        _share(_broken_lines(lines), len(lines)),
    )


def without_fences(text: str) -> str:
    """Return the lines of a text outside its fenced code."""
    lines = text.splitlines()
    fenced = _fenced(lines)
    return "\n".join(line for row, line in enumerate(lines) if row not in fenced)


def _fenced(lines: list[str]) -> set[int]:
    """Return the indices of the lines of fenced code and of its marks."""
    marks = [row for row, line in enumerate(lines) if _FENCE.match(line)]
    ends = zip_longest(marks[::2], marks[1::2], fillvalue=len(lines) - 1)
    return {row for start, end in ends for row in range(start, end + 1)}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 2)


def _code_lines(lines: list[str]) -> set[int]:
    """Return the indices of the lines that are code: in a fence, or by their content."""
    return _fenced(lines) | {row for row, line in enumerate(lines) if _CODE_LINE.fullmatch(line)}


def _data_lines(lines: list[str], code: set[int]) -> int:
    """Count the lines that are data and not code."""
    one_by_one = [row for row, line in enumerate(lines) if row not in code and _is_data(line)]
    if one_by_one:  # people write plain lists, too
        one_by_one += [row for row, line in enumerate(lines) if row not in code and _is_item(line)]
    if len(lines) >= _MIN_LINES and len(one_by_one) >= _MIN_LINES - 1:
        return len(one_by_one)
    pairs = sum(len(_ASSIGNED.findall(line)) for line in lines)
    if pairs >= _MIN_PAIRS or any(_BRACKETS.match(line) and ":" in line for line in lines):
        return len(one_by_one)
    return 0


def _is_data(line: str) -> bool:
    if _SEPARATED.match(line) or _SECTION.match(line) or _BRACKETS.match(line):
        return True
    if _STAMPED.match(line) or _COMMAS.match(line) or _ASSIGNED.search(line):
        return True
    keyed = _KEYED.match(line)
    return keyed is not None and _is_value(keyed["value"] or "")


def _is_item(line: str) -> bool:
    item = _LISTED.match(line)
    return item is not None and not _is_data(line) and _is_value(item["value"])


def _is_value(text: str) -> bool:
    """Whether the text after a key is not a sentence."""
    return len(text.split()) <= _MAX_WORDS_OF_A_VALUE and not text.endswith((".", "!", "?"))


def _broken_lines(lines: list[str]) -> int:
    if len(lines) < _MIN_LINES:
        return 0
    return sum(not line.rstrip().endswith((".", "!", "?", '."', ".)")) for line in lines)
