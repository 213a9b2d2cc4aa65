"""Figures of a night on a life with known answers, computed from rows: no file is read here.

A life is a file of memories; its known answers are in a second file, the gold.
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

from slowwave.consolidation.facts.lookup import find_unsupported
from slowwave.consolidation.proposals import Source
from slowwave.store.records import UNDATED

Pair = tuple[str, str]
Ids = tuple[str, ...]
Json = dict[str, Any]

# Lists of pairs that must not become one memory, as the gold names them.
PAIRS = ("apart", "traps", "contradictions")
# The ideal length of a fact, relative to its longest statement, and of an update, to its newest.
FACT_LENGTH = 1.2
UPDATE_LENGTH = 1.5

# A word, or one letter of a script without spaces between words.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\w.'’])+")
_NEGATIONS = re.compile(r"\b(?:not?|never|\w+n['’]t)\b")
# The maximum number of words in a value.
_MAX_VALUE_WORDS = 3
# For sources of which only the text is read.
_NO_VECTOR = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Stored:
    """A row of `memories`."""

    id: str
    tenant: str
    content: str
    observed_at: str
    active: bool = True
    # Made by a run.
    derived: bool = False
    superseded_by: str | None = None


@dataclass(frozen=True)
class Edge:
    """A row of `synthesized_from`: `source` was merged into `derived`."""

    derived: str
    source: str
    operation: str


@dataclass(frozen=True)
class GoldFact:
    """The memories that state a fact; one wording of each detail must survive the night."""

    ids: Ids
    details: tuple[Ids, ...] = ()


@dataclass(frozen=True)
class GoldRule:
    """A rule: memories that only restate it, and cases, which add a detail."""

    restates: Ids
    cases: Ids = ()

    @property
    def ids(self) -> Ids:
        """All memories of the rule."""
        return tuple(dict.fromkeys([*self.restates, *self.cases]))


@dataclass(frozen=True)
class Gold:
    """The known answers. A memory is in one fact, rule or update, or in none."""

    facts: tuple[GoldFact, ...] = ()
    rules: tuple[GoldRule, ...] = ()
    # Oldest value first.
    updates: tuple[Ids, ...] = ()
    # Keys: `PAIRS`.
    pairs: Mapping[str, tuple[Pair, ...]] | None = None
    # Pairs of "apart" that give one subject two values, and are not about two subjects.
    two_values: tuple[Pair, ...] = ()

    @cached_property
    def things(self) -> dict[str, str]:
        """The first id of the fact, rule or update of each memory: it identifies the statement."""
        groups = [
            *(fact.ids for fact in self.facts),
            *(rule.ids for rule in self.rules),
            *self.updates,
        ]
        return {memory: ids[0] for ids in groups for memory in ids}

    def thing(self, memory: str) -> str:
        """Return what identifies the statement of a memory: its own id if it is in no list."""
        return self.things.get(memory, memory)

    def pairs_of(self, name: str) -> tuple[Pair, ...]:
        """Return the pairs of a list named in `PAIRS`."""
        return (self.pairs or {}).get(name, ())


@dataclass(frozen=True)
class Life:
    """What the figures are computed from."""

    # The active memories before the night, and all memories after it.
    before: Sequence[Stored]
    after: Sequence[Stored]
    edges: Sequence[Edge]
    # Pairs of active memories that are listed as conflicts after the night.
    conflicts: Sequence[Pair]
    gold: Gold


@dataclass(frozen=True)
class Sizes:
    """An amount before and after the night, and the ideal."""

    before: int
    after: int
    ideal: float

    @property
    def removed(self) -> float | None:
        """The share of the redundant amount that was removed; None if nothing was redundant."""
        redundant = self.before - self.ideal
        return (self.before - self.after) / redundant if redundant else None


@dataclass(frozen=True)
class Share:
    """The cases that are right, and those that are wrong."""

    right: tuple[Ids, ...]
    wrong: tuple[Ids, ...]

    @property
    def total(self) -> int:
        """The number of cases."""
        return len(self.right) + len(self.wrong)


@dataclass(frozen=True)
class Fold:
    """A memory and the observed memories folded into it, including itself if it was observed."""

    into: str
    ids: Ids


@dataclass(frozen=True)
class LifeFigures:
    """Every figure of a night on a life, with the ids that it counts."""

    memories: Sizes
    characters: Sizes
    # A memory of the fact, and the wordings of the lost detail.
    lost: tuple[tuple[str, Ids], ...]
    details: int
    joined: Mapping[str, tuple[Pair, ...]]
    mixed: tuple[Fold, ...]
    folded_rightly: tuple[str, ...]
    folded_wrongly: tuple[str, ...]
    wrong_folds: tuple[Fold, ...]
    newest_lost: tuple[str, ...]
    facts_once: Share
    rules_once: Share
    updated: Share
    conflicts: Share

    @property
    def text_grows(self) -> bool:
        """Whether the active memories have more characters after the night than before."""
        return self.characters.after > self.characters.before


class Lineage:
    """Which memories were derived from, or superseded, which others."""

    def __init__(self, after: Sequence[Stored], edges: Sequence[Edge]) -> None:
        self.rows = {row.id: row for row in after}
        self._sources: dict[str, set[str]] = defaultdict(set)
        for edge in edges:
            self._sources[edge.derived].add(edge.source)
        self._superseded: dict[str, set[str]] = defaultdict(set)
        for row in after:
            if row.superseded_by is not None:
                self._superseded[row.superseded_by].add(row.id)
                self._sources[row.superseded_by].add(row.id)
        self._updates = {edge.derived for edge in edges if edge.operation == "update"}
        self._within = {
            memory: reachable(memory, self._sources) for memory in {*self.rows, *self._sources}
        }

    def within(self, memory: str) -> set[str]:
        """Return a memory and everything it was derived from or supersedes, at any depth."""
        return self._within.get(memory, {memory})

    def families(self) -> list[set[str]]:
        """Return `within` of every memory that has sources or predecessors."""
        return [family for family in self._within.values() if len(family) > 1]

    def active(self) -> list[Stored]:
        """Return the active memories."""
        return [row for row in self.rows.values() if row.active]

    def holders(self, ids: Iterable[str]) -> set[str]:
        """Return the active memories that contain any of these."""
        wanted = set(ids)
        return {row.id for row in self.active() if self.within(row.id) & wanted}

    def observed(self, ids: Iterable[str]) -> Ids:
        """Return those that no run made, ordered by id."""
        return tuple(sorted(id for id in ids if id not in self.rows or not self.rows[id].derived))

    def end(self, memory: str) -> str:
        """Return the last successor of a memory; itself if nothing superseded it."""
        seen = {memory}
        while (row := self.rows.get(memory)) and row.superseded_by not in {None, *seen}:
            memory = str(row.superseded_by)
            seen.add(memory)
        return memory

    def fold(self, memory: str) -> Fold:
        """Return everything that a memory superseded, at any depth; not what it only cites."""
        return Fold(memory, self.observed(reachable(memory, self._superseded)))

    def is_update(self, memory: str) -> bool:
        """Whether a memory, or anything within it, was made by an update."""
        return bool(self.within(memory) & self._updates)


def gold_of(gold: Json, texts: Mapping[str, str]) -> Gold:
    """Parse the content of a gold file.

    texts: of all memories, by id. They decide which pairs of "apart" give one subject two values,
    unless the gold lists them as `two_values`.
    """
    pairs = {name: _pairs(gold.get(name, ())) for name in PAIRS}
    if "two_values" in gold:
        differing = _pairs(gold["two_values"])
    else:
        differing = tuple(
            (left, right) for left, right in pairs["apart"] if two_values(texts[left], texts[right])
        )
    return Gold(
        facts=tuple(
            GoldFact(tuple(fact["ids"]), tuple(map(tuple, fact["details"])))
            for fact in gold["facts"]
        ),
        rules=tuple(
            GoldRule(tuple(rule["restates"]), tuple(rule["cases"])) for rule in gold["rules"]
        ),
        updates=tuple(tuple(update["ids"]) for update in gold["updates"]),
        pairs=pairs,
        two_values=differing,
    )


def two_values(left: str, right: str) -> bool:
    """Whether two texts seem to give one subject two values.

    They do if they differ in one place, by a few words at most, or if only one has a negation.
    """
    blocks = SequenceMatcher(None, _words(left), _words(right), autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    if len(changed) == 1 and len(blocks) > 1:
        _, start, end, second_start, second_end = changed[0]
        return max(end - start, second_end - second_start) <= _MAX_VALUE_WORDS
    return _has_negation(left) is not _has_negation(right)


def _has_negation(text: str) -> bool:
    return _NEGATIONS.search(text.casefold()) is not None


def life_figures(life: Life) -> LifeFigures:
    """Compute every figure."""
    lineage = Lineage(life.after, life.edges)
    active = lineage.active()
    right, wrong = folded(life, lineage)
    successors = sorted({lineage.end(memory) for memory in wrong})
    return LifeFigures(
        memories=Sizes(len(life.before), len(active), ideal_memories(life.before, life.gold)),
        characters=Sizes(
            _length(life.before), _length(active), ideal_characters(life.before, life.gold)
        ),
        lost=details_lost(life, active),
        details=sum(len(fact.details) for fact in life.gold.facts),
        joined=joined(life.gold, lineage),
        mixed=mixed(life.gold, lineage),
        folded_rightly=right,
        folded_wrongly=wrong,
        wrong_folds=tuple(lineage.fold(successor) for successor in successors),
        newest_lost=newest_lost(life, lineage),
        facts_once=stated_once([fact.ids for fact in life.gold.facts], lineage),
        rules_once=stated_once([rule.restates for rule in life.gold.rules], lineage),
        updated=updated(life, lineage),
        conflicts=conflicts_right(life, lineage),
    )


def ideal_memories(before: Sequence[Stored], gold: Gold) -> int:
    """Count one memory per fact, rule with its cases, and update, and every other memory."""
    return len({gold.thing(memory.id) for memory in before})


def ideal_characters(before: Sequence[Stored], gold: Gold) -> float:
    """Return the ideal number of characters.

    1.2 times the longest statement of a fact, even if it was stated once; the median restatement
    and all cases of a rule; 1.5 times the newest value of an update; every other memory in full.
    """
    length = {memory.id: len(memory.content) for memory in before}
    facts = sum(FACT_LENGTH * max(length[memory] for memory in fact.ids) for fact in gold.facts)
    updates = sum(UPDATE_LENGTH * length[ids[-1]] for ids in gold.updates)
    restated = [[length[restate] for restate in rule.restates] for rule in gold.rules]
    rules = sum(statistics.median(lengths) for lengths in restated if lengths)
    cases = sum(length[case] for rule in gold.rules for case in rule.cases)
    singles = sum(length[memory] for memory in length if memory not in gold.things)
    return facts + updates + rules + cases + singles


def details_lost(life: Life, active: Sequence[Stored]) -> tuple[tuple[str, Ids], ...]:
    """Return the details in a memory of the fact's tenant before the night, and in none after it.

    One wording of a detail is enough; case is ignored.
    """
    tenants = {memory.id: memory.tenant for memory in life.before}
    before, after = _texts_by_tenant(life.before), _texts_by_tenant(active)
    return tuple(
        (fact.ids[0], detail)
        for fact in life.gold.facts
        for detail in fact.details
        if _contains(detail, before[tenants[fact.ids[0]]])
        and not _contains(detail, after[tenants[fact.ids[0]]])
    )


def joined(gold: Gold, lineage: Lineage) -> dict[str, tuple[Pair, ...]]:
    """Return the pairs, by list, that became one memory although they must not.

    Both are sources of one derived memory, at any depth, or one superseded the other, or both have
    the same successor.
    """
    families: dict[str, list[set[str]]] = defaultdict(list)
    for family in lineage.families():
        for memory in family:
            families[memory].append(family)
    return {
        name: tuple(
            (first, second)
            for first, second in gold.pairs_of(name)
            if any(second in family for family in families[first])
        )
        for name in PAIRS
    }


def mixed(gold: Gold, lineage: Lineage) -> tuple[Fold, ...]:
    """Return the active memories whose sources, at any depth, state different things.

    A thing is a fact, a rule, an update, or what a memory in no list states.
    """
    folds = [Fold(row.id, lineage.observed(lineage.within(row.id))) for row in lineage.active()]
    return tuple(fold for fold in folds if not _is_one_thing(fold.ids, gold))


def folded(life: Life, lineage: Lineage) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the memories that are not active: those folded rightly, those folded wrongly.

    Rightly: its last successor is active, and everything folded into that is in one fact, one rule
    or one update.
    """
    active = {row.id for row in lineage.active()}
    right: list[str] = []
    wrong: list[str] = []
    for memory in life.before:
        if memory.id not in active:
            end = lineage.end(memory.id)
            is_right = end in active and _is_one_thing(lineage.fold(end).ids, life.gold)
            (right if is_right else wrong).append(memory.id)
    return tuple(right), tuple(wrong)


