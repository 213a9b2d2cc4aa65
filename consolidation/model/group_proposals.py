"""What a model says of a window, taken as proposals; what cannot be is turned down here.

Nothing is believed yet: a proposal says what would be done, and its draft is checked like any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from typing import TYPE_CHECKING

from slowwave.consolidation.comparison.rivals import find_rivalry
from slowwave.consolidation.planning.composition import compose_update, sorted_by_time
from slowwave.consolidation.planning.tenant_planner import similarities
from slowwave.consolidation.proposals import (
    Claim,
    Draft,
    Operation,
    Proposal,
    Source,
    proposal_id,
)
from slowwave.consolidation.text import cues
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.thresholds import EXTRACT_SESSIONS, EXTRACT_SOURCES, MOST_SUPPORT

from .suggestion import Group, Suggestion, Unannounced, Unusable

if TYPE_CHECKING:
    from slowwave.consolidation.proposals import Window
    from slowwave.consolidation.writing.verifier import Verifier

_FEWEST = 2


class Suggestions:
    """Groups of answers about one window, each memory in one of them."""

    def __init__(self, window: Window, sources: Sequence[Source], key: str) -> None:
        """Take the window with its sources. key: of the model and of its instructions."""
        self._window = window
        self._source = {source.id: source for source in sources}
        self._hash = dict(zip(window.memories, window.content_hashes, strict=True))
        self._trust = dict(zip(window.memories, window.trusts, strict=True))
        self._session = dict(zip(window.memories, window.sessions, strict=True))
        self._key = key
        self._taken: set[str] = set()

    def of(self, group: Group, verifier: Verifier) -> Suggestion:
        """Return what a group would do. Raises `Unusable`."""
        unknown = [one for one in group.ids if one not in self._source]
        if unknown:
            raise Unusable(f"it names an id that was not given: {unknown[0]}")
        if len(group.ids) < _FEWEST:
            raise Unusable("it is a group of one")
        if len(group.ids) > MOST_SUPPORT:
            raise Unusable(f"it has more than {MOST_SUPPORT} ids")
        if not self._taken.isdisjoint(group.ids):
            raise Unusable("one of its ids is in another group already")
        return self.taken(self._makers[group.kind](group, verifier))

    def release(self, suggestion: Suggestion) -> None:
        """Free the memories of a group that cannot be used, so that another may have them."""
        self._taken.difference_update(source.id for source in suggestion.sources)

    def taken(self, suggestion: Suggestion) -> Suggestion:
        """Mark the memories of a group as used, and return the group."""
        self._taken.update(source.id for source in suggestion.sources)
        return suggestion

    @property
    def _makers(self) -> dict[str, Callable[[Group, Verifier], Suggestion]]:
        return {
            "same": self._same,
            "joined": self._joined,
            "newer": self._newer,
            "rule": self._rule,
        }

    def composed(self, same: Suggestion) -> Suggestion:
        """Propose a new memory where the one that would stay does not say all that the others say.

        It says what that one says; the rest is to come. Raises `Unusable`.
        """
        stay = same.proposal.survivor
        assert stay is not None  # noqa: S101 - one of memories that are the same stays
        ids = same.proposal.sources
        return self._compose(ids, (Claim(self._source[stay].text, ids),))

    def _same(self, group: Group, verifier: Verifier) -> Suggestion:
        """Propose a merge into one memory, word for word; those that differ from it stay."""
        stay = next((one for one in group.stay if one in group.ids), None)
        if stay is None:
            raise Unusable("it does not say which one stays")
        self._refuse_apart(group.ids)
        willing = [one for one in group.ids if one != stay and self._may_go(one, stay)]
        if not willing:
            raise Unusable("none of the others may be superseded by the one that stays")
        differing = {one: self._difference(stay, one, verifier) for one in willing}
        leaving = [one for one in willing if differing[one] is None]
        if not leaving:
            raise Unusable(str(differing[willing[0]]))
        ids = [stay, *leaving]
        draft = Draft((Claim(self._source[stay].text, tuple(sorted(ids))),))
        reason = f"a model says that {len(ids)} memories say the same"
        made = self._suggestion("same", "merge", ids, leaving, reason, draft, stay)
        return replace(made, omissions=tuple(filter(None, differing.values())))

    def _joined(self, group: Group, _verifier: Verifier) -> Suggestion:
        """Propose a synthesis of several memories, or that an earlier one takes the others in.

        What no claim cites stays as it is.
        """
        if not group.claims:
            raise Unusable("it says nothing: it has no claims")
        cited = {one for claim in group.claims for one in claim.sources} | self._window.derived
        ids = [one for one in group.ids if one in cited]
        if len(ids) < _FEWEST:
            raise Unusable("its claims cite fewer than two of its memories")
        return self._compose(ids, group.claims)

    def _compose(self, ids: Sequence[str], claims: Sequence[Claim]) -> Suggestion:
        self._refuse_apart(ids)
        derived = [one for one in ids if one in self._window.derived]
        if len(derived) > 1:
            raise Unusable("two of its memories stand as they are")
        survivor = derived[0] if derived else None
        leaving = [one for one in ids if one != survivor and one in self._window.may_leave]
        if len(leaving) + bool(survivor) < _FEWEST:
            raise Unusable("its memories may not be superseded")
        if survivor is not None:
            claims = self._behind(survivor, claims)
        reason = f"a model says that {len(ids)} memories tell one thing"
        draft = Draft(tuple(claims))
        return self._suggestion("joined", "synthesize", ids, leaving, reason, draft, survivor)

    def _behind(self, owner: str, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """Append what others add to the sentences of a memory."""
        text = self._source[owner].text
        sentences = read(text).sentences
        if " ".join(dict.fromkeys(sentences)) != text:
            sentences = (text,)
        kept = [Claim(one, (owner,)) for one in sentences]
        added = [
            replace(one, sources=tuple(id_ for id_ in one.sources if id_ != owner))
            for one in claims
            if one.text not in sentences and set(one.sources) != {owner}
        ]
        return (*kept, *added)

    def _newer(self, group: Group, _verifier: Verifier) -> Suggestion:
        """Propose an update: later memories say what is so now, the others what was so before."""
        now = [one for one in group.stay if one in group.ids]
        before = [one for one in group.ids if one not in now]
        if not now or not before:
            raise Unusable("it does not say which memories give the newest value, and which do not")
        if not self._window.derived.isdisjoint(group.ids):
            raise Unusable("a memory that stands cannot be part of it")
        said = {one: self._source[one].observed_at for one in group.ids}
        if min(said[one] for one in now) <= max(said[one] for one in before):
            raise Unusable("the newest value was not said after all the others")
        texts = [self._source[one].text for one in now]
        for text in texts:
            _refuse_unsettled(text)
        if not any(cues.CUE.search(text) for text in texts):
            for one in before:
                _refuse_another_thing(texts, self._source[one].text)
            raise Unannounced("nothing in it says that anything changed")
        stages = [[self._source[one] for one in now], *self._stages(before)]
        draft = compose_update(stages)
        leaving = [one for one in group.ids if one in self._window.may_leave]
        reason = f"a model says that {len(now)} of {len(group.ids)} memories give a newer value"
        return self._suggestion("newer", "update", group.ids, leaving, reason, draft)

    def _stages(self, ids: Sequence[str]) -> Iterator[list[Source]]:
        """Yield earlier memories, the latest first, those in a row with one value together."""
        late_first = sorted_by_time([self._source[one] for one in ids])[::-1]
        for _, stage in groupby(late_first, key=lambda one: read(one.text).value_keys):
            yield list(stage)

    def _rule(self, group: Group, verifier: Verifier) -> Suggestion:
        """Propose a rule for the memories that only restate it; without enough of them, a merge."""
        self._refuse_apart(group.ids)
        if len(group.claims) != 1:
            raise Unusable("a rule is one claim")
        restating = [one for one in group.ids if one not in group.stay]
        sessions = {self._session[one] for one in group.ids}
        claim = group.claims[0]
        if len(group.ids) < EXTRACT_SOURCES or len(sessions) < EXTRACT_SESSIONS:
            ids = tuple(restating)
            if len(ids) < _FEWEST:
                raise Unusable("fewer than two of its memories only restate the rule")
            group = replace(group, ids=ids, claims=(replace(claim, sources=ids),))
            return self._joined(group, verifier)
        if not self._window.derived.isdisjoint(group.ids):
            raise Unusable("a memory that stands cannot be part of it")
        leaving = [one for one in restating if one in self._window.may_leave]
        draft = Draft((replace(claim, sources=tuple(sorted(group.ids))),))
        reason = f"a model says that {len(group.ids)} memories demand the same"
        return self._suggestion("rule", "extract", group.ids, leaving, reason, draft)

    def _may_go(self, leaving: str, staying: str) -> bool:
        """Whether a memory may leave for another: not what is trusted more."""
        may_leave = leaving in self._window.may_leave
        return may_leave and self._trust[staying] >= self._trust[leaving]

    def _difference(self, stay: str, leaving: str, verifier: Verifier) -> str | None:
        """Return what certainly differs by the rules, or that the network finds no likeness.

        No model may overrule that. None if there is nothing.
        """
        here, there = read(self._source[stay].text), read(self._source[leaving].text)
        rivalry = find_rivalry(here, there)
        if rivalry is not None:
            values = " against ".join(rivalry.values)
            return f"two of them differ in a {rivalry.slot}, {values}: {there.text}"
        if not verifier.may_be_same(here.text, there.text):
            return f"this seems to say something else: {there.text}"
        return None

    def _refuse_apart(self, ids: Sequence[str]) -> None:
        for pair in combinations(sorted(ids), 2):
            if pair in self._window.apart or pair[::-1] in self._window.apart:
                texts = " | ".join(self._source[one].text[:80] for one in pair)
                raise Unusable(f"these two must stay apart: {texts}")

    def _suggestion(
        self,
        kind: str,
        operation: Operation,
        ids: Sequence[str],
        leaving: Sequence[str],
        reason: str,
        draft: Draft,
        survivor: str | None = None,
    ) -> Suggestion:
        sources = [self._source[one] for one in sorted(ids)]
        lowest, mean = similarities(sources)
        hashes = tuple(self._hash[source.id] for source in sources)
        tenant = self._window.tenant
        proposal = Proposal(
            id=proposal_id(operation, tenant, hashes, self._key, "model"),
            operation=operation,
            tenant=tenant,
            sources=tuple(source.id for source in sources),
            source_hashes=hashes,
            leaving=tuple(sorted(leaving)),
            survivor=survivor,
            topics=(),
            min_similarity=lowest,
            mean_similarity=mean,
            reason=f"{reason}, mean similarity {mean:.2f}",
            draft=draft,
            by_model=True,
            include_protected=self._window.include_protected,
        )
        return Suggestion(kind, proposal, tuple(sorted_by_time(sources)))


def _refuse_another_thing(now: Sequence[str], before: str) -> None:
    """Refuse as another value what is about another thing, by the names that both have."""
    here, there = (frozenset(read(" ".join(some)).names) for some in (now, [before]))
    if here - there and there - here:
        one, other = sorted(here - there)[0], sorted(there - here)[0]
        raise Unusable(f"'{one}' and '{other}' are two things: {before}")


def _refuse_unsettled(text: str) -> None:
    """Refuse as a newer value what holds for a while only, comes on top, or is not in force."""
    for pattern in (cues.FOR_A_WHILE, cues.NOT_IN_FORCE, cues.ADDED, cues.HEDGED):
        found = pattern.search(text)
        if found is not None:
            raise Unusable(f"'{found.group()}' replaces nothing: {text}")
