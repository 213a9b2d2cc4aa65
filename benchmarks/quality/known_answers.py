"""What a night made of a life with known answers: figures from rows alone, no file is read here.

A life is a file of memories with its answers in a second one, the gold. Its form and the figures
are described in ../shared/data/README.md, "Lives with known answers". known.py is another thing:
it knows the nights of fixtures/night.py, and looks into a memory file for what became of them.
"""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from slowwave.consolidation.facts.lookup import find_missing
from slowwave.consolidation.proposals import Source

Pair = tuple[str, str]
Ids = tuple[str, ...]
Json = dict[str, Any]

# Lists of pairs that are not to become one, as the gold names them.
PAIRS = ("apart", "traps", "contradictions")
# The ideal: so much longer than its longest telling may a fact be, than its newest value an update.
FACT_LENGTH = 1.2
UPDATE_LENGTH = 1.5

# A word, or one letter of a script that puts no spaces between words.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\w.'’])+")
_DENIALS = re.compile(r"\b(?:not?|never|\w+n['’]t)\b")
# A value has no more words than this.
_VALUE = 3
# Nothing is searched by it.
_NO_VECTOR = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Stored:
    """One row of the table of memories."""

    id: str
    tenant: str
    content: str
    observed_at: str
    active: bool = True
    # Made by a run, not told by anybody.
    derived: bool = False
    superseded_by: str | None = None


@dataclass(frozen=True)
class Edge:
    """One row of the lineage: `derived` was made from `source`, or took it in."""

    derived: str
    source: str
    operation: str


@dataclass(frozen=True)
class ToldFact:
    """The tellings of a fact; of each of its details, one wording must stand afterwards."""

    ids: Ids
    details: tuple[Ids, ...] = ()


@dataclass(frozen=True)
class ToldRule:
    """A rule: memories that only restate it, and cases, which have a detail of their own."""

    restates: Ids
    cases: Ids = ()

    @property
    def ids(self) -> Ids:
        """Return all of them."""
        return tuple(dict.fromkeys([*self.restates, *self.cases]))


@dataclass(frozen=True)
class Gold:
    """The known answers. A memory is in one fact, rule or update, or in none."""

    facts: tuple[ToldFact, ...] = ()
    rules: tuple[ToldRule, ...] = ()
    # The ids of each, the oldest first.
    updates: tuple[Ids, ...] = ()
    # By the names in `PAIRS`.
    pairs: Mapping[str, tuple[Pair, ...]] | None = None
    # Pairs of "apart" that give one thing two values, and do not speak of two things.
    two_values: tuple[Pair, ...] = ()

    @cached_property
    def things(self) -> dict[str, str]:
        """Return what a memory says as the first id of its fact, rule or update."""
        groups = [
            *(fact.ids for fact in self.facts),
            *(rule.ids for rule in self.rules),
            *self.updates,
        ]
        return {item: ids[0] for ids in groups for item in ids}

    def thing(self, memory: str) -> str:
        """Return what a memory says; one in no list says something of its own."""
        return self.things.get(memory, memory)

    def pairs_of(self, name: str) -> tuple[Pair, ...]:
        """Return one of the lists of pairs."""
        return (self.pairs or {}).get(name, ())


@dataclass(frozen=True)
class Life:
    """All that the figures are computed from."""

    # The active memories before the night.
    before: Sequence[Stored]
    # All memories after it.
    after: Sequence[Stored]
    edges: Sequence[Edge]
    # Pairs of active memories that are listed as conflicts after it.
    conflicts: Sequence[Pair]
    gold: Gold


@dataclass(frozen=True)
class Sizes:
    """How much there was, how much there is, and how much there would be at best."""

    before: int
    after: int
    ideal: float

    @property
    def removed(self) -> float | None:
        """Return the share of the redundant that is gone; None where nothing was redundant."""
        redundant = self.before - self.ideal
        return (self.before - self.after) / redundant if redundant else None


@dataclass(frozen=True)
class Share:
    """Which of some things are right, and which are not."""

    right: tuple[Ids, ...]
    wrong: tuple[Ids, ...]

    @property
    def total(self) -> int:
        """Count all of them."""
        return len(self.right) + len(self.wrong)


@dataclass(frozen=True)
class Company:
    """A memory that took others' place, and all that went into it, itself too if it was told."""

    into: str
    ids: Ids


