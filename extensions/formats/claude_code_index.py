"""The lines of MEMORY.md, one for each memory, which each session loads: shorten them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from slowwave.consolidation.text.tokens import count_tokens
from slowwave.store.places import Budget

from .claude_code_files import LISTED, File, clauses, listed_name, plain
from .text_file import lines_of

# "[since 2026-02-09] " before a text that is true since then.
MARKS = re.compile(r"\[[^\]]*\d{4}-\d{2}-\d{2}\] ")
# What is between a link and its text; "-5" is part of the text.
_SEPARATOR = re.compile(r"^\s*(?:[—:]|-(?=\s))\s*")
# Lines and bytes of the index that a session loads.
_MAX_LINES, _MAX_BYTES = 200, 25_000
# What replaces the end of a line.
_CUT = " …"
# Characters of a fact in the index.
MAX_HOOK = 100


def index_line(file: File) -> str:
    """Return the line of a new file."""
    title = file.name.removesuffix(".md").replace("-", " ").capitalize()
    return f"- [{title}]({file.name}) — {hook_of(file.body)}\n"


def with_hook(line: str, hook: str) -> str:
    """Return a line with another text after its link."""
    match = LISTED.match(line)
    return line if match is None else f"{match[0]} — {hook}{_end_of(line)}"


def hook_in(line: str) -> str:
    """Return the text of a line after its link."""
    return _SEPARATOR.sub("", LISTED.sub("", line, count=1)).strip()


def hook_of(text: str, limit: int = MAX_HOOK) -> str:
    """Return what a text is about on one line, without characters that YAML interprets.

    That is its first line that is not a heading. limit: its maximum number of characters.
    """
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    first = next((line for line in lines if not line.startswith(("#", "```"))), lines[0])
    line = MARKS.sub("", " ".join(first.split())).replace("**", "")
    if len(line) > limit:
        # After a word, if there are spaces between words.
        space = line.rfind(" ", limit - 1 - MAX_HOOK // 2, limit - 1)
        line = f"{line[: limit - 1 if space < 0 else space].rstrip(' ,;:.—-')}…"
    return plain(line)


def budgets(index: str, target: int | None = None) -> tuple[Budget, Budget]:
    """Return how full an index is, in lines and in bytes. target: the bytes to reach."""
    lines, size = lines_of(index), index.encode()
    loaded = "".join(lines[:_MAX_LINES]).encode()[:_MAX_BYTES].decode(errors="ignore")
    tokens = count_tokens(loaded)
    return (
        Budget(len(lines), _MAX_LINES, "lines", tokens=tokens, all_bytes=_MAX_BYTES),
        Budget(len(size), _MAX_BYTES, "bytes", tokens=tokens, all_bytes=_MAX_BYTES, target=target),
    )


def to_shorten(lines: Sequence[str], files: Mapping[str, File], target: int) -> Iterator[File]:
    """Yield the files whose lines must be shortened for an index to fit, as far as that helps.

    A file that is listed twice comes before others, and what was written long ago before the rest.
    """
    excess = len("".join(lines).encode()) - min(target, _MAX_BYTES)
    own: dict[str, list[str]] = {}
    for line in lines:
        own.setdefault(listed_name(line) or "", []).append(line)
    listed = [file for file in files.values() if file.name in own]
    for file in sorted(listed, key=lambda file: (len(own[file.name]) == 1, file.observed_at)):
        before = own[file.name]
        after = list(shortened(before, file))
        is_twice = len(after) < len(before) and len(lines) > _MAX_LINES
        if after != before and (excess > 0 or is_twice):
            excess -= len("".join(before).encode()) - len("".join(after).encode())
            yield file


def shortened(lines: Iterable[str], file: File) -> Iterator[str]:
    """Yield lines of the index, those about a file without what the file itself says.

    The first keeps its link and the beginning of its text, later ones only what the file lacks.
    """
    is_listed = False
    for line in lines:
        if listed_name(line) != file.name:
            yield line
            continue
        short, rest = _parted(line)
        if is_listed and file.says(LISTED.sub("", line)):
            continue
        is_short = is_listed or not rest or not file.says(rest)
        is_listed = True
        yield line if is_short else f"{short}{_CUT}{_end_of(line)}"


def says_more(line: str, file: File) -> bool:
    """Whether a long line cannot be shortened, because its file lacks the rest."""
    rest = _parted(line)[1]
    return bool(rest) and not file.says(rest)


def ended(lines: Iterable[str]) -> list[str]:
    """Return lines with an end, which only the last may lack."""
    texts = list(lines)
    return [line if line.endswith("\n") else f"{line}\n" for line in texts[:-1]] + texts[-1:]


def _parted(line: str) -> tuple[str, str]:
    """Return the clauses of a line that are enough to find its file, and the rest, if any."""
    text, match = line.rstrip("\r\n").removesuffix(_CUT), LISTED.match(line)
    if match is None or len(text) <= len(match[0]) + MAX_HOOK:
        return text, ""
    hook = text[len(match[0]) :]
    space, parts = hook[: len(hook) - len(hook.lstrip())], clauses(hook)
    heads = [" ".join(parts[:count]) for count in range(1, len(parts))]
    # Without those that end within quotes or brackets.
    heads = [head for head in heads if not any(head.count(mark) % 2 for mark in '"`')]
    heads = [head for head in heads if head.count("(") == head.count(")")]
    for head in [head for head in heads if len(head) <= MAX_HOOK][-1:] or heads[:1]:
        return f"{match[0]}{space}{head.rstrip(' ;')}", " ".join(parts)[len(head) :].strip()
    return text, ""


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
