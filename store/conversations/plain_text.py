"""Plain text with speakers: `Marta: ...` at the start of a line, optionally after a time.

The lines that follow belong to the same message. Speakers with an assistant's name are assistants;
all others are people.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .inserted import without_inserted
from .messages import (
    Conversation,
    ConversationFormat,
    Message,
    RecordedFile,
    Role,
    UnreadableConversation,
    parse_time,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ASSISTANTS = _words("assistant ai bot agent chatgpt gpt claude gemini copilot codex model llm")
_USERS = _words("user human me you i")
_TIME = r"\d{4}-\d\d-\d\d(?:[T ,]+\d{1,2}:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?"
_TURN = re.compile(
    rf"^(?:\[?(?P<time>{_TIME})\]?[ ,:-]*)?(?:\*\*|#{{1,4}} |<)?"
    r"(?P<speaker>[^\W\d_][\w.'-]*(?: [^\W\d_][\w.'-]*){0,2})"
    r"(?: ?[\[(](?P<after>\d[^)\]]*)[\])])?(?:\*\*:|:\*\*|:|>)(?: +|$)(?P<text>.*)$"
)
# Between a day and an hour.
_GAP = re.compile(r"[T ,]+(\d{1,2}):")
# Words before a colon that are not speakers.
_NOBODY = _words(
    "note todo ps re subject date from to cc http https example warning error info fix update "
    "step question answer summary title"
)
# A name that appears once may be any word before a colon.
_MIN_TURNS = 2
# A rare name is a speaker if its line is in the first person.
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur)\b")
# A spoken sentence has lower-case words; a label is followed by numbers, names, a word or two.
_PLAIN_WORD = re.compile(r"(?<![\w@./-])[^\W\d_A-Z][^\W\d_]+(?![\w@/-])")
_MIN_PLAIN_WORDS = 3


class _Line(NamedTuple):
    """A line of a text, and how it begins a turn if its name is a speaker's."""

    text: str
    turn: re.Match[str] | None
    follows_blank: bool

    @property
    def name(self) -> str | None:
        """The name before its colon, in lower case; None for a word that is never a speaker."""
        name = self.turn["speaker"].lower() if self.turn else None
        return None if name is None or name.split()[0] in _NOBODY else name


def _read(file: RecordedFile) -> list[Conversation]:
    lines = _lines_of(file.text)
    # The user may have forced this format: then every name is a speaker.
    speakers = _speakers(lines) or {line.name for line in lines if line.name}
    if not speakers:
        raise UnreadableConversation(
            f"{file.name} has no speakers.", "Start each message with its speaker: 'Marta: ...'."
        )
    turns: list[tuple[re.Match[str], list[str]]] = []
    for line in lines:
        if line.turn is not None and line.name in speakers:
            turns.append((line.turn, [line.turn["text"]]))
        elif turns:
            turns[-1][1].append(line.text)
    messages = (_message(turn, without_inserted("\n".join(texts))) for turn, texts in turns)
    return [Conversation(file.name, tuple(message for message in messages if message.text))]


def _lines_of(text: str) -> list[_Line]:
    texts = text.splitlines()
    return [
        _Line(line, _TURN.match(line), not before.strip())
        for before, line in zip(["", *texts], texts, strict=False)
    ]


def _speakers(lines: Sequence[_Line]) -> set[str]:
    """Return the speakers' names in lower case."""
    counts = Counter(line.name for line in lines if line.name)
    roles = {name for name in counts if name in _ASSISTANTS or name in _USERS}
    frequent = {name for name, count in counts.items() if count >= _MIN_TURNS or len(roles) == 1}
    speakers = roles | frequent
    if len(speakers) < 2:
        return set()
    capitalized = [
        (line, line.name, line.turn)
        for line in lines
        if line.turn and line.name and line.turn["speaker"][0].isupper()
    ]
    # Names before lines that have a time or are in the first person.
    speakers |= {
        name for _, name, turn in capitalized if turn["time"] or _FIRST_PERSON.search(turn["text"])
    }
    # A conversation of a user and an assistant has no further speakers.
    if len(roles) > 1:
        return speakers
    # Names before sentences that are laid out like the known speakers' turns: either every line
    # of the text is a turn, or every turn follows a blank line.
    are_all_turns = all(line.turn for line in lines if line.text.strip())
    are_apart = all(line.follows_blank for line in lines if line.name in speakers)
    return speakers | {
        name
        for line, name, turn in capitalized
        if (are_all_turns or (are_apart and line.follows_blank))
        and len(_PLAIN_WORD.findall(turn["text"])) >= _MIN_PLAIN_WORDS
    }


def _message(turn: re.Match[str], text: str) -> Message:
    speaker = turn["speaker"]
    role: Role = "assistant" if speaker.lower() in _ASSISTANTS else "user"
    name = None if speaker.lower() in _ASSISTANTS | _USERS else speaker
    return Message(role, text, _time_of(turn), name)


def _time_of(turn: re.Match[str]) -> str | None:
    """Return the time of a turn in ISO 8601, as in "2026-05-01, 9:30"; None without one."""
    time = turn["time"] or turn["after"]
    return parse_time(_GAP.sub(lambda gap: f"T{gap[1]:0>2}:", time or ""))


TEXT = ConversationFormat("text", lambda file: bool(_speakers(_lines_of(file.text))), _read)
