"""A group of a model's answer, and the proposal that it makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from slowwave.consolidation.planning.tenant_planner import similarities
from slowwave.consolidation.proposals import (
    Claim,
    Draft,
    LeftOut,
    Operation,
    Proposal,
    Source,
    Window,
    proposal_id,
)
from slowwave.consolidation.thresholds import MOST_SUPPORT

from .answer_forms import StatedGroup
from .model_pair import Models

_FEWEST = 2


class Unusable(Exception):
    """A group that cannot become a proposal. Its message says why, for the model to mend it."""


@dataclass(frozen=True)
class Group:
    """A group as a model states it, by the memories' own ids."""

    operation: Operation
    ids: tuple[str, ...]
    text: str
    left_out: tuple[LeftOut, ...]

    @classmethod
    def of(cls, stated: StatedGroup, ids: Mapping[str, str]) -> Group:
        """Return a stated group; ids: the memories' own by the short ones of the prompt."""
        return cls(
            stated.operation,
            tuple(dict.fromkeys(ids.get(short, short) for short in stated.ids)),
            " ".join(stated.text.split()),
            tuple(
                LeftOut(ids.get(omitted.id, omitted.id), omitted.words, omitted.why)
                for omitted in stated.left_out
            ),
        )

    def stated(self, ids: Mapping[str, str], faults: Sequence[str]) -> dict[str, Any]:
        """Return the group and its faults for a prompt; ids: the short ones by the memories'."""
        return {
            "operation": self.operation,
            "ids": [ids[memory_id] for memory_id in self.ids if memory_id in ids],
            "text": self.text,
            "faults": list(faults),
        }

    def without(self, ids: Collection[str]) -> Group:
        """Return the group without some of its memories."""
        return replace(self, ids=tuple(one for one in self.ids if one not in ids))


class WindowGroups:
    """Makes proposals of the groups of a window's answers."""

    def __init__(self, window: Window, sources: Sequence[Source], key: str, models: Models) -> None:
        """Take the window with its sources. key: of the models and of their prompts."""
        self._window = window
        self._source = {source.id: source for source in sources}
        self._hash = dict(zip(window.memories, window.content_hashes, strict=True))
        self._trust = dict(zip(window.memories, window.trusts, strict=True))
        self._key = key
        self._models = models

    def sources(self, ids: Collection[str]) -> list[Source]:
        """Return the sources of some memories, in the order in which they are shown."""
        return [source for source in self._source.values() if source.id in ids]

    def propose(self, group: Group, staying: Collection[str] = ()) -> Proposal:
        """Return what a group would do. staying: those that stay active. Raises `Unusable`."""
        self._refuse(group)
        willing = self._window.may_leave.difference(staying)
        operation, survivor = self._outcome(group, willing)
        leaving = tuple(sorted(one for one in group.ids if one in willing and one != survivor))
        if not leaving:
            raise Unusable("none of its memories may be superseded")
        # Of a merge all others leave: one that stays has no part in it.
        staying_out = set(group.ids).difference(leaving, [survivor]) if operation == "merge" else ()
        ids = tuple(sorted(set(group.ids).difference(staying_out)))
        sources = self.sources(ids)
        by_id = {source.id: source for source in sources}
        lowest, mean = similarities([by_id[one] for one in ids])
        hashes = tuple(self._hash[one] for one in ids)
        verbatim = any(source.text == group.text for source in sources)
        claim = Claim(
            group.text,
            ids,
            written_by=None if verbatim else self._models.writer,
            checked_by=None if verbatim else self._models.checker,
        )
        tenant = self._window.tenant
        return Proposal(
            id=proposal_id(operation, tenant, hashes, self._key, "model"),
            operation=operation,
            tenant=tenant,
            sources=ids,
            source_hashes=hashes,
            leaving=leaving,
            survivor=survivor,
            topics=(),
            min_similarity=lowest,
            mean_similarity=mean,
            reason=f"{_REASONS[operation].format(len(ids))}, mean similarity {mean:.2f}",
            draft=Draft((claim,)),
            by_model=True,
            include_protected=self._window.include_protected,
            left_out=tuple(omitted for omitted in group.left_out if omitted.memory in ids),
        )

    def is_wanted(self, proposal: Proposal) -> bool:
        """Whether a proposal is of a kind that is wanted, and was not decided before."""
        window = self._window
        return proposal.operation in window.operations and proposal.id not in window.decided

    def _refuse(self, group: Group) -> None:
        unknown = [one for one in group.ids if one not in self._source]
        if unknown:
            raise Unusable(f"it names an id that was not given: {unknown[0]}")
        if len(group.ids) < _FEWEST:
            raise Unusable("it is a group of one memory")
        if len(group.ids) > MOST_SUPPORT:
            raise Unusable(f"it has more than {MOST_SUPPORT} ids")
        if not group.text:
            raise Unusable("it has no text")
        for pair in combinations(group.ids, 2):
            if pair in self._window.apart:
                texts = " | ".join(self._source[one].text[:80] for one in pair)
                raise Unusable(f"a person took these two apart: {texts}")

    def _outcome(self, group: Group, willing: Collection[str]) -> tuple[Operation, str | None]:
        """Return what a group comes to: the operation, and which memory stays or grows.

        A memory that says it all, word for word, stays as it is, unless it is trusted less than
        what would leave for it. A stable memory that was made before grows. Else a new one is
        written.
        """
        trust = max(self._trust[one] for one in group.ids)
        same = [one for one in group.ids if self._source[one].text == group.text]
        same = [one for one in same if self._trust[one] >= trust]
        if group.operation == "extract":
            # A rule is a core memory: only one that is there already takes others in.
            same = [one for one in same if one in self._window.derived]
        if same:
            survivor = next((one for one in same if one not in willing), same[-1])
            is_joined = group.operation in ("merge", "synthesize")
            return ("merge" if is_joined else group.operation), survivor
        if group.operation not in ("merge", "synthesize"):
            return group.operation, None
        derived = [one for one in group.ids if one in self._window.derived]
        grows = len(derived) == 1 and derived[0] in willing
        return "synthesize", derived[0] if grows else None


_REASONS: dict[Operation, str] = {
    "merge": "{} memories say the same",
    "synthesize": "{} memories tell one thing",
    "update": "{} memories give one property, the later a newer value",
    "extract": "{} memories support one rule or pattern",
}
