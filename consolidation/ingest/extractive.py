"""Extract memories without a model: sentences that state facts, preferences or instructions.

They are recognized by form. A standing instruction has a word like "always", "from now on" or
"never"; a preference says what the user likes; a fact is about the user's own life or work ("my",
"our", "we use") and has a detail. Questions, one-time requests, guesses and references to earlier
sentences are skipped. Nothing is reworded: a sentence in the first person is attributed to its
speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.text.tokens import Token, is_content, is_past_form, is_verb, lemma

from .candidates import (
    MAX_LENGTH,
    MIN_LENGTH,
    Candidate,
    Citation,
    PartRead,
    latest_moment,
    with_day,
    within_limits,
)
from .parts import Part, PlacedMessage

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
# Lines that are not sentences: quotations, tables, headings, rules, output of programs.
_NOT_SENTENCE = re.compile(r"^\s*(?:>|\||#{1,6} |[-=*_]{3,}\s*$|\$ |\d+[:|] |at \S+\(|Traceback )")
_BULLET = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+")
# Introductory words.
_LEAD = re.compile(
    r"^(?:(?:ok(?:ay)?|so|and|but|oh|well|also|hey|hi|hello|yes|yeah|yep|no|sure|great|perfect|"
    r"thanks|thank you|sorry|right|nice|good|ah|actually|btw|by the way|fyi|just so you know|"
    r"for (?:context|reference|the record)|(?:please )?(?:remember|note|keep in mind)(?: that)?|"
    r"one (?:more |last |other )?thing(?: [\w ]{1,30}(?=:))?|some (?:background|context)|"
    r"quick (?:note|update))"
    r"(?:\s*[,:;!.\u2013\u2014-]+\s*|\s+(?=(?:and|so|also|btw|that|the|i|we|my|our|please|"
    r"always|never|don't)\b)))+",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|(?i:my|mine|me|myself|we|our|ours)|us)\b")
# The end of a sentence without capitals; not after "e.g." or "approx.".
_CHAT_END = re.compile(
    r"(?<=[a-z0-9]{2}[.!?])(?<!etc\.)(?<!rox\.)(?<! vs\.)(?<! no\.)\s+(?=[a-z])|"
    r"(?<=[!?])\s+(?=[a-z])"
)
_OF_ONESELF = re.compile(
    r"^(?:[^,.;]{0,40}, )?(?:I|I'm|I've|we|we're|we've|my|our|both my|all (?:of )?(?:my|our))\b",
    re.IGNORECASE,
)
# Words of standing instructions.
_STANDING = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|every time|each time|whenever|"
    r"by default|must(?:n't)?|mandatory|forbidden|not allowed|has to be|have to be|"
    r"(?:house |our |my |the )?(?:rule|policy|convention)s? (?:is|here|are)|should (?:always|never|"
    r"not|be)|shouldn't|no \w+ without|only after|unless I|until I)\b|"
    r"^(?:please )?(?:do not|don't|avoid|stop|keep|use|prefer|leave|remember to|make sure|answer|"
    r"reply|write)\b",
    re.IGNORECASE,
)
_STARTS_AS_ORDER = re.compile(
    r"^(?:please )?(?:keep|use|prefer|leave|make sure|answer|reply|write|stop)\b", re.IGNORECASE
)
# Words that make an order a standing one.
_FOR_EVERY_TIME = re.compile(
    r"\b(?:always|never|every|each|all|any|whenever|from now on|in future|by default|only|"
    r"instead of|rather than|unless|without|no|not|please|your answers?|short|brief)\b",
    re.IGNORECASE,
)
_NO_RULE = re.compile(
    r"\b(?:don't (?:worry|know|think|see|get|mind|understand|remember|have|need|care|forget)|"
    r"do not (?:know|think|see|have|need)|^(?:I|we) (?:don't|do not)|"
    r"never mind|for now|this (?:time|once)|yet\b|must have been|should be (?:fine|good|ok|able|"
    r"enough)|let me know)",
    re.IGNORECASE,
)
_LIKING = re.compile(
    r"\b(?:I|we)(?:'d| would| really| do| don't| do not| actually| generally| usually| much| "
    r"strongly| absolutely| personally| never| can't| cannot| also| still)* "
    r"(?:prefer|like|love|enjoy|hate|dislike|loathe|stand|rather|adore|favou?r)\b|"
    r"\bI(?:'ve)? (?:always|never|usually|generally|tend to|only ever)\b|"
    r"\b(?:my|our) favou?rite\b|\b(?:I'm|I am|we're|we are) (?:not )?(?:a (?:big |huge )?fan of|"
    r"into|fond of)\b|\bI(?:'d| would) rather\b",
    re.IGNORECASE,
)
_NO_LIKING = re.compile(
    r"\b(?:would|'d) (?:really )?(?:like|love|prefer) (?:to|you|it if|some|a|your)\b|"
    r"\b(?:like|love|prefer|enjoy) (?:it|this|that|these|those|the (?:first|second|last|idea))\b",
    re.IGNORECASE,
)
# Guesses, feelings, attempts, momentary wishes, and complaints.
_PASSING = re.compile(
    r"\b(?:I|we)(?:'m| am|'re| are|'ve| have|'ll| will|'d| would)?(?: just| also| still| now)? "
    r"(?:think|guess|suppose|wonder\w*|believe|feel|hope|mean|see|know|understand|need|want|"
    r"wanted|trying|tried|looking|getting|get (?:an?|the|this|that|it)\b|ran|seeing|stuck|"
    r"confused|not sure|sure|sorry|happy|glad|done|back|going to|about to|working on (?:it|this|"
    r"that)|asking|curious|saw|noticed|try|check|let|look|start|fix|explain|show|help|suggest|"
    r"recommend|a question)\b|"
    r"\b(?:perhaps|maybe|probably|might|I'd say|can you|could you|would you|let's|thank|thanks|"
    r"help me|here is|here's|here are|why)\b|"
    r"\b(?:is|are|was|comes? out|keeps?|looks?) (?:all |still |just )?(?:wrong|broken|failing|"
    r"down|stuck|not working|slow|weird|odd|too \w+|dense|fine|ok|okay|great)\b|"
    r"\b(?:doesn't|don't|didn't|won't|isn't|not) work(?:ing)?\b",
    re.IGNORECASE,
)
# "Own" as a verb; elsewhere it is a function word.
_OWNING = re.compile(r"\b(?:I|we|they) (?:also |still )?own\b", re.IGNORECASE)
_POINTING = frozenset(
    {"it", "this", "that", "these", "those", "they", "he", "she", "its", "their", "his", "her"}
    | {"such", "which", "then", "there", "both", "them", "otherwise", "here"}
)
_ACTING = frozenset({"i", "we", "you", "they", "he", "she", "it", "who", "to"})
# Findings and changes of an assistant.
_OUTCOME = re.compile(
    r"\b(?:the (?:root )?cause (?:was|is|turned out)|the (?:problem|bug|issue|culprit) (?:was|is)|"
    r"turned out|(?:is|are) now\b|now (?:runs?|uses?|listens?|lives?|points?|returns?|reads?)|"
    r"I(?:'ve| have)(?: now| also)? (?:changed|set|moved|switched|renamed|configured|pinned|"
    r"raised|lowered|replaced|upgraded|booked|scheduled|removed|added|fixed)|we decided|"
    r"was caused by|fixed by)\b",
    re.IGNORECASE,
)
_MIN_STEMS = 3


# The kind and importance of a sentence.
_Kind = tuple[str, int]
_INSTRUCTION = ("instruction", 4)
_PREFERENCE = ("preference", 3)
_FACT = ("fact", 3)
_MINOR = ("fact", 2)


def read_part(part: Part) -> PartRead:
    """Return the sentences of a part to remember."""
    found = [candidate for message in part.new for candidate in _candidates(message)]
    return PartRead(part, candidates=within_limits(found, part.options))


def _candidates(placed: PlacedMessage) -> Iterator[Candidate]:
    before = ""
    for sentence in _sentences(placed.message.text):
        bare = _LEAD.sub("", sentence).strip()
        fact = bare
        if _points_back(bare):
            fact = f"{before} {bare}" if before else ""
        kind = _kind_of(bare, placed) if fact else None
        before = "" if "?" in bare else bare
        if kind is not None and MIN_LENGTH <= len(fact) <= MAX_LENGTH:
            citations = (Citation(placed, (fact,)),)
            content = with_day(_attributed(fact, placed), latest_moment(citations))
            yield Candidate(content, *kind, citations=citations)


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a message, without code and quotations."""
    for line in _CODE.sub("\n", text).splitlines():
        if not _NOT_SENTENCE.match(line):
            plain = _BULLET.sub("", line).strip()
            for sentence in read(plain).sentences:
                yield from (clause.strip() for clause in _CHAT_END.split(sentence))


