"""Proposals to extract: what is said again and again as something that ought to be."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec.json import Decoder

from slowwave.consolidation import thresholds
from slowwave.consolidation.comparison.restating import find_restating
from slowwave.consolidation.proposals import Claim, Draft, Proposal
from slowwave.consolidation.text.demands import demand_of, may_demand
from slowwave.consolidation.verification.verify import find_faults
from slowwave.store.records import Memory, content_hash

from .demand_groups import as_rule, choose_voices, find_demand_groups, supports
from .tenant_planner import TenantPlanner, most_common

# The texts of each group, by their places among those that may demand something.
_GROUPS = Decoder(list[list[int]])
# How many of some texts demand something, and not only tell of it.
_COUNT = Decoder(int)
# The voices that may stand for all, each with its supporters, by their places.
_VOICES = Decoder(list[tuple[int, list[int]]])
# The texts that say no more than a rule, by their places.
_PLACES = Decoder(list[int])
_SOUND = Decoder(bool)


class _Found(NamedTuple):
    """A rule: the ids of its sources, of those of them that leave, and its text."""

    ids: list[str]
    leaving: list[str]
    draft: Draft


class RuleProposals:
    """The rules that a tenant's memories voice.

    What only says again what a rule says is superseded by it; what has a case, a reason or a
    condition of its own stays, as its support.
    """

    def __init__(self, planner: TenantPlanner) -> None:
        """Take the planner of the tenant, with what is planned so far."""
        self._planner = planner
        self._view = planner.view

    def propose(self) -> Iterator[Proposal]:
        """Propose new rules, and what rules that there are take in."""
        planner, view = self._planner, self._view
        for group in self.groups:
            rules = Counter(
                view.supported_rule[one] for one in planner.ids(group) if one in view.supported_rule
            )
            if rules:
                planner.ruled.update(group)
                yield from self._more_support(most_common(rules)[0], group)
            else:
                yield from self._rule(group)

    @cached_property
    def groups(self) -> list[list[int]]:
        """The rows that demand one thing, group by group."""
        return list(self._groups())

    def _groups(self) -> Iterator[list[int]]:
        planner, view = self._planner, self._view
        readable = set(planner.readable)
        normative = view.normative.tolist()
        texts = [
            text
            for text, rows in enumerate(view.rows_of)
            if not readable.isdisjoint(rows)
            and (normative[text] or may_demand(view.memories[rows[0]].content))
        ]
        if len(texts) < 2:
            return
        firsts = [view.memories[view.rows_of[text][0]] for text in texts]
        vectors = view.text_vectors[texts]
        hashes = [one.content_hash for one in firsts]
        found = view.cache.get_or_compute(
            "norms",
            [*hashes, hashlib.sha256(vectors.tobytes()).hexdigest()],
            _GROUPS,
            lambda: find_demand_groups([one.content for one in firsts], vectors),
        )
        for group in found:
            rows = (row for at in group for row in view.rows_of[texts[at]])
            yield sorted(readable.intersection(rows))

    def _rule(self, group: list[int]) -> Iterator[Proposal]:
        planner = self._planner
        voicing = [row for row in group if planner.is_open(row)]
        supporting = sorted({*voicing, *self._merged_into(voicing, group)})
        sessions = {self._session(row) for row in supporting}
        if len(voicing) < 2 or len(sessions) < thresholds.EXTRACT_SESSIONS:
            return
        if self._count_plain(supporting) < thresholds.EXTRACT_SOURCES:
            return
        resting = (self._resting(draft.claims[0], voicing) for draft in self._drafts(supporting))
        found = next((one for one in resting if self._is_sound(one)), None)
        if found is None:
            return
        planner.ruled.update(group)
        planner.used.update(voicing)
        reason = f"{len(supporting)} memories of {len(sessions)} sessions demand the same"
        yield from planner.propose("extract", found.ids, found.leaving, reason, draft=found.draft)

    def _count_plain(self, rows: Sequence[int]) -> int:
        texts = [self._view.memories[row] for row in rows]
        return self._view.cache.get_or_compute(
            "plain voices",
            [one.content_hash for one in texts],
            _COUNT,
            lambda: sum(demand_of(one.content).plain for one in texts),
        )

    def _drafts(self, rows: Sequence[int]) -> Iterator[Draft]:
        """Yield the texts that may stand for some rows as a rule, the best first."""
        sources = self._view.sources(self._planner.ids(rows))
        # Which voice is the most central depends on where they lie, too.
        near = hashlib.sha256(b"".join(one.vector.tobytes() for one in sources))
        hashes = [self._view.memories[row].content_hash for row in rows]
        voices = self._view.cache.get_or_compute(
            "voices",
            [*hashes, near.hexdigest()],
            _VOICES,
            lambda: choose_voices(sources, self._planner.coverage.likelihood),
        )
        return (as_rule(sources[at], [sources[one] for one in more]) for at, more in voices)

    def _resting(self, rule: Claim, voicing: list[int]) -> _Found:
        """Rest a rule on its voices: those that leave, and of those that stay the most central."""
        planner = self._planner
        leaving = self._restating(rule.text, voicing)
        supporting = [row for row in voicing if planner.id(row) in rule.sources]
        staying = [row for row in supporting if planner.id(row) not in leaving]
        room = max(0, thresholds.MOST_SUPPORT - len(leaving))
        ids = sorted({*leaving, *planner.ids(self._most_central(staying, room))})
        return _Found(ids, leaving, Draft((Claim(rule.text, tuple(ids)),)))

    def _is_sound(self, found: _Found) -> bool:
        """Whether the check of drafts will let a rule pass: what it turns down is not planned."""
        sources = self._view.sources(found.ids)
        # Each source is cited. A sentence that speaks of a day may need that in front of it.
        said = [f"{content_hash(one.text)} {one.observed_at}" for one in sources]
        return self._view.cache.get_or_compute(
            "sound rule",
            [content_hash(found.draft.text), *said],
            _SOUND,
            lambda: not find_faults(found.draft, sources, "extract"),
        )

    def _merged_into(self, voicing: list[int], group: list[int]) -> Iterator[int]:
        """Yield the rows of a group that one of its open rows stands for: they are voices, too."""
        planner, memories = self._planner, self._view.memories
        open_ids = set(planner.ids(voicing))
        for row in group:
            successor = memories[row].superseded_by
            while successor is not None and successor not in open_ids:
                next_row = self._view.row(successor)
                successor = None if next_row is None else memories[next_row].superseded_by
            if row in planner.used or successor is not None:
                yield row

    def _more_support(self, rule_id: str, group: list[int]) -> Iterator[Proposal]:
        """Propose that a rule takes in what says no more, and rests on voices of new sessions."""
        planner, view = self._planner, self._view
        waiting = planner.in_time([row for row in group if self._is_new(row)])
        if not waiting or rule_id in view.kept_as_is:
            return
        rule = view.memory(rule_id)
        leaving = self._restating(rule.content, waiting)
        staying = [row for row in waiting if planner.id(row) not in leaving]
        voicing = self._voicing(rule.content, self._support_of[rule_id], staying)
        if leaving or voicing:
            voices = [*leaving, *planner.ids(voicing)]
            planner.used.update(row for row in waiting if planner.id(row) in voices)
            ids = [rule_id, *voices]
            reason = f"{len(voices)} more memories voice the rule"
            draft = Draft((Claim(rule.content, tuple(sorted(ids))),))
            yield from planner.propose(
                "extract", ids, leaving, reason, survivor=rule_id, draft=draft
            )

    def _is_new(self, row: int) -> bool:
        """Whether a voice is open, and no model was shown it and left it out of the rule."""
        memory = self._view.memories[row]
        asked = (memory.tenant, memory.content_hash) in self._planner.options.asked
        return self._planner.is_open(row) and not asked

    def _restating(self, rule: str, rows: Sequence[int]) -> list[str]:
        """Return the ids of those of the rows that say no more than a rule, and may leave."""
        planner, memories = self._planner, self._view.memories
        able = [
            row for row in rows if planner.may_leave(row) and not self._named_besides(memories[row])
        ]
        texts = [memories[row].content for row in able]
        found = self._view.cache.get_or_compute(
            "restating",
            [content_hash(rule), *(memories[row].content_hash for row in able)],
            _PLACES,
            lambda: find_restating(rule, texts, planner.coverage.likelihood),
        )
        return planner.ids([able[at] for at in found])

    def _named_besides(self, memory: Memory) -> bool:
        """Whether a memory was stored with names that its text lacks: a rule would lose them."""
        known = {name.casefold() for name in self._view.features(memory).names}
        named = self._view.entities.get(memory.id, ())
        return any(name.casefold() not in known for name in named)

    def _voicing(self, rule: str, known: list[int], waiting: list[int]) -> list[int]:
        """Return the rows that voice a rule in sessions that it has no voice of yet."""
        sessions = {self._session(row) for row in known}
        return [
            row
            for row in waiting
            if self._session(row) not in sessions and supports(rule, self._view.source(row))
        ][: max(0, thresholds.MOST_SUPPORT - len(known))]

    @cached_property
    def _support_of(self) -> dict[str, list[int]]:
        """The rows that each rule rests on."""
        rows: dict[str, list[int]] = {}
        for row, memory in enumerate(self._view.memories):
            if memory.id in self._view.supported_rule:
                rows.setdefault(self._view.supported_rule[memory.id], []).append(row)
        return rows

    def _session(self, row: int) -> str:
        memory = self._view.memories[row]
        # Without a session, what was said on one day counts as one occasion.
        return memory.session or memory.observed_at[:10]

    def _most_central(self, rows: list[int], most: int) -> list[int]:
        vectors = self._view.vectors(rows)
        near = vectors @ vectors.T
        order = sorted(range(len(rows)), key=lambda at: (-near[at].sum(), rows[at]))
        return sorted(rows[at] for at in order[:most])
