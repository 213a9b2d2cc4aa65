"""Build the messages to a model from the prompts, each a text file.

The prompt comes first and never changes between calls, so that providers can cache it; the data
follows as JSON lines between two tags. Memories have short ids (m1, m2 ...).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from slowwave.consolidation.proposals import LeftOut, Operation, Source
from slowwave.store.records import UNDATED

Messages = list[dict[str, str]]
Prompt = Literal["write", "check", "repair", "notes", "conversation"]


@cache
def prompt(name: Prompt) -> str:
    """Return the text of a prompt."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()


class DraftToCheck(NamedTuple):
    """A draft or a conflict, with its memories."""

    # An operation, or `conflict`, which has no text.
    operation: Operation | Literal["conflict"]
    sources: Sequence[Source]
    text: str
    left_out: Sequence[LeftOut] = ()
    # (memory id, words of it) that a program did not find in the text.
    hints: Sequence[tuple[str, str]] = ()


def short_ids(sources: Sequence[Source]) -> dict[str, str]:
    """Return the sources' ids by their short ids in a prompt: m1, m2 ..."""
    return {f"m{number}": source.id for number, source in enumerate(sources, start=1)}


def ask_to_write(sources: Sequence[Source], derived: frozenset[str]) -> Messages:
    """Return the messages that ask to write. derived: ids of derived memories."""
    content = fenced("memories", list(_memory_lines(sources, derived)))
    if any(source.is_note for source in sources):
        content += f"\n{prompt('notes')}"
    return _messages("write", content)


def ask_to_repair(
    sources: Sequence[Source], derived: frozenset[str], faulty: Sequence[dict[str, Any]]
) -> Messages:
    """Return the messages that ask to repair groups, each with its faults."""
    messages = ask_to_write(sources, derived)
    groups = fenced("groups", [json_line(group) for group in faulty])
    messages[-1]["content"] += f"\n{prompt('repair')}\n{groups}"
    return messages


def ask_to_check(drafts: Sequence[DraftToCheck]) -> Messages:
    """Return the messages that ask to check drafts against their sources."""
    lines = [json_line(_checked(number, draft)) for number, draft in enumerate(drafts, start=1)]
    return _messages("check", fenced("groups", lines))


def ask_to_reformat(answer: str, fault: str) -> Messages:
    """Return an unreadable answer, and the request to answer again."""
    listed = fenced("faults", [json_line(fault)])
    request = f"That answer cannot be read:\n{listed}\nAnswer again, with one JSON object."
    return [{"role": "assistant", "content": answer}, {"role": "user", "content": request}]


def json_line(value: Any) -> str:
    """Return compact JSON: whitespace costs tokens."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fenced(name: str, lines: Sequence[str]) -> str:
    """Return JSON lines between two tags; "<" is escaped, so that no text can close them."""
    inside = "\n".join(lines).replace("<", "\\u003c")
    return f"<{name}>\n{inside}\n</{name}>"


def _messages(name: Prompt, content: str) -> Messages:
    return [{"role": "system", "content": prompt(name)}, {"role": "user", "content": content}]


def _memory_lines(sources: Sequence[Source], derived: frozenset[str]) -> Iterator[str]:
    """Yield each memory as a line, below its day."""
    day = ""
    for short, source in zip(short_ids(sources), sources, strict=True):
        noted = _day(source)
        if noted != day:
            day = noted
            yield day
        mark = "made " if source.id in derived else ""
        yield f"{short} {mark}{json_line(source.text)}"


def _day(source: Source) -> str:
    return "undated" if source.observed_at == UNDATED else source.observed_at[:10]


def _checked(number: int, draft: DraftToCheck) -> dict[str, Any]:
    short = {own: shown for shown, own in short_ids(draft.sources).items()}
    shown: dict[str, Any] = {
        "n": number,
        "operation": draft.operation,
        "memories": [
            {"id": short[source.id], "noted": _day(source), "text": source.text}
            for source in draft.sources
        ],
    }
    if draft.operation != "conflict":
        shown["text"] = draft.text
    if draft.left_out:
        shown["left_out"] = [
            {"id": short[omitted.memory], "words": omitted.words, "why": omitted.why}
            for omitted in draft.left_out
            if omitted.memory in short
        ]
    if draft.hints:
        shown["look_at"] = [{"id": short[memory], "words": words} for memory, words in draft.hints]
    return shown
