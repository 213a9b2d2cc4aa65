"""Proposals to extract: what is said again and again as something that ought to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from slowwave.consolidation import thresholds
from slowwave.consolidation.extractive import compose_rule, supports, voices
from slowwave.consolidation.guards import Objection, certain_conflict
from slowwave.consolidation.language.reading import Reading
from slowwave.consolidation.proposals import Claim, Draft, Proposal

from .state import Planning, most_common


class Rules:
    """The rules that a tenant's memories voice."""

    def __init__(self, planning: Planning) -> None:
        """Take the plan as it is so far."""
        self._planning = planning
        self._population = planning.population

    def propose(self) -> Iterator[Proposal]:
        """Propose new rules, and more evidence of those that there are."""
        planning, population = self._planning, self._population
        ought = [row for row in planning.readable if population.normative[population.text_of[row]]]
        for group in planning.groups(ought, thresholds.EXTRACT_SIMILARITY, _plainly_conflicting):
            rules = Counter(
                population.evidence[one]
                for one in planning.ids(group)
                if one in population.evidence
            )
            if rules:
                planning.ruled.update(group)
                yield from self._more_evidence(most_common(rules)[0], group)
            elif len(group) >= thresholds.EXTRACT_SOURCES:
                planning.ruled.update(group)
                yield from self._rule([row for row in group if planning.is_open(row)])

    def _rule(self, voicing: list[int]) -> Iterator[Proposal]:
        planning = self._planning
        sessions = {self._session(row) for row in voicing}
        enough = len(voicing) >= thresholds.EXTRACT_SOURCES
        if not enough or len(sessions) < thresholds.EXTRACT_SESSIONS:
            return
        ids = planning.ids(self._most_central(voicing, thresholds.MOST_EVIDENCE))
        draft = None
        if planning.options.extractive:
            draft = compose_rule(self._population.sources(ids))
            if draft is None:
                return
            rule, known = draft.claims[0].text, set(draft.claims[0].sources)
            rows = [row for row in voicing if planning.id(row) in known]
            # Else the next night would find that there is room for more.
            rows += self._voicing(rule, rows, planning.in_time(list(set(voicing) - set(rows))))
            ids = planning.ids(sorted(rows))
            draft = Draft((Claim(rule, tuple(sorted(ids))),))
        planning.used.update(voicing)
        reason = f"{len(ids)} memories of {len(sessions)} sessions voice one rule"
        yield planning.proposal("extract", ids, [], reason, draft=draft)

    def _more_evidence(self, rule_id: str, group: list[int]) -> Iterator[Proposal]:
        """Let a rule rest on what voices it too, in sessions that it has no voice of yet."""
        planning, population = self._planning, self._population
        waiting = planning.in_time([row for row in group if planning.is_open(row)])
        if not waiting or rule_id in population.orders:
            return
        rule = population.memory(rule_id)
        voicing = self._voicing(rule.content, self._evidence_of[rule_id], waiting, rule_id)
        if voicing:
            planning.used.update(voicing)
            ids = [rule_id, *planning.ids(voicing)]
            reason = f"{len(voicing)} more memories voice the rule"
            draft = Draft((Claim(rule.content, tuple(sorted(ids))),))
            yield planning.proposal("extract", ids, [], reason, survivor=rule_id, draft=draft)

    def _voicing(
        self, rule: str, known: list[int], waiting: list[int], rule_id: str | None = None
    ) -> list[int]:
        """Give the rows that voice a rule in sessions that it has no voice of yet."""
        population = self._population
        sessions = {self._session(row) for row in known}
        # The vector of the voice that became the rule: the one by which its evidence was chosen.
        voice = next((row for row in known if voices(rule, population.source(row))), None)
        if voice is not None:
            chosen = population.source(voice)
        elif rule_id is not None:
            chosen = population.sources([rule_id])[0]
        else:
            return []
        return [
            row
            for row in waiting
            if self._session(row) not in sessions and supports(rule, chosen, population.source(row))
        ][: max(0, thresholds.MOST_EVIDENCE - len(known))]

    @cached_property
    def _evidence_of(self) -> dict[str, list[int]]:
        """The rows that each rule rests on."""
        rows: dict[str, list[int]] = {}
        for row, memory in enumerate(self._population.memories):
            if memory.id in self._population.evidence:
                rows.setdefault(self._population.evidence[memory.id], []).append(row)
        return rows

    def _session(self, row: int) -> str:
        memory = self._population.memories[row]
        # Without a session, what was said on one day counts as one occasion.
        return memory.session or memory.observed_at[:10]

    def _most_central(self, rows: list[int], most: int) -> list[int]:
        vectors = self._population.vectors(rows)
        near = vectors @ vectors.T
        order = sorted(range(len(rows)), key=lambda at: (-near[at].sum(), rows[at]))
        return sorted(rows[at] for at in order[:most])


def _plainly_conflicting(left: Reading, right: Reading) -> Objection | None:
    """Give the conflict of two voices of a rule only where they are nearly the same sentence.

    "Never push untested code" and "always run the tests before a push" are one rule, though one
    denies and the other does not; "push on Fridays" and "don't push on Fridays" are two.
    """
    shared, either = left.stem_set & right.stem_set, left.stem_set | right.stem_set
    alike = len(shared) >= thresholds.ALIKE_VOICES * len(either)
    return certain_conflict(left, right) if alike else None
