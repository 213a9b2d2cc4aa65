"""Proposals to update: what gives one thing a new value, with what gave it the old one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowwave.consolidation import thresholds
from slowwave.consolidation.proposals import Draft, Proposal
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.updates.dated_memory import DatedMemory
from slowwave.consolidation.updates.replacements import Replacement, StatedValue

from .composition import compose_next_update, compose_update
from .tenant_planner import TenantPlanner
from .topic_groups import TopicGroups


class UpdateProposals:
    """The values of things that were replaced by newer ones."""

    def __init__(self, planner: TenantPlanner, topic_groups: TopicGroups) -> None:
        """Take the planner of the tenant, with what is planned so far."""
        self._planner = planner
        self._view = planner.view
        self._topic_groups = topic_groups

    def propose(self) -> Iterator[Proposal]:
        """Propose each new value with what was so before."""
        for replacement in self._topic_groups.found.replacements:
            yield from self._update(replacement)

    def _update(self, replacement: Replacement) -> Iterator[Proposal]:
        planner, view = self._planner, self._view
        derived_ids = [
            one.memory.id for one in replacement.memories if one.memory.id in view.updates
        ]
        oldest = {one.memory.id for one in replacement.stages[-1].memories}
        # What was said before it has no place in a text that stands in order of time.
        if len(derived_ids) > 1 or not oldest.issuperset(derived_ids):
            return
        stages = self._widened(replacement.stages)
        ids = [
            [memory_id for memory_id in stage if memory_id not in derived_ids] for stage in stages
        ]
        everyone = [memory_id for stage in stages for memory_id in stage]
        decided = planner.is_decided("update", everyone)
        draft = None if decided else self._draft(derived_ids, ids)
        if not decided and draft is None:
            return
        rows = map(view.row, everyone)
        planner.used.update(row for row in rows if row is not None)
        if decided:
            return
        memories = [view.memory(one) for stage in ids for one in stage]
        yield from planner.propose(
            "update",
            everyone,
            [memory.id for memory in memories if planner.may_be_replaced(memory)],
            f"a newer {replacement.slot}: {' after '.join(replacement.values)}",
            survivor=derived_ids[0] if derived_ids else None,
            draft=draft,
        )

    def _draft(self, derived_ids: list[str], stages: list[list[str]]) -> Draft | None:
        """Write what is so now and what was before; None if it has no place to stand."""
        sources = [self._view.sources(stage) for stage in stages if stage]
        if not derived_ids:
            return compose_update(sources)
        newer = self._view.sources(stages[-2])
        derived = self._view.sources(derived_ids)[0]
        draft = compose_next_update(derived, sources, newer)
        return draft if len(read(draft.text).sentences) <= thresholds.MOST_CLAIMS else None

    def _widened(self, stages: Sequence[StatedValue]) -> list[list[str]]:
        """Return the ids of each value's memories, with other wordings that lie near them."""
        taken = {one.memory.id for stage in stages for one in stage.memories}
        room = thresholds.MOST_SOURCES - len(taken)
        widened = []
        for number, stage in enumerate(stages):
            after = stages[number + 1].memories[-1].moment if number + 1 < len(stages) else ("", "")
            until = stages[number - 1].start if number else None
            more = [
                memory_id
                for memory_id in self._wordings(stage, after, until)
                if memory_id not in taken
            ][: max(0, room)]
            taken.update(more)
            room -= len(more)
            widened.append([*(one.memory.id for one in stage.memories), *more])
        return widened

    def _wordings(
        self, stage: StatedValue, after: tuple[str, str], until: tuple[str, str] | None
    ) -> Iterator[str]:
        """Yield open memories of the same groups that say nothing else, from `after` until then."""
        view, topic_groups = self._view, self._topic_groups
        rows = (view.row(one.memory.id) for one in stage.memories)
        groups = {topic_groups.group_of[row] for row in rows if row in topic_groups.group_of}
        for number in sorted(groups):
            for row in filter(self._planner.is_open, topic_groups.groups[number]):
                memory = view.memories[row]
                one = DatedMemory(memory, view.features(memory).sentences, open=True)
                fits = after < one.moment and (until is None or one.moment < until)
                if fits and one.states_nothing_else(stage.keys):
                    yield one.memory.id
