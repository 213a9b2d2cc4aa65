"""Turn the groups of a model's answer into proposals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

from slowwave.consolidation.planning.merge_proposals import similarities
from slowwave.consolidation.proposals import (
    Draft,
    LeftOut,
    Operation,
    Proposal,
    Source,
    proposal_id,
)
from slowwave.consolidation.thresholds import MAX_SUPPORT
from slowwave.consolidation.writing.writer import Job
from slowwave.store.records import Claim

from .answer_forms import StatedGroup
from .interface import Models

_MIN_MEMORIES = 2


class Unusable(Exception):
    """A group cannot become a proposal. Its message, which the model is shown, says why."""


def with_own_ids(
    stated: StatedGroup, own_id: Mapping[str, str], notes: Collection[str]
) -> StatedGroup:
    """Return a group with the memories' own ids, on one line unless one of them is a note.

    own_id: the memories' ids by the short ids of the prompt. notes: the ids of notes.
    """
    ids = list(dict.fromkeys(own_id.get(short, short) for short in stated.ids))
    has_lines = not set(ids).isdisjoint(notes)
    text = stated.text.strip() if has_lines else " ".join(stated.text.split())
    left_out = [
        omitted.model_copy(update={"id": own_id.get(omitted.id, omitted.id)})
        for omitted in stated.left_out
    ]
    return stated.model_copy(update={"ids": ids, "text": text, "left_out": left_out})


class WindowGroups:
    """Makes proposals of the groups of one window."""

    def __init__(self, job: Job, models: Models) -> None:
        self._window = window = job.window
        self._source = {source.id: source for source in job.sources}
        self._hash = dict(zip(window.memories, window.content_hashes, strict=True))
        self._trust = dict(zip(window.memories, window.trusts, strict=True))
        self._models = models

    def sources(self, ids: Collection[str]) -> list[Source]:
        """Return the sources with these ids, in the order in which they are shown."""
        return [source for source in self._source.values() if source.id in ids]

    def propose(self, group: StatedGroup, staying: Collection[str] = ()) -> Proposal:
        """Return a group's proposal. staying: memories that stay active. Raises `Unusable`."""
        self._refuse(group)
        replaceable = self._window.may_leave.difference(staying)
        operation, survivor = self._outcome(group, replaceable)
        if survivor is None:
            leavable = set(group.ids).difference(staying)
            linked = {memory_id for memory_id in leavable if self._source[memory_id].is_linked}
            # A new text takes the place of a linked memory.
            replaceable = replaceable.union(linked if len(linked) == 1 else ())
        leaving = tuple(sorted(replaceable.intersection(group.ids).difference([survivor])))
        if not leaving:
            raise Unusable("none of its memories may be superseded")
        # A merge only has its survivor and memories that leave.
        members = {*leaving, survivor} if operation == "merge" else group.ids
        ids = tuple(sorted(set(group.ids).intersection(members)))
        sources = self.sources(ids)
        by_id = {source.id: source for source in sources}
        if len(ids) > 1:
            lowest, mean = similarities([by_id[memory_id] for memory_id in ids])
            reason = _REASONS[operation].format(len(ids))
        else:
            lowest, mean, reason = 1.0, 1.0, "a note repeats itself"
        hashes = tuple(self._hash[memory_id] for memory_id in ids)
        verbatim = any(source.text == group.text for source in sources)
        written_by, checked_by = (None, None) if verbatim else self._models.authors
        claim = Claim(group.text, ids, written_by=written_by, checked_by=checked_by)
        tenant = self._window.tenant
        return Proposal(
            id=proposal_id(operation, tenant, hashes, self._models.key, "model"),
            operation=operation,
            tenant=tenant,
            sources=ids,
            source_hashes=hashes,
            leaving=leaving,
            survivor=survivor,
            entities=(),
            min_similarity=lowest,
            mean_similarity=mean,
            reason=reason,
            draft=Draft((claim,)),
            by_model=True,
            include_protected=self._window.include_protected,
            left_out=tuple(
                LeftOut(omitted.id, omitted.words, omitted.why)
                for omitted in group.left_out
                if omitted.id in ids
            ),
        )

    def is_wanted(self, proposal: Proposal) -> bool:
        """Whether the proposal's operation is enabled, and it was not decided before."""
        window = self._window
        return proposal.operation in window.operations and proposal.id not in window.decided

    def _refuse(self, group: StatedGroup) -> None:
        unknown = [memory_id for memory_id in group.ids if memory_id not in self._source]
        if unknown:
            raise Unusable(f"it names an id that was not given: {unknown[0]}")
        if len(group.ids) < _MIN_MEMORIES and not self._may_be_shortened(group):
            raise Unusable("it is a group of one memory")
        if len(group.ids) > MAX_SUPPORT:
            raise Unusable(f"it has more than {MAX_SUPPORT} ids")
        if not group.text:
            raise Unusable("it has no text")
        for pair in combinations(group.ids, 2):
            if pair in self._window.apart:
                texts = " | ".join(self._source[memory_id].text[:80] for memory_id in pair)
                raise Unusable(f"a person separated these two: {texts}")

    def _may_be_shortened(self, group: StatedGroup) -> bool:
        """Whether a group of one memory is a note to shorten, which is done once."""
        if len(group.ids) != 1 or group.operation not in ("merge", "synthesize"):
            return False
        return self._source[group.ids[0]].is_note and group.ids[0] not in self._window.derived

    def _outcome(
        self, group: StatedGroup, replaceable: Collection[str]
    ) -> tuple[Operation, str | None]:
        """Return the operation of a group, and the memory that stays or grows.

        A memory whose text equals the group's stays unchanged, unless it is trusted less than
        another. Else a single derived memory grows. Else a new memory is written.
        """
        trust = max(self._trust[memory_id] for memory_id in group.ids)
        same = [
            memory_id
            for memory_id in group.ids
            if self._source[memory_id].text == group.text
            and self._trust[memory_id] >= trust
            # A rule is a core memory, so only an existing one can take in support.
            and (group.operation != "extract" or memory_id in self._window.derived)
        ]
        if same:
            staying = (memory_id for memory_id in same if memory_id not in replaceable)
            survivor = next(staying, same[-1])
            is_joined = group.operation in ("merge", "synthesize")
            return ("merge" if is_joined else group.operation), survivor
        if group.operation not in ("merge", "synthesize"):
            return group.operation, None
        derived = [memory_id for memory_id in group.ids if memory_id in self._window.derived]
        grows = len(derived) == 1 and derived[0] in replaceable
        return "synthesize", derived[0] if grows else None


_REASONS: dict[Operation, str] = {
    "merge": "{} memories say the same",
    "synthesize": "{} memories describe the same thing",
    "update": "{} memories state the same property; the latest has its current value",
    "extract": "{} memories support one rule or pattern",
}
