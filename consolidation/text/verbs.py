"""Which words of a clause are verbs: by where they stand and how they end.

Open classes of words are never listed.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import lexicon
from .lexicon import word_set
from .tokens import Token, is_content, is_past_form

_MODALS = lexicon.MODAL_VERBS | {"do", "does", "did", "to"}
HAVING_OR_GETTING = lexicon.HAVING | {"get", "gets", "got"}
AUXILIARIES = _MODALS | lexicon.BEING | HAVING_OR_GETTING
SUBJECTS = word_set("he she it they we i you who which that user")
# Between an auxiliary and its verb.
_BETWEEN = lexicon.NEGATORS | word_set("also just still already only perhaps often so")
_JOINING = word_set("before after until that while since as once")
_NO_ADVERBS = word_set("reply apply supply comply rely imply multiply family assembly")
CLAUSE_WORDS = word_set(
    "and but who which whose whom because while whereas although though so unless except "
    "when whenever if where"
)


def verbs_of(clause: Sequence[Token]) -> list[Token]:
    """Return the words of a clause that are verbs, going by the word before or by their ending."""
    led = [token for at, token in enumerate(clause) if at and _is_led(clause, at)]
    finite = [token for at, token in enumerate(clause) if _is_finite(clause, at)]
    if not led:
        return finite[:1]
    # "Plans to move", "needs the key before it is moved".
    ahead = [
        one for one in finite[:1] if _leads_on(clause[clause.index(one) : clause.index(led[0])])
    ]
    return [*ahead, *led]


def _leads_on(words: Sequence[Token]) -> bool:
    """Whether a verb goes on with another, or with a clause that has one."""
    after = [word.lower for word in words[1:]]
    # "Asked Ben to move it".
    return "to" in after[:2] or bool(_JOINING.intersection(after))


def _is_led(clause: Sequence[Token], at: int) -> bool:
    """Whether an auxiliary or a pronoun that acts stands before a word."""
    token = clause[at]
    if not is_content(token.bare) or _between(token):
        return False
    leading = next((one for one in reversed(clause[:at]) if not _between(one)), None)
    if leading is None:
        return False
    if leading.lower in lexicon.BEING | HAVING_OR_GETTING:
        return is_past_form(token) or token.lower.endswith(("ed", "ing"))
    if leading.lower == "that":
        # "Those that retried", but: "learned that the key is old".
        return _ends_as_verb(token)
    return leading.lower in _MODALS | SUBJECTS and not token.capitalised


def _between(token: Token) -> bool:
    adverb = token.lower.endswith("ly") and token.lower not in _NO_ADVERBS
    return adverb or token.lower in _BETWEEN


def _is_finite(clause: Sequence[Token], at: int) -> bool:
    """Whether a word ends as a verb does, and stands where a verb stands."""
    token = clause[at]
    if not is_content(token.bare) or token.possessive or (at and token.capitalised):
        return False
    after = clause[at + 1] if at + 1 < len(clause) else None
    head = [one for one in clause[:at] if one.lower not in CLAUSE_WORDS]
    if not head:
        # "And offers a discount", "retries it"; an instruction.
        leads = after is not None and not is_content(after.bare)
        commands = not at and token.lower in lexicon.IMPERATIVES and after is not None
        return commands or (leads and (_ends_as_verb(token) or at > 0))
    before = next((one for one in reversed(clause[:at]) if not _between(one)), clause[0])
    named = is_content(before.bare) or before.lower in lexicon.ANNOUNCING
    placed = head[0].lower in lexicon.PLACING | {"only"}
    open_end = after is None or not is_content(after.bare) or after.capitalised
    # "Backups run", "a backup runs".
    plural = before.lower.endswith("s") and not before.possessive
    fits = _ends_as_verb(token) or (plural and after is not None)
    return named and fits and open_end and not (placed and after is None)


def _ends_as_verb(token: Token) -> bool:
    plain = token.lower.endswith("s") and not token.lower.endswith("ss")
    return plain or is_past_form(token)
