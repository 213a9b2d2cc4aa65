"""What every composed or written text must pass before it may be written to the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from slowwave.consolidation.comparison.coverage import Coverage
from slowwave.consolidation.comparison.entailment import Entailment
from slowwave.consolidation.proposals import Draft, Proposal, Source
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.thresholds import ENTAILED_WITH_A_MODEL, RELATED, SAME_TO_A_MODEL
from slowwave.consolidation.verification.faults import Fault
from slowwave.consolidation.verification.quotes import find_unquoted
from slowwave.consolidation.verification.verify import (
    find_distance,
    find_faults,
    find_loss,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slowwave.consolidation.text.reading import Reading

# Gives the vector of a text: float32, shape (d,), unit length.
VectorOf = Callable[[str], "NDArray[np.float32]"]


class Verifier:
    """Decides whether what a proposal would write may be written to the file."""

    def __init__(
        self,
        vector_of: VectorOf,
        vectors: dict[str, NDArray[np.float32]],
        prefetch: Callable[[str], None] | None = None,
    ) -> None:
        """Take the source of vectors, which may compute in advance those that will be asked for.

        vectors: where those of drafts that pass are put, by proposal, to be kept with the memory.
        """
        self._vector_of = vector_of
        self._vectors = vectors
        self._prefetch = prefetch

    def prefetch(self, proposal: Proposal) -> None:
        """Announce a proposal that will be checked soon: its vectors are computed meanwhile."""
        if self._prefetch is not None and not proposal.keeps_text:
            self._prefetch(proposal.draft.text)

    def faults(self, proposal: Proposal, sources: Sequence[Source]) -> list[Fault]:
        """Return what is wrong with a proposal's draft, compared with its sources.

        It may be written if there is no fault, or only soft ones that a second opinion clears.
        """
        found = self._faults_of_text(proposal, sources)
        if proposal.keeps_text or any(not one.soft for one in found):
            return found
        vector = self._vector_of(proposal.draft.text)
        self._vectors[proposal.id] = vector
        if proposal.operation == "synthesize" and not (proposal.by_model or proposal.by_person):
            return found
        return [*found, *find_distance(vector, sources, proposal.operation)]

    def find_covering(self, said: Reading, kept: Sequence[Reading]) -> int | None:
        """Find a sentence that says all that another says, by its place; None if there is none."""
        covered = Coverage().covered([(said.text, one.text) for one in kept])
        return next((at for at, is_covered in enumerate(covered) if is_covered), None)

    def may_be_same(self, one: str, other: str) -> bool:
        """Whether either of two texts may tell the other, as far as a model may be believed."""
        return self._likelier(one, other) >= SAME_TO_A_MODEL

    def may_entail(self, texts: Sequence[str], said: str) -> bool:
        """Whether one of some texts, or all together, may tell what is said, however unlikely."""
        together = [" ".join(texts)] if len(texts) > 1 else []
        return any(self._likelihood(said, one) >= RELATED for one in (*texts, *together))

    def restating(self, rule: str, voices: Sequence[str]) -> list[int]:
        """Return the places of the voices that say no more than a rule, as a model has said."""
        return [
            at
            for at, voice in enumerate(voices)
            if not find_loss(rule, [voice])
            and self._likelihood(voice, rule) >= ENTAILED_WITH_A_MODEL
        ]

    def may_restate(self, rule: str, voices: Sequence[str]) -> list[int]:
        """Return the places of the voices in which nothing says that they say more than a rule."""
        return [at for at, voice in enumerate(voices) if self.may_entail([rule], voice)]

    def _softened(
        self, faults: Sequence[Fault], draft: Draft, sources: Sequence[Source]
    ) -> list[Fault]:
        """Make faults about denials and moods soft, if the network finds nothing missing.

        What guards are certain of, in texts that are alike otherwise, is no such thing.
        """
        text_of = {source.id: source.text for source in sources}
        return [
            replace(one, soft=True)
            if one.is_mark and one.source and self.may_be_same(text_of[one.source], draft.text)
            else one
            for one in faults
        ]

    def _likelier(self, one: str, other: str) -> float:
        """Return how likely one of two texts says what the other says, whole or in a sentence.

        Of long texts the network tells little: they have more to say than one thing.
        """
        pairs = product(_with_sentences(one), _with_sentences(other))
        ways = [way for pair in pairs for way in (pair, pair[::-1])]
        return max(self._likelihood(*way) for way in ways)

    def _faults_of_text(self, proposal: Proposal, sources: Sequence[Source]) -> list[Fault]:
        draft = proposal.draft
        if proposal.by_model:
            # What stays must tell what leaves for it, as a synthesis must.
            operation = "synthesize" if proposal.operation == "merge" else proposal.operation
            found = find_faults(draft, sources, operation)
            if proposal.operation == "merge":
                found = self._softened(found, draft, sources)
        elif proposal.operation == "synthesize" and not proposal.by_person:
            found = find_unquoted(draft, sources)
        else:
            found = find_faults(draft, sources, proposal.operation)
        return [*found, *_changed_sentences(proposal, sources)]

    def _likelihood(self, said: str, premise: str) -> float:
        return self._entailment.likelihoods([(said, premise)])[0]

    @cached_property
    def _entailment(self) -> Entailment:
        return Entailment()


def _with_sentences(text: str) -> list[str]:
    return list(dict.fromkeys([text, *read(text).sentences]))


def _changed_sentences(proposal: Proposal, sources: Sequence[Source]) -> list[Fault]:
    """Find the sentences of a memory that grows which do not stand in the draft word for word."""
    if proposal.operation != "synthesize" or proposal.survivor is None:
        return []
    owner = next(source for source in sources if source.id == proposal.survivor)
    lost = [one for one in read(owner.text).sentences if one not in proposal.draft.text]
    return [Fault(f"changes what stands already: {one}", source=owner.id) for one in lost]