def newest_lost(life: Life, lineage: Lineage) -> tuple[str, ...]:
    """Return the memories of newest values of updates that no active memory states.

    The memory is not active, no active memory of its tenant has half of the words or half of the
    values that only it has, and nothing observed later has the same successor.
    """
    rows = {memory.id: memory for memory in life.before}
    texts: dict[str, list[str]] = defaultdict(list)
    for row in lineage.active():
        texts[row.tenant].append(row.content)
    lost = []
    for ids in life.gold.updates:
        newest = rows[ids[-1]]
        folded_with_it = lineage.fold(lineage.end(newest.id)).ids
        has_later = any(
            rows[memory].observed_at > newest.observed_at
            for memory in folded_with_it
            if memory in rows and memory != newest.id
        )
        older = [rows[memory].content for memory in ids[:-1]]
        is_stated = any(_states(text, newest, older) for text in texts[newest.tenant])
        if not lineage.rows[newest.id].active and not has_later and not is_stated:
            lost.append(newest.id)
    return tuple(lost)


def _states(text: str, newest: Stored, older: Sequence[str]) -> bool:
    """Whether a text has half of the words, or the new values, that only the newest memory has."""
    words = _value_words(newest.content) - {
        word for content in older for word in _value_words(content)
    }
    if 2 * len(words & _value_words(text)) >= len(words):
        return True
    # "Half past four" as 16:30: what is in the text, and in no older memory, but in the newest.
    newer, earlier = [_evidence(newest.content, newest.observed_at)], [*map(_evidence, older)]
    new = {fault.words for fault in find_unsupported(text, earlier)}
    return bool(new) and not new & {
        fault.words for fault in find_unsupported(text, newer + earlier)
    }


