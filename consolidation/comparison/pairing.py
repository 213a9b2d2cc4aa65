"""Two texts prepared to be compared: what both have in two spellings comes out in one.

Only the other text tells whether "start-up" may be "startup", whether "SLA" is short for a "service
level agreement", and that `yarn install` without its marks is the same command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from slowwave.consolidation.text import lexicon
from slowwave.consolidation.text.literals import mask_literals, stands_in
from slowwave.consolidation.text.normalise import normalise
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.tokens import is_past_form, is_verb, stem, tokenise
from slowwave.consolidation.thresholds import MOST_MASKED

from .objections import Objection

# "Re-sign" is not "resign".
_HYPHENED = re.compile(r"(?<![\w-])(?!re-)[^\W\d_]+(?:-[^\W\d_]+)+(?![\w-])", re.IGNORECASE)
# With two letters alone, too many words begin with them.
_ACRONYM = re.compile(r"(?<![\w-])[A-Z]{3,5}(?![\w-])")
# "We never", but not "we use": that is no order.
_SUBJECT = re.compile(r"^(?:(?:the )?user |we (?=do not|don['’]t|never))", re.IGNORECASE)
_MUST_BE = re.compile(r"^([^.;:,!?]+?) must be ([a-z]+)\b(.*)$", re.DOTALL)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def literals(left: Reading, right: Reading) -> Iterator[Objection]:
    """Find what is meant to the letter in one, and does not stand like that in the other."""
    if not (left.literals or right.literals):
        return
    here, there = (
        [content for content in side.literal_contents if not _holds(other, content)]
        for side, other in ((left, right), (right, left))
    )
    if here or there:
        yield Objection("literal", ", ".join(here), ", ".join(there), bool(here and there))


def _holds(reading: Reading, content: str) -> bool:
    return content in reading.literal_contents or stands_in(content, reading.unmarked)


class TextPair:
    """Two texts in which what both have in two spellings stands in one."""

    def __init__(self, left: Reading, right: Reading) -> None:
        """Bring both into one spelling."""
        self._contents: dict[str, str] = {}
        texts = left.bare, right.bare
        if left.literals or right.literals:
            texts = self._masked(left, right)
        for spelled in (_with_hyphens, _with_acronyms, _without_subject, _as_order):
            texts = spelled(*texts), spelled(*texts[::-1])
        changed = texts != (left.bare, right.bare)
        self.left, self.right = map(read, texts) if changed else (left, right)

    def unmasked(self, objection: Objection) -> Objection:
        """Return an objection with the literals as they stand in the texts."""
        if not self._contents:
            return objection
        sides = [objection.left, objection.right]
        for name, content in self._contents.items():
            sides = [one.replace(name, content) for one in sides]
        return replace(objection, left=sides[0], right=sides[1])

    def _masked(self, left: Reading, right: Reading) -> tuple[str, str]:
        both = [
            content
            for content in dict.fromkeys((*left.literal_contents, *right.literal_contents))
            if _holds(left, content) and _holds(right, content)
        ]
        if len(both) > MOST_MASKED:
            return left.bare, right.bare
        names = {content: _name(at) for at, content in zip(count(), both, strict=False)}
        self._contents = {name: content for content, name in names.items()}
        return mask_literals(left.bare, names), mask_literals(right.bare, names)


def _name(at: int) -> str:
    """Return a word that no text has and that no rule knows."""
    return f"zq{_name(at // 26)[2:] if at >= 26 else ''}{_LETTERS[at % 26]}q"


def _with_hyphens(text: str, other: str) -> str:
    """Write with hyphens what the other text writes with them: "trunk based", "startup"."""
    if "-" not in other:
        return text
    for word in dict.fromkeys(_HYPHENED.findall(other)):
        parts = "[ -]?".join(map(re.escape, word.split("-")))
        # Not the word itself, whose capitals may say something.
        pattern = rf"(?<![\w-])(?!{re.escape(word)}){parts}(?![\w-])"
        text = re.sub(pattern, word.lower(), text, flags=re.IGNORECASE)
    return text


def _with_acronyms(text: str, other: str) -> str:
    """Write short what the other writes short: "service level agreement" beside "SLA"."""
    for short in dict.fromkeys(_ACRONYM.findall(other)):
        if short not in text:
            words = r"[ -]".join(rf"{letter}[^\W\d_]+" for letter in short)
            text = re.sub(rf"(?<![\w-]){words}(?![\w-])", short, text, flags=re.IGNORECASE)
    return text


def _without_subject(text: str, other: str) -> str:
    """Leave out the user of "User uses zsh" where the other text begins with what they do."""
    found = _SUBJECT.match(text)
    if found is None or _SUBJECT.match(other):
        return text
    rest = text[found.end() :]
    alike = _first_word(rest) == _first_word(other)
    return rest if alike and (found[0][0] in "wW" or _is_deed(rest)) else text


def _is_deed(text: str) -> bool:
    """Whether a text begins with what someone does: "reports bugs", but not "reports are slow"."""
    deed, after = (*tokenise(text)[:2], None, None)[:2]
    if deed is None or after is None or not deed.lower.endswith("s"):
        return False
    goes_on = after.lower in lexicon.PASSIVE_AUXILIARIES | lexicon.MODALS | lexicon.NEGATORS
    return not goes_on and not is_past_form(after) and not is_verb(after.lower)


def _first_word(text: str) -> str:
    return normalise(text).partition(" ")[0].lower()


def _as_order(text: str, other: str) -> str:
    """Put "images must be tagged" as the order that the other text gives: "tag images"."""
    if "be " not in text:
        return text
    found = _MUST_BE.match(normalise(text))
    verb = other.partition(" ")[0].lower()
    if found is None or not verb or stem(found[2]) != stem(verb):
        return text
    return f"{verb} {found[1][:1].lower()}{found[1][1:]}{found[3]}"