@dataclass(frozen=True)
class LifeFigures:
    """Every figure of a night on a life, each with what it counts."""

    memories: Sizes
    characters: Sizes
    # A memory of the fact, and the wordings of which none stands any more.
    lost: tuple[tuple[str, Ids], ...]
    details: int
    joined: Mapping[str, tuple[Pair, ...]]
    glued: tuple[Company, ...]
    rightly: tuple[str, ...]
    wrongly: tuple[str, ...]
    wrong_folds: tuple[Company, ...]
    newest_gone: tuple[str, ...]
    told_once: Share
    stated_once: Share
    updated: Share
    conflicts: Share

    @property
    def text_grows(self) -> bool:
        """Whether the active memories have more characters after the night than before."""
        return self.characters.after > self.characters.before


class Lineage:
    """Which memory stands for which after a night."""

    def __init__(self, after: Sequence[Stored], edges: Sequence[Edge]) -> None:
        """Read the rows once."""
        self.rows = {item.id: item for item in after}
        self._into: dict[str, set[str]] = defaultdict(set)
        for edge in edges:
            self._into[edge.derived].add(edge.source)
        self._replaced: dict[str, set[str]] = defaultdict(set)
        for item in after:
            if item.superseded_by is not None:
                self._replaced[item.superseded_by].add(item.id)
                self._into[item.superseded_by].add(item.id)
        self._updates = {edge.derived for edge in edges if edge.operation == "update"}
        self._within = {item: _reached(item, self._into) for item in {*self.rows, *self._into}}

    def within(self, memory: str) -> set[str]:
        """Return a memory and all that it was made from or supersedes, to every depth."""
        return self._within.get(memory, {memory})

    def took_in(self) -> list[set[str]]:
        """Return the same for every memory that stands for more than itself."""
        return [found for found in self._within.values() if len(found) > 1]

    def active(self) -> list[Stored]:
        """Return the active memories."""
        return [row for row in self.rows.values() if row.active]

    def holders(self, ids: Iterable[str]) -> set[str]:
        """Return the active memories that any of these stands in."""
        wanted = set(ids)
        return {item.id for item in self.active() if self.within(item.id) & wanted}

    def told(self, ids: Iterable[str]) -> Ids:
        """Return those that somebody told, in order."""
        return tuple(
            sorted(item for item in ids if item not in self.rows or not self.rows[item].derived)
        )

    def end(self, memory: str) -> str:
        """Follow a memory to what superseded it in the end: itself where nothing did."""
        seen = {memory}
        while (row := self.rows.get(memory)) and row.superseded_by not in {None, *seen}:
            memory = str(row.superseded_by)
            seen.add(memory)
        return memory

    def gone_into(self, memory: str) -> Company:
        """Return all that a memory superseded, to every depth, without what it only cites."""
        return Company(memory, self.told(_reached(memory, self._replaced)))

    def is_update(self, memory: str) -> bool:
        """Whether a memory, or anything that it stands for, was made as an update."""
        return bool(self.within(memory) & self._updates)


def gold_of(found: Json, texts: Mapping[str, str]) -> Gold:
    """Read the form of the gold file; `texts` are those of all memories by id.

    Which pairs of "apart" give one thing two values the gold does not say, unless it has a list
    `two_values` of its own: else it is taken from the texts.
    """
    pairs = {name: _pairs(found.get(name, ())) for name in PAIRS}
    told = found.get("two_values")
    seen = (item for item in pairs["apart"] if two_values(texts[item[0]], texts[item[1]]))
    return Gold(
        facts=tuple(
            ToldFact(tuple(fact["ids"]), tuple(map(tuple, fact["details"])))
            for fact in found["facts"]
        ),
        rules=tuple(
            ToldRule(tuple(rule["restates"]), tuple(rule["cases"])) for rule in found["rules"]
        ),
        updates=tuple(tuple(update["ids"]) for update in found["updates"]),
        pairs=pairs,
        two_values=tuple(seen) if told is None else _pairs(told),
    )