def _evidence(content: str, observed_at: str = UNDATED) -> Source:
    return Source("", content, observed_at, _NO_VECTOR)


def _value_words(text: str) -> set[str]:
    """Return the words of a text that may carry a value."""
    words = (word.strip(".'\u2019").lower() for word in _WORD.findall(text))
    return {word for word in words if len(word) > 3 or any(map(str.isdigit, word))}


def stated_once(groups: Iterable[Ids], lineage: Lineage) -> Share:
    """Return which of the facts that several memories stated are in exactly one active memory.

    A fact is in a memory that states it, or that is derived from one that does, at any depth.
    groups: the memories that state a fact, or that only restate a rule.
    """
    repeated = [ids for ids in groups if len(ids) > 1]
    return _share((ids, len(lineage.holders(ids)) == 1) for ids in repeated)


def updated(life: Life, lineage: Lineage) -> Share:
    """Return which of the updates are done.

    One active memory contains all values, it was made by an update, and it states the newest value.
    """
    lost = set(newest_lost(life, lineage))

    def is_done(ids: Ids) -> bool:
        holders = lineage.holders(ids)
        return (
            len(holders) == 1
            and holders == lineage.holders(ids[-1:])
            and any(map(lineage.is_update, holders))
            and ids[-1] not in lost
        )

    return _share((ids, is_done(ids)) for ids in life.gold.updates)