def _points_back(sentence: str) -> bool:
    """Whether a sentence starts with a reference to an earlier one; not "this repo"."""
    first, second = ([token.lower for token in read(sentence).tokens[:2]] + ["", ""])[:2]
    if first in ("this", "these", "that", "those"):
        # A verb in its base form is behind a plural alone: "those fail", and not "this repo".
        return not is_content(second) or (first in ("these", "those") and is_verb(second))
    return first in _POINTING or not first


def _kind_of(sentence: str, placed: PlacedMessage) -> _Kind | None:
    reading = read(sentence)
    if not _is_statement(sentence, reading):
        return None
    if placed.message.role == "assistant":
        tells = _OUTCOME.search(sentence) and _has_sure_detail(reading)
        return _MINOR if tells and not _PASSING.search(sentence) else None
    if _LIKING.search(sentence) and not _NO_LIKING.search(sentence):
        return _PREFERENCE
    if _is_standing(sentence):
        return _INSTRUCTION
    return _fact(sentence, reading)


def _is_statement(sentence: str, reading: Reading) -> bool:
    if "?" in sentence or sentence.endswith(":") or commands(sentence):
        return False
    letters = sum(letter.isalpha() or letter.isspace() for letter in sentence)
    # A line with many symbols is code.
    enough = len(reading.stems) + len(reading.values) > 1
    return 3 * len(sentence) <= 4 * letters and enough and reading.is_english


