"""Plain text with speakers: `Marta: ...` at the start of a line, optionally after a time.

The lines that follow belong to the same message. Speakers with an assistant's name are assistants;
all others are people.
"""

from __future__ import annotations

import re
from collections import Counter

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
# It is still a speaker if its line is in the first person.
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur)\b")
# A spoken sentence has lower-case words; a label is followed by numbers, names, a word or two.
_PLAIN_WORD = re.compile(r"(?<![\w@./-])[^\W\d_A-Z][^\W\d_]+(?![\w@/-])")
_MIN_PLAIN_WORDS = 3


def _read(file: RecordedFile) -> list[Conversation]:
    # The user may have forced this format: then every name is a speaker.
    speakers = _speakers(file.text) or _names(file.text)
    if not speakers:
        raise UnreadableConversation(
            f"{file.name} has no speakers.", "Start each message with its speaker: 'Marta: ...'."
        )
    turns: list[tuple[re.Match[str], list[str]]] = []
    for line in file.text.splitlines():
        turn = _TURN.match(line)
        if turn is not None and turn["speaker"].lower() in speakers:
            turns.append((turn, [turn["text"]]))
        elif turns:
            turns[-1][1].append(line)
    messages = (_message(turn, without_inserted("\n".join(lines))) for turn, lines in turns)
    return [Conversation(file.name, tuple(message for message in messages if message.text))]


def _speakers(text: str) -> set[str]:
    """Return the speakers' names in lower case."""
    counts = _names(text)
    roles = {name for name in counts if name in _ASSISTANTS or name in _USERS}
    frequent = {name for name, count in counts.items() if count >= _MIN_TURNS or len(roles) == 1}
    speakers = roles | frequent
    if len(speakers) < 2:
        return set()
    speakers |= _timed_or_first_person(text)
    # A conversation of a user and an assistant has no further speakers.
    return speakers if len(roles) > 1 else speakers | _names_in_same_layout(text, speakers)


def _timed_or_first_person(text: str) -> set[str]:
    """Return the names before lines that have a time or are in the first person."""
    names = (
        turn["speaker"].lower()
        for turn in map(_TURN.match, text.splitlines())
        if turn is not None
        and turn["speaker"][0].isupper()
        and (turn["time"] or _FIRST_PERSON.search(turn["text"]))
    )
    return {name for name in names if name.split()[0] not in _NOBODY}


def _names_in_same_layout(text: str, speakers: set[str]) -> set[str]:
    """Return the names before sentences that are laid out like the known speakers' turns.

    Either every line of the text is a turn, or every turn follows a blank line.
    """
    lines = [(line, _TURN.match(line)) for line in text.splitlines()]
    matches = [
        (turn, number == 0 or not lines[number - 1][0].strip())
        for number, (_, turn) in enumerate(lines)
        if turn is not None
    ]
    turns = [blank for turn, blank in matches if turn["speaker"].lower() in speakers]
    one_line_each = len(matches) == sum(bool(line.strip()) for line, _ in lines)
    after_blanks = all(turns)
    alike = (
        turn["speaker"]
        for turn, blank in matches
        if (one_line_each or (after_blanks and blank))
        and len(_PLAIN_WORD.findall(turn["text"])) >= _MIN_PLAIN_WORDS
    )
    return {
        name.lower()
        for name in alike
        if name[0].isupper() and name.lower().split()[0] not in _NOBODY
    }


def _names(text: str) -> Counter[str]:
    """Count how often each name precedes a colon, in lower case."""
    turns = (_TURN.match(line) for line in text.splitlines())
    names = (turn["speaker"].lower() for turn in turns if turn is not None)
    return Counter(name for name in names if name.split()[0] not in _NOBODY)


def _message(turn: re.Match[str], text: str) -> Message:
    speaker = turn["speaker"]
    role: Role = "assistant" if speaker.lower() in _ASSISTANTS else "user"
    named = None if speaker.lower() in _ASSISTANTS | _USERS else speaker
    return Message(role, text, _time_of(turn), named)


def _time_of(turn: re.Match[str]) -> str | None:
    """Return the time of a turn in ISO 8601, as in "2026-05-01, 9:30"; None without one."""
    time = turn["time"] or turn["after"]
    return parse_time(_GAP.sub(lambda gap: f"T{gap[1]:0>2}:", time or ""))


TEXT = ConversationFormat("text", lambda file: bool(_speakers(file.text)), _read)
