"""Plain text with speakers: `Marta: ...` at the start of a line, with a time before it or not.

What stands on the lines below belongs to the same message. Whoever is called as an assistant is
one; all others are people.
"""

from __future__ import annotations

import re
from collections import Counter

from .messages import Conversation, Message, Role, UnreadableConversation, moment_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ASSISTANTS = _words("assistant ai bot agent chatgpt gpt claude gemini copilot codex model llm")
_USERS = _words("user human me you i")
_TIME = r"\d{4}-\d\d-\d\d(?:[T ,]+\d{1,2}:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?"
_TURN = re.compile(
    rf"^(?:\[?(?P<time>{_TIME})\]?[ ,:-]*)?(?:\*\*|#{{1,4}} |<)?"
    r"(?P<speaker>[^\W\d_][\w.'-]*(?: [^\W\d_][\w.'-]*){0,2})"
    r"(?: ?[\[(](?P<behind>\d[^)\]]*)[\])])?(?:\*\*:|:\*\*|:|>)(?: +|$)(?P<text>.*)$"
)
# What stands before a colon and is nobody.
_NOBODY = _words(
    "note todo ps re subject date from to cc http https example warning error info fix update "
    "step question answer summary title"
)
# One who speaks once may be no speaker but a word with a colon behind it.
_FEWEST_TURNS = 2


class PlainText:
    """Plain text with speakers."""

    name = "text"

    def recognises(self, text: str) -> bool:
        """Whether a text is of this format, by a look at it."""
        return len(_speakers(text)) > 0

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversation in a text. Raises `UnreadableConversation`."""
        speakers = _speakers(text)
        if not speakers:
            raise UnreadableConversation(
                f"Nobody speaks in {name}.", "Each message begins with its speaker: 'Marta: ...'."
            )
        turns: list[tuple[re.Match[str], list[str]]] = []
        for line in text.splitlines():
            found = _TURN.match(line)
            if found is not None and found["speaker"].lower() in speakers:
                turns.append((found, [found["text"]]))
            elif turns:
                turns[-1][1].append(line)
        messages = (_message(found, "\n".join(lines).strip()) for found, lines in turns)
        return [Conversation(name, self.name, tuple(one for one in messages if one.text))]


def _speakers(text: str) -> set[str]:
    """Return the names, in lower case, of those who speak."""
    found = (_TURN.match(line) for line in text.splitlines())
    counts = Counter(one["speaker"].lower() for one in found if one is not None)
    known = {one for one in counts if one in _ASSISTANTS or one in _USERS}
    others = {
        one
        for one, count in counts.items()
        if one.split()[0] not in _NOBODY and (count >= _FEWEST_TURNS or len(known) == 1)
    }
    return (known | others) if len(known | others) > 1 else set()


def _message(found: re.Match[str], text: str) -> Message:
    speaker = found["speaker"]
    side: Role = "assistant" if speaker.lower() in _ASSISTANTS else "user"
    named = None if speaker.lower() in _ASSISTANTS | _USERS else speaker
    time = found["time"] or found["behind"]
    return Message(side, text, moment_of(time.replace(", ", "T")) if time else None, named)