def conflicts_right(life: Life, lineage: Lineage) -> Share:
    """Return which of the listed conflicts are right.

    A conflict is right between two values of an update, a contradiction, or a pair of "apart" that
    gives one subject two values; also between memories that contain these.
    """
    return _share(
        (pair, are_two_values(life.gold, *map(lineage.within, pair))) for pair in life.conflicts
    )


def are_two_values(gold: Gold, first: Iterable[str], second: Iterable[str]) -> bool:
    """Whether a memory of the first group and one of the second give one subject two values."""
    contradicting = {
        frozenset(map(gold.thing, pair)) for pair in (*gold.pairs_of(PAIRS[2]), *gold.two_values)
    }
    updates = {ids[0] for ids in gold.updates}
    former, latter = ({gold.thing(memory) for memory in group} for group in (first, second))
    return bool(former & latter & updates) or any(
        frozenset(pair) in contradicting for pair in product(former, latter)
    )


def _words(text: str) -> list[str]:
    return [word.strip(".") for word in _WORD.findall(text.casefold())]


def _share(judged: Iterable[tuple[Ids, bool]]) -> Share:
    cases = list(judged)
    return Share(
        tuple(ids for ids, is_right in cases if is_right),
        tuple(ids for ids, is_right in cases if not is_right),
    )


def _is_one_thing(ids: Ids, gold: Gold) -> bool:
    return len(set(map(gold.thing, ids))) <= 1


def _pairs(entries: Iterable[Any]) -> tuple[Pair, ...]:
    """Return all pairs within lists of ids, or within objects that have such a list as `ids`."""
    groups = (entry["ids"] if isinstance(entry, dict) else entry for entry in entries)
    return tuple(pair for ids in groups for pair in combinations(ids, 2))


def reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    """Return the nodes that can be reached from `start`, including it."""
    reached: set[str] = set()
    queue = [start]
    while queue:
        node = queue.pop()
        if node not in reached:
            reached.add(node)
            queue += edges.get(node, ())
    return reached


def _length(memories: Iterable[Stored]) -> int:
    return sum(len(memory.content) for memory in memories)


def _texts_by_tenant(memories: Iterable[Stored]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = defaultdict(list)
    for memory in memories:
        texts[memory.tenant].append(memory.content.casefold())
    return texts


def _contains(wordings: Ids, texts: Iterable[str]) -> bool:
    """Whether any wording is in any text. texts: casefolded."""
    return any(wording.casefold() in text for text in texts for wording in wordings)


def holds(text: str, keys: Sequence[str]) -> bool:
    """Whether a text contains all keys, ignoring case."""
    return all(key.lower() in text.lower() for key in keys)
