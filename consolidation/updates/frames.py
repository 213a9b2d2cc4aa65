"""A sentence as what it is about and what it says of that, to tell old values from new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from slowwave.consolidation.comparison.mood import moods_of, pasts_of
from slowwave.consolidation.text import cues, lexicon, units
from slowwave.consolidation.text.reading import Reading, read
from slowwave.consolidation.text.tokens import Token, is_content, is_past_form, stem
from slowwave.consolidation.text.values import Value, covered

from .attributes import attribute_of, changed_by

Key = tuple[str, str]

_SPANS = frozenset({"minute", "hour", "day", "week", "month", "year"})
_OPENING = lexicon.OPENING | lexicon.PLACING
_BEFORE_A_THING = cues.BEFORE_A_THING - lexicon.PLACING


@dataclass(frozen=True)
class Frame:
    """One sentence as what it is about and what it says of it."""

    # As it stands, and without who said it.
    sentence: str
    reading: Reading

    @cached_property
    def cued(self) -> bool:
        """Whether it says plainly that it was otherwise before."""
        return not self.adds and cues.CUE.search(self.reading.said) is not None

    @cached_property
    def turned(self) -> bool:
        """Whether it says in which way that changed: "has moved", "was renamed"."""
        return not self.adds and cues.PLAIN_CUE.search(self.reading.said) is not None

    @cached_property
    def adds(self) -> bool:
        """Whether it ends nothing: it speaks of something more, of a while, or of a mere idea."""
        patterns = (cues.ADDED, cues.FOR_A_WHILE, cues.NOT_IN_FORCE)
        return any(pattern.search(self.reading.said) for pattern in patterns)

    @cached_property
    def doubted(self) -> bool:
        """Whether the speaker was not sure, or had it from somebody."""
        sentence = cues.PLAINLY_SO.sub(" is ", self.sentence)
        return self.reading.text != self.sentence or cues.HEDGED.search(sentence) is not None

    @cached_property
    def reported(self) -> bool:
        """Whether it is what somebody says, who may be wrong."""
        return self.reading.text != self.sentence and not self.moods & cues.DOUBTS

    @cached_property
    def moods(self) -> frozenset[str]:
        """The moods it is in; "can be reached at", "or newer" and the month of May are none."""
        return moods_of(read(cues.PLAINLY_SO.sub(" is ", self.reading.said)))

    @cached_property
    def state(self) -> bool:
        """Whether it says how things are, not what happened or is planned."""
        here = self.moods
        return not _happened(self.reading) and not here & (
            cues.DOUBTS if self.doubted else cues.NOT_SO
        )

    @cached_property
    def news(self) -> bool:
        """Whether it may say what is so now, and what was not before."""
        if self.adds:
            return False
        if self.cued and not self.moods & cues.PLANS:
            return True
        return self.state or cues.APPOSED.search(self.reading.said) is not None

    @cached_property
    def values(self) -> dict[Key, Value]:
        """The values that may be replaced; how often something happens is part of what it is.

        Since when it has been so is none of them.
        """
        return {
            one.key: one
            for one in self.reading.values
            if one.kind not in ("rate", "quoted") and not self._is_since(one) and not _is_name(one)
        }

    def _is_since(self, value: Value) -> bool:
        before = self.reading.said[: value.start]
        return value.kind in cues.DAYS and cues.SINCE_WHEN.search(before) is not None

    @cached_property
    def names(self) -> dict[str, int]:
        """The names outside of values, with the place of each among the words."""
        taken = covered(one for one in self.reading.stated if not _is_name(one))
        tokens = self.reading.tokens
        named = set(self.reading.names) - _openers(tokens)
        if cues.SUCCESSOR.match(self.reading.said):
            named.add(tokens[0].bare)
        named.update(
            (found["name"] or found["apposed"]).lower()
            for found in cues.CALLED.finditer(self.reading.said)
        )
        return {
            token.bare: at
            for at, token in enumerate(tokens)
            if token.bare in named and token.start not in taken
        }

    @cached_property
    def terms(self) -> dict[str, str]:
        """What it is about, by what it is compared by, each with the word that stands for it."""
        taken = covered(
            one for one in self.reading.stated if one.kind != "quoted" and not _is_name(one)
        )
        found: dict[str, str] = {}
        for token in self.reading.tokens:
            said = token.start not in taken and stem(token.bare) not in cues.TELLING_NOTHING
            for word in self._parts(token) if said else ():
                found.setdefault(word, token.bare)
        # How often it is so is part of what it is: a daily goal is not a weekly one.
        rates = (one for one in self.reading.values if one.kind == "rate")
        found.update({f"@{one.norm}": one.text for one in rates})
        if cues.AT_MOST.search(self.reading.said):
            found.setdefault("=limit", "at most")
        return found

    def _parts(self, token: Token) -> list[str]:
        """Return what a word is compared by; of "pick-up", each part."""
        if "-" in token.bare and token.bare not in self.names:
            return [attribute_of(part) for part in token.bare.split("-") if is_content(part)]
        return [self.term_of(token)] if is_content(token.bare) else []

    def term_of(self, token: Token) -> str:
        """Return what a word is compared by: a name by itself, another by its attribute or root.

        A "week" by how often it makes something: "3 euros a week", "weekly".
        """
        if token.bare in _SPANS and token.bare not in self.names:
            return f"@{units.UNITS[token.bare]}"
        return stem(token.bare) if token.bare in self.names else attribute_of(token.bare)

    @cached_property
    def topic_terms(self) -> frozenset[str]:
        """The words that say what it is about, names among them, as what they are compared by."""
        return frozenset(self.terms)

    @cached_property
    def implied(self) -> frozenset[str]:
        """The attributes of which it says that their value changed: who moved lives elsewhere."""
        return frozenset(
            attribute for token in self.reading.tokens for attribute in changed_by(token.bare)
        )

    @cached_property
    def of_user(self) -> bool:
        """Whether it is about the user, who may well be its only subject."""
        return "user" in self.reading.words

    @cached_property
    def ended(self) -> frozenset[int]:
        """The places in the text where it names what is so no longer."""
        return _spans(cues.ENDED, self.reading.said)

    @cached_property
    def given_up(self) -> frozenset[int]:
        """The same, with what may be denied without ever having been so."""
        return self.ended | _spans(cues.GIVEN_UP, self.reading.said)

    @cached_property
    def leaving(self) -> frozenset[int]:
        """The places where it names who has gone."""
        return _spans(cues.LEAVER, self.reading.said)

    @cached_property
    def ends(self) -> bool:
        """Whether it says that something is not so any more."""
        return cues.NO_MORE.search(self.reading.said) is not None

    @cached_property
    def complements(self) -> dict[str, frozenset[str]]:
        """What stands behind each joint: "for code" and "in staging"."""
        found: dict[str, set[str]] = {}
        for joint, words in _phrases(self.reading.tokens, cues.CONTRASTING):
            found.setdefault(joint, set()).update(map(self.term_of, words))
        return {joint: frozenset(terms) for joint, terms in found.items()}

    @cached_property
    def scopes(self) -> tuple[tuple[str, str], ...]:
        """The first word of each phrase that says where, when or for whom it is so, with its joint.

        A date says since when; and what explains a change, "after the move", is none.
        """
        passed = covered(self.values.values()) | _spans(cues.EXPLAINING, self.reading.said)
        phrases = (
            (joint, [one for one in words if stem(one.bare) not in cues.TELLING_NOTHING])
            for joint, words in _phrases(self.reading.tokens, cues.SCOPING)
        )
        return tuple(
            (joint, self.term_of(words[0]))
            for joint, words in phrases
            if words and not any(word.start in passed for word in words)
        )

    @cached_property
    def kept(self) -> frozenset[str]:
        """The words that it does not name as what has ended."""
        tokens = self.reading.tokens
        return frozenset(self.term_of(one) for one in tokens if one.start not in self.given_up)

    @cached_property
    def modifiers(self) -> dict[str, frozenset[str]]:
        """What stands right in front of a word and says which one of its kind: "kitchen light"."""
        return self._modifiers_among(self.reading.tokens)

    @cached_property
    def subject_modifiers(self) -> dict[str, frozenset[str]]:
        """The same in front of what says that something changed."""
        cue = cues.CUE.search(self.reading.said)
        end = cue.start() if cue is not None else len(self.reading.said)
        tokens = (one for one in self.reading.tokens if one.start < end)
        saying = [one for one in tokens if stem(one.bare) not in cues.TELLING_NOTHING]
        found = self._modifiers_among([one for one in saying if not is_past_form(one)])
        return {head: words for head, words in found.items() if head[0] != "="}

    def _modifiers_among(self, tokens: Sequence[Token]) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for before, token in pairwise(tokens):
            beside = token.start == before.start + len(before.text) + 1
            said = is_content(before.bare) and is_content(token.bare)
            if beside and said and not before.possessive:
                found.setdefault(self.term_of(token), set()).add(self.term_of(before))
        for token in tokens:
            # "alpha-api" is an api of a kind.
            for kind, head in pairwise(self._parts(token)):
                found.setdefault(head, set()).add(kind)
        return {head: frozenset(terms) for head, terms in found.items()}

    def spelled(self, terms: Iterable[str]) -> list[str]:
        """Return terms as words that stand here, in their order."""
        places = {term: at for at, term in enumerate(self.terms)}
        return [
            self.terms.get(one, one) for one in sorted(terms, key=lambda one: places.get(one, -1))
        ]


def frames_of(text: str) -> list[Frame]:
    """Return a text's sentences as what they are about."""
    sentences = (cues.USER_SAID.sub("", one) for one in read(text).sentences)
    return [Frame(one, read(cues.REPORT.sub("", one))) for one in _joined(sentences)]


