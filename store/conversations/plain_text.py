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
# Among others who speak, it is one all the same if it tells of itself: else another had said that.
_OF_ONESELF = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur)\b")
# What somebody says has some of these words; behind a label stand numbers, names, a word or two.
_PLAIN_WORD = re.compile(r"(?<![\w@./-])[^\W\d_A-Z][^\W\d_]+(?![\w@/-])")
_FEWEST_PLAIN_WORDS = 3


class PlainText:
    """Plain text with speakers."""

    name = "text"

    def recognises(self, text: str) -> bool:
        """Whether a text is of this format, by a look at it."""
        return len(_speakers(text)) > 0

    def read(self, text: str, name: str) -> list[Conversation]:
        """Return the conversation in a text. Raises `UnreadableConversation`."""
        # Whoever named this format means each name, also of one who speaks once or alone.
        speakers = _speakers(text) or _names(text)
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
    counts = _names(text)
    known = {one for one in counts if one in _ASSISTANTS or one in _USERS}
    others = {one for one, count in counts.items() if count >= _FEWEST_TURNS or len(known) == 1}
    speakers = known | others
    if len(speakers) < 2:
        return set()
    speakers |= _telling_of_themselves(text)
    # Where a user and an assistant speak, nobody else does.
    return speakers if len(known) > 1 else speakers | _laid_out_alike(text, speakers)


def _telling_of_themselves(text: str) -> set[str]:
    """Return the names before lines that have a time, or say something of who says them."""
    found = [one for one in map(_TURN.match, text.splitlines()) if one is not None]
    telling = (
        one["speaker"].lower()
        for one in found
        if one["speaker"][0].isupper() and (one["time"] or _OF_ONESELF.search(one["text"]))
    )
    return {one for one in telling if one.split()[0] not in _NOBODY}


def _laid_out_alike(text: str, speakers: set[str]) -> set[str]:
    """Return the names before lines that stand as turns do in this text, and say a sentence.

    That is: each turn is one line, or each begins behind a blank one.
    """
    lines = [(line, _TURN.match(line)) for line in text.splitlines()]
    said = [
        (found, number == 0 or not lines[number - 1][0].strip())
        for number, (_, found) in enumerate(lines)
        if found is not None
    ]
    turns = [blank for found, blank in said if found["speaker"].lower() in speakers]
    one_line_each = len(said) == sum(bool(line.strip()) for line, _ in lines)
    behind_blanks = all(turns)
    alike = (
        found["speaker"]
        for found, blank in said
        if (one_line_each or (behind_blanks and blank))
        and len(_PLAIN_WORD.findall(found["text"])) >= _FEWEST_PLAIN_WORDS
    )
    return {
        one.lower() for one in alike if one[0].isupper() and one.lower().split()[0] not in _NOBODY
    }


def _names(text: str) -> Counter[str]:
    """Count how often each name stands before a colon, in lower case."""
    found = (_TURN.match(line) for line in text.splitlines())
    names = (one["speaker"].lower() for one in found if one is not None)
    return Counter(one for one in names if one.split()[0] not in _NOBODY)


def _message(found: re.Match[str], text: str) -> Message:
    speaker = found["speaker"]
    side: Role = "assistant" if speaker.lower() in _ASSISTANTS else "user"
    named = None if speaker.lower() in _ASSISTANTS | _USERS else speaker
    time = found["time"] or found["behind"]
    return Message(side, text, moment_of(time.replace(", ", "T")) if time else None, named)