def _is_standing(sentence: str) -> bool:
    """Whether a sentence is a standing instruction."""
    if not _STANDING.search(sentence) or _NO_RULE.search(sentence):
        return False
    return not _STARTS_AS_ORDER.match(sentence) or bool(_FOR_EVERY_TIME.search(sentence))


def _fact(sentence: str, reading: Reading) -> _Kind | None:
    if _PASSING.search(sentence) or not _states(sentence, reading):
        return None
    has_detail = bool(reading.names or reading.values)
    is_long = len(reading.stem_set) >= _MIN_STEMS
    if _OF_ONESELF.match(sentence):
        return _FACT if has_detail or is_long else None
    # Other subjects: a sentence with a name or a value may be common knowledge.
    return _MINOR if has_detail and is_long else None


def _has_sure_detail(reading: Reading) -> bool:
    """Whether it has a name or a value, other than a number in words."""
    return bool(reading.names) or any(
        value.kind != "number" or any(map(str.isdigit, value.words)) for value in reading.values
    )


def _states(sentence: str, reading: Reading) -> bool:
    """Whether a sentence has a finite verb."""
    if not {"be", "have"}.isdisjoint(map(lemma, reading.words)) or _OWNING.search(sentence):
        return True
    acting = _ACTING.union(reading.names)
    return any(
        _is_verb(token, before, before.bare in acting) for before, token in pairwise(reading.tokens)
    )


def _is_verb(token: Token, before: Token, acts: bool) -> bool:
    """Whether a word may be the verb of the word before it: "we fly", "the pump leaks"."""
    if token.capitalised or not is_content(token.bare):
        return False
    if is_past_form(token):
        return True
    ends_as_verb = token.lower.endswith("s") and is_content(before.bare)
    return (acts or ends_as_verb) and is_verb(token.bare.removesuffix("s"))


def _attributed(fact: str, placed: PlacedMessage) -> str:
    """Return a self-contained text: in the first person, it is attributed to its speaker."""
    text = fact[0].upper() + fact[1:]
    text = text if text[-1] in ".!" else f"{text}."
    if not _FIRST_PERSON.search(fact):
        return text
    who = placed.message.speaker or ("User" if placed.message.role == "user" else "Assistant")
    return f"{who} said: {text}"
