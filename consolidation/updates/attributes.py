"""What a thing is said to have, in whichever words: where it lives, what it costs, who leads it.

"Rent for the garage is 70 euros" and "User pays 85 euros for the garage" give one attribute two
values. A line below holds the verbs and the nouns that speak of one attribute, as a thesaurus
has them; a noun that is made of a verb needs no line ("insurer" and "insured").
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from slowwave.consolidation.text.tokens import stem

# With these endings a noun of who does something, or of what is done, is made of the verb.
_DERIVING = ("ation", "ment", "ance", "ence", "ing", "ion", "ure", "al", "or", "er")
# The fewest letters that must be left: an "order" is no one who "ords".
_SHORTEST_ROOT = 5

_HOME = "live reside dwell home residence address flat apartment house"
_JOB = "work job employ employer employee workplace position"
_PRICE = "cost price fee charge pay debit rent tariff premium bill subscription"
_LEAD = "lead leader head manage manager boss chief chair supervise supervisor captain"
_CARE = (
    "own owner maintain maintainer responsible handle tend administer administrator admin "
    "owned oversee"
)
_BEGIN = "begin start open opening kickoff"
_DEPART = "leave depart departure"
_END = "close end finish closing"
_DUE = "due deadline submission"
_LIMIT = "limit cap max maximum allow ceiling quota allowance"
_KEEP = "keep store stand lie stay locate location situated park retain retention"
_RUN = "run host hosting deploy operate serve execute"
_CALL = "call name title"
_WEIGH = "weigh weight"
_MEASURE = "long length tall height deep depth wide width"
_HOLD = "seat space capacity"
_NEED = "require need depend requirement"
_ATTEND = "attend enrol enroll pupil student"
_DRIVE = "drive car"
_EAT = "eat diet"
_TRAIN = "train gym exercise"
_CODE = "code pin password passcode"
_EXPIRE = "expire expiry valid validity"
_INSURE = "insure insurer insurance cover"
_PHONE = "telephone phone"
_EARN = "earn salary wage"
_CONTACT = "contact liaison"
_USE = "use rely"
_WRITE = "write written language"
_REACH = "reach reachable connect listen access bind"
_GOAL = "goal target aim objective"
_SUPPLY = "supply supplier deliver provider vendor"
_BUILD = "build based"

_LINES = {
    name: frozenset(map(stem, words.split()))
    for name, words in {
        **{"home": _HOME, "job": _JOB, "price": _PRICE, "lead": _LEAD, "care": _CARE},
        **{"begin": _BEGIN, "depart": _DEPART, "end": _END, "due": _DUE, "limit": _LIMIT},
        **{"keep": _KEEP, "run": _RUN, "call": _CALL, "weigh": _WEIGH},
        **{"measure": _MEASURE, "hold": _HOLD, "need": _NEED, "attend": _ATTEND},
        **{"drive": _DRIVE, "eat": _EAT, "train": _TRAIN, "code": _CODE, "expire": _EXPIRE},
        **{"insure": _INSURE, "phone": _PHONE, "earn": _EARN, "contact": _CONTACT, "use": _USE},
        **{"write": _WRITE, "supply": _SUPPLY, "reach": _REACH, "goal": _GOAL, "build": _BUILD},
    }.items()
}
_ATTRIBUTES = {word: f"={name}" for name, words in _LINES.items() for word in words}

# What a thing or a person has one of at a time, whoever or whatever it is.
SINGLE = frozenset(
    f"={name}"
    for name in (
        *("home", "job", "lead", "care", "contact", "run", "keep", "call", "insure", "due"),
        *("write", "build", "supply"),
    )
)

# A verb of change says of which attributes it changes the value.
_PLACES = frozenset({"=home", "=keep", "=run", "=begin", "=due", "=job"})
_AMOUNTS = frozenset({"=price", "=limit", "=earn", "=hold", "=code", "=expire"})
_SCHEDULES = frozenset({"=due", "=begin", "=end", "=depart"})
_HANDS = frozenset({"=lead", "=care", "=contact", "=supply", "=insure", "=job"})
_ANY = frozenset(_ATTRIBUTES.values())
_CHANGES: Mapping[str, frozenset[str]] = {
    stem(verb): attributes
    for verbs, attributes in (
        ("move moved relocate relocated migrate migrated transfer transferred", _PLACES),
        ("raise raised lower lowered increase increased reduce reduced cut rise rose", _AMOUNTS),
        ("drop dropped fall fell bump bumped", _AMOUNTS),
        ("extend extended postpone postponed reschedule rescheduled shift shifted", _SCHEDULES),
        ("join joined hire hired quit resign resigned", frozenset({"=job"})),
        ("rename renamed", frozenset({"=call"})),
        ("succeed succeeded hand handed inherit inherited", _HANDS),
        ("switch switched change changed replace replaced swap swapped", _ANY),
    )
    for verb in verbs.split()
}


@lru_cache(maxsize=65_536)
def attribute_of(word: str) -> str:
    """Return what a word, in lower case, is compared by: its attribute, or else its root."""
    stemmed = stem(word)
    return _ATTRIBUTES.get(stemmed) or _ATTRIBUTES.get(_root(stemmed)) or _root(stemmed)


@lru_cache(maxsize=65_536)
def changed_by(word: str) -> frozenset[str]:
    """Return the attributes that a verb of change, in lower case, may give another value."""
    return _CHANGES.get(stem(word), frozenset())


def _root(stemmed: str) -> str:
    ending = next((one for one in _DERIVING if stemmed.endswith(one)), "")
    root = stemmed.removesuffix(ending)
    return root if len(root) >= _SHORTEST_ROOT else stemmed