def two_values(one: str, other: str) -> bool:
    """Whether two texts seem to give one thing two values.

    They do if they differ in one place, by a few words at most, or if only one of them denies.
    """
    blocks = SequenceMatcher(None, _words(one), _words(other), autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    if len(changed) == 1 and len(blocks) > 1:
        _, start, end, second_start, second_end = changed[0]
        return end - start <= _VALUE and second_end - second_start <= _VALUE
    denials = [bool(_DENIALS.search(text.casefold())) for text in (one, other)]
    return denials[0] != denials[1]


def life_figures(life: Life) -> LifeFigures:
    """Compute every figure."""
    lineage = Lineage(life.after, life.edges)
    active = lineage.active()
    right, wrong = folded(life, lineage)
    ends = sorted({lineage.end(item) for item in wrong})
    return LifeFigures(
        memories=Sizes(len(life.before), len(active), ideal_memories(life.before, life.gold)),
        characters=Sizes(
            _length(life.before), _length(active), ideal_characters(life.before, life.gold)
        ),
        lost=details_lost(life, active),
        details=sum(len(fact.details) for fact in life.gold.facts),
        joined=joined(life.gold, lineage),
        glued=glued(life.gold, lineage),
        rightly=right,
        wrongly=wrong,
        wrong_folds=tuple(lineage.gone_into(end) for end in ends),
        newest_gone=newest_gone(life, lineage),
        told_once=told_once([fact.ids for fact in life.gold.facts], lineage),
        stated_once=told_once([rule.restates for rule in life.gold.rules], lineage),
        updated=updated(life, lineage),
        conflicts=conflicts_right(life, lineage),
    )


def ideal_memories(before: Sequence[Stored], gold: Gold) -> int:
    """Count one memory a fact, one a rule and its cases, one an update, every other as it is."""
    return len({gold.thing(item.id) for item in before})


def ideal_characters(before: Sequence[Stored], gold: Gold) -> float:
    """Count the characters of the ideal.

    1.2 times a fact's longest telling, also where it was told once; the median restatement and the
    cases of a rule; 1.5 times an update's newest; every other as it is.
    """
    length = {item.id: len(item.content) for item in before}
    facts = sum(FACT_LENGTH * max(length[item] for item in fact.ids) for fact in gold.facts)
    updates = sum(UPDATE_LENGTH * length[ids[-1]] for ids in gold.updates)
    restated = [[length[restate] for restate in rule.restates] for rule in gold.rules]
    rules = sum(statistics.median(lengths) for lengths in restated if lengths)
    cases = sum(length[case] for rule in gold.rules for case in rule.cases)
    others = sum(length[item] for item in length if item not in gold.things)
    return facts + updates + rules + cases + others


def details_lost(life: Life, active: Sequence[Stored]) -> tuple[tuple[str, Ids], ...]:
    """Return the details that stood in a memory of the fact's tenant, and stand in no active one.

    A detail may have several wordings, of which one is enough; capitals do not matter.
    """
    tenants = {item.id: item.tenant for item in life.before}
    before, after = _texts_by_tenant(life.before), _texts_by_tenant(active)
    return tuple(
        (fact.ids[0], detail)
        for fact in life.gold.facts
        for detail in fact.details
        if _stands(detail, before[tenants[fact.ids[0]]])
        and not _stands(detail, after[tenants[fact.ids[0]]])
    )


def joined(gold: Gold, lineage: Lineage) -> dict[str, tuple[Pair, ...]]:
    """Return the pairs, by list, that became one although they are not to.

    Both are sources of one derived memory, to every depth; or one is superseded by the other, or
    both by the same one.
    """
    together: dict[str, list[set[str]]] = defaultdict(list)
    for found in lineage.took_in():
        for match in found:
            together[match].append(found)
    return {
        name: tuple(
            (first, second)
            for first, second in gold.pairs_of(name)
            if any(second in found for found in together[first])
        )
        for name in PAIRS
    }


def glued(gold: Gold, lineage: Lineage) -> tuple[Company, ...]:
    """Return the active memories whose sources, to every depth, say more than one thing.

    What took others in and was told itself is one of its sources. A thing is a fact, a rule, an
    update, or what a memory says that is in no list.
    """
    found = [Company(item.id, lineage.told(lineage.within(item.id))) for item in lineage.active()]
    return tuple(match for match in found if not _one_thing(match.ids, gold))


def folded(life: Life, lineage: Lineage) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the memories that went: those folded rightly, those folded wrongly.

    Rightly: an active memory took its place, and all that went into that, itself too if it was
    told, is in one fact, one rule or one update.
    """
    active = {item.id for item in lineage.active()}
    right: list[str] = []
    wrong: list[str] = []
    for item in life.before:
        if item.id in active:
            continue
        end = lineage.end(item.id)
        fine = end in active and _one_thing(lineage.gone_into(end).ids, life.gold)
        (right if fine else wrong).append(item.id)
    return tuple(right), tuple(wrong)


def newest_gone(life: Life, lineage: Lineage) -> tuple[str, ...]:
    """Return the newest values of updates that only older memories stand for now.

    The value's memory is not active, no active memory of its tenant has half of the words or half
    of the values that it alone has, and nothing observed later went where it went.
    """
    rows = {item.id: item for item in life.before}
    texts: dict[str, list[str]] = defaultdict(list)
    for item in lineage.active():
        texts[item.tenant].append(item.content)
    gone = []
    for ids in life.gold.updates:
        newest = rows[ids[-1]]
        company = lineage.gone_into(lineage.end(newest.id)).ids
        later = any(
            rows[item].observed_at > newest.observed_at
            for item in company
            if item in rows and item != newest.id
        )
        older = [rows[item].content for item in ids[:-1]]
        stands = any(_tells(text, newest, older) for text in texts[newest.tenant])
        if not lineage.rows[newest.id].active and not later and not stands:
            gone.append(newest.id)
    return tuple(gone)


def _tells(text: str, newest: Stored, older: Sequence[str]) -> bool:
    """Whether a text has half of the words, or of the values, that the newest memory alone has."""
    words = _telling_words(newest.content) - {
        word for content in older for word in _telling_words(content)
    }
    if 2 * len(words & _telling_words(text)) >= len(words):
        return True
    evidence = Source(newest.id, newest.content, newest.observed_at, _NO_VECTOR)
    own = {hint.words for hint in find_missing("\n".join(older), [evidence])}
    lacking = {hint.words for hint in find_missing(text, [evidence])} & own
    return bool(own) and 2 * len(lacking) <= len(own)


def _telling_words(text: str) -> set[str]:
    """Return the words of a text that may carry a value."""
    found = (word.strip(".'\u2019").lower() for word in _WORD.findall(text))
    return {word for word in found if len(word) > _VALUE or any(map(str.isdigit, word))}


def told_once(groups: Iterable[Ids], lineage: Lineage) -> Share:
    """Return which of the facts told twice or more stand in exactly one active memory.

    A fact stands in a memory if any of its tellings is one of its sources, to every depth, or is
    that memory. The same for rules: of a rule, what only restates it.
    """
    often = [ids for ids in groups if len(ids) > 1]
    return _share((ids, len(lineage.holders(ids)) == 1) for ids in often)


def updated(life: Life, lineage: Lineage) -> Share:
    """Return which of the updates are done.

    One active memory stands for all values, or the newest is the only active one; it was made as
    an update; and the newest value stands.
    """
    gone = set(newest_gone(life, lineage))

    def done(ids: Ids) -> bool:
        holders = lineage.holders(ids)
        made = any(lineage.is_update(holder) for holder in holders)
        whole = holders == lineage.holders(ids[-1:]) and len(holders) == 1
        return whole and made and ids[-1] not in gone

    return _share((ids, done(ids)) for ids in life.gold.updates)


def conflicts_right(life: Life, lineage: Lineage) -> Share:
    """Return which of the conflicts listed are right.

    A conflict is a contradiction, two memories of one update, or a pair of "apart" that gives one
    thing two values; or it is between memories which say what those say.
    """
    found = (tuple(map(lineage.within, pair)) for pair in life.conflicts)
    right = (are_two_values(life.gold, first, second) for first, second in found)
    return _share(zip(life.conflicts, right, strict=True))


def are_two_values(gold: Gold, first: Iterable[str], second: Iterable[str]) -> bool:
    """Whether of two groups of memories any two give one thing two values, by what is known."""
    known = {
        frozenset(map(gold.thing, pair)) for pair in (*gold.pairs_of(PAIRS[2]), *gold.two_values)
    }
    updates = {ids[0] for ids in gold.updates}
    former, latter = ({gold.thing(memory) for memory in group} for group in (first, second))
    return bool(former & latter & updates) or any(
        frozenset(pair) in known for pair in product(former, latter)
    )


def _words(text: str) -> list[str]:
    return [word.strip(".") for word in _WORD.findall(text.casefold())]


def _share(judged: Iterable[tuple[Ids, bool]]) -> Share:
    found = list(judged)
    right, wrong = (tuple(ids for ids, fine in found if fine is wanted) for wanted in (True, False))
    return Share(right, wrong)


def _one_thing(ids: Ids, gold: Gold) -> bool:
    return len({gold.thing(item) for item in ids}) <= 1


def _pairs(found: Iterable[Any]) -> tuple[Pair, ...]:
    """Return pairs of ids from lists of ids, or from objects with such a list."""
    groups = (match["ids"] if isinstance(match, dict) else match for match in found)
    return tuple(pair for ids in groups for pair in combinations(ids, 2))


def _reached(start: str, steps: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += steps.get(one, ())
    return found


def _length(memories: Iterable[Stored]) -> int:
    return sum(len(memory.content) for memory in memories)


def _texts_by_tenant(memories: Iterable[Stored]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = defaultdict(list)
    for memory in memories:
        texts[memory.tenant].append(memory.content.casefold())
    return texts


def _stands(wordings: Ids, texts: Iterable[str]) -> bool:
    wanted = [wording.casefold() for wording in wordings]
    return any(item in text for text in texts for item in wanted)