def says_since_now(text: str) -> bool:
    """Whether it says that something is otherwise from the day on which it was said.

    Not where nothing says so, nor where it began at another time: "since March", "last week".
    """
    return any(
        frame.cued
        and not cues.EARLIER.search(frame.reading.said)
        and not any(value.kind in ("date", "month", "year") for value in frame.reading.values)
        for frame in frames_of(text)
    )


def _openers(tokens: Sequence[Token]) -> set[str]:
    """Return the words at the head of a sentence that a preposition shows to be no names."""
    return {
        token.bare
        for token, after in pairwise(tokens)
        if token.starts_sentence and after.lower in _OPENING
    }


def _is_name(value: Value) -> bool:
    """Whether it is written as a name in two humps is: "GitLab"."""
    return value.kind == "identifier" and value.text.isalpha() and value.text[:1].isupper()


def _spans(pattern: re.Pattern[str], text: str) -> frozenset[int]:
    return frozenset().union(
        *(
            range(*found.span(group))
            for found in pattern.finditer(text)
            for group in pattern.groupindex
            if found.start(group) >= 0
        )
    )


def _joined(sentences: Iterable[str]) -> list[str]:
    """Join a sentence that only points back with the one before it."""
    found: list[str] = []
    for sentence in sentences:
        if len(found) == 1 and cues.POINTS_BACK.match(sentence):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found.append(sentence)
    return found


def _phrases(tokens: Sequence[Token], joints: frozenset[str]) -> Iterator[tuple[str, list[Token]]]:
    """Yield each joint with the words behind it, up to the next word that joins."""
    for at, token in enumerate(tokens):
        before = tokens[at - 1].lower if at else ""
        if token.lower in joints and before not in cues.COMPOUND:
            words: list[Token] = []
            for later in tokens[at + 1 :]:
                determines = later.lower in _BEFORE_A_THING
                if later.starts_sentence or not (is_content(later.bare) or determines):
                    break
                if determines and words:
                    # "In CI the log level": another phrase begins.
                    break
                words.append(later)
            yield token.lower, [one for one in words if is_content(one.bare)]


def _happened(reading: Reading) -> bool:
    """Whether it tells an event; "a rented flat" and "lost property" are none."""
    described = {
        stem(token.bare)
        for before, token in zip((None, *reading.tokens), reading.tokens, strict=False)
        if before is None or before.possessive or before.lower in cues.BEFORE_A_THING
    }
    # "The file shipped in the image is ..." tells of no shipping.
    described.update(stem(found["done"].lower()) for found in cues.DESCRIBED.finditer(reading.said))
    return bool(pasts_of(reading) - described)
