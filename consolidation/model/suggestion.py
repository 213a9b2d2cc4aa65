"""A group as a model states it, and what it would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowwave.consolidation.planning.composition import is_shorter
from slowwave.consolidation.proposals import (
    Claim,
    Draft,
    Proposal,
    Source,
)
from slowwave.consolidation.text.dates import DATE_MARK

from .answer_forms import StatedClaim, StatedGroup

if TYPE_CHECKING:
    from slowwave.consolidation.verification.faults import Fault
    from slowwave.consolidation.writing.verifier import Verifier


class Unusable(Exception):
    """A group that cannot be used as it is. Its message says why, for the model to mend it."""


class Unannounced(Unusable):
    """Memories that a model takes for newer, and that do not say that anything changed.

    A person has to say which is true. Of such groups in a model's honest answers about two lives 9
    were updates and 7 contradictions.
    """


@dataclass(frozen=True)
class Suggestion:
    """A group of a model's answer, by the memories' own ids, and what it would do."""

    kind: str
    proposal: Proposal
    sources: tuple[Source, ...]
    # The places of the claims that a second opinion is against, and the ids of the sources of which
    # it misses something.
    doubted: frozenset[int] = frozenset()
    missed: frozenset[str] = frozenset()
    # The texts of claims, and the ids of sources, that it is for.
    approved: frozenset[str] = frozenset()
    # Why memories of the group are not part of it.
    omissions: tuple[str, ...] = ()
    # The ids of those that leave for a rule only if a second opinion is that it says all of them.
    voices: frozenset[str] = frozenset()

    # What is reported of it where it is not as the model said it.
    why: str | None = None

    def turned_down(self, why: Sequence[str]) -> Suggestion:
        """Report what was left out, and why."""
        return replace(self, why=f"what was turned down was left out: {'; '.join(why)}")

    def is_shorter(self, draft: Draft) -> bool:
        """Whether a draft is enough shorter than what goes; of a memory that grows, what is added.

        A synthesis must earn its place, whoever writes it.
        """
        proposal = self.proposal
        leaving = [source for source in self.sources if source.id in proposal.leaving]
        added = [
            # The day on which something was said is no word of it.
            replace(one, text=DATE_MARK.sub("", one.text))
            for one in draft.claims
            if one.sources != (proposal.survivor,)
        ]
        return is_shorter(Draft(tuple(added)), leaving)

    @property
    def wordy(self) -> tuple[str, ...]:
        """Return a fault if memories are joined in nearly as many words as they have.

        Not where one that stands grows: that is where the next one looks for its like.
        """
        proposal = self.proposal
        is_new = proposal.operation == "synthesize" and proposal.survivor is None
        if not is_new or self.is_shorter(proposal.draft):
            return ()
        return ("it is hardly shorter than its memories: say each thing once, in fewer words",)

    def still_counts(self, fault: Fault) -> bool:
        """Whether a fault of its draft counts although a second opinion was heard."""
        about = fault.source
        if fault.claim is not None:
            about = self.proposal.draft.claims[fault.claim].text
        return not fault.soft or about not in self.approved

    def narrowed(self, verifier: Verifier) -> Suggestion:
        """Keep the sources that say more than the rule as it is worded.

        Of what may say no more a second opinion is to be heard.
        """
        if self.proposal.operation != "extract":
            return self
        rule = self.proposal.draft.text
        leaving = [one for one in self.sources if one.id in self.proposal.leaving]
        restating = {
            leaving[at].id for at in verifier.restating(rule, [one.text for one in leaving])
        }
        others = [one for one in leaving if one.id not in restating]
        voices = verifier.may_restate(rule, [one.text for one in others])
        return replace(
            self,
            proposal=replace(self.proposal, leaving=tuple(sorted(restating))),
            voices=frozenset(others[at].id for at in voices),
        )

    def joined_by(self, ids: Iterable[str]) -> Suggestion:
        """Add memories to those that a rule supersedes."""
        leaving = tuple(sorted({*self.proposal.leaving, *ids}))
        return replace(self, proposal=replace(self.proposal, leaving=leaving))


@dataclass(frozen=True)
class Group:
    """A group as a model states it, by the memories' own ids."""

    kind: str
    ids: tuple[str, ...]
    stay: tuple[str, ...]
    claims: tuple[Claim, ...]

    @classmethod
    def of(cls, stated: StatedGroup, ids: Mapping[str, str]) -> Group:
        """Return a group with the memories' own ids; short ids that the prompt does not have stay.

        A claim of blanks is none.
        """
        claims = tuple(
            Claim(one.text.strip(), tuple(ids.get(short, short) for short in one.sources))
            for one in stated.claims
            if one.text.strip()
        )
        named = [*stated.ids, *(short for one in stated.claims for short in one.sources)]
        return cls(
            stated.kind,
            tuple(dict.fromkeys(ids.get(short, short) for short in named)),
            tuple(ids.get(short, short) for short in stated.stay),
            claims,
        )

    def stated(self, ids: Mapping[str, str]) -> StatedGroup:
        """Return it by other short ids; what is not there is left out."""
        return StatedGroup(
            kind=self.kind,  # type: ignore[arg-type]  # it was one of them when it came
            ids=[ids[one] for one in self.ids if one in ids],
            stay=[ids[one] for one in self.stay if one in ids],
            claims=[
                StatedClaim(text=one.text, sources=[ids[two] for two in one.sources if two in ids])
                for one in self.claims
            ],
        )
