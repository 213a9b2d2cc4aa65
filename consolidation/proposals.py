"""Plans, proposals and their results, as frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slowwave.store.memories import Counts
from slowwave.store.records import Claim, Memory, content_hash, json_text

from .thresholds import TRUST_LOSS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Operation = Literal["merge", "synthesize", "extract", "update"]
OPERATIONS: tuple[Operation, ...] = ("merge", "synthesize", "extract", "update")
# `Claim.written_by` of a claim that a person wrote.
BY_PERSON = "human"
# Increase this when the rules for a plan's own drafts change.
_RULES = "extractive/1"


@dataclass(frozen=True, eq=False)
class Source:
    """A memory as a writer sees it. `vector`: float32, shape (d,), unit length."""

    id: str
    text: str
    observed_at: str
    vector: NDArray[np.float32]
    is_note: bool = False
    is_linked: bool = False

    @classmethod
    def of(cls, memories: Sequence[Memory], vectors: NDArray[np.float32]) -> list[Source]:
        """Return memories with their vectors, of shape (len(memories), d)."""
        return [
            cls(shown.id, shown.content, shown.observed_at, vector, shown.is_note, shown.is_linked)
            for shown, vector in zip(memories, vectors, strict=True)
        ]


@dataclass(frozen=True)
class LeftOut:
    """Words of a memory that a draft omits on purpose."""

    memory: str
    words: str
    # `said elsewhere`, `trivia` or `outdated`.
    why: str


@dataclass(frozen=True)
class Draft:
    """A text as claims that cite sources."""

    claims: tuple[Claim, ...]

    @property
    def text(self) -> str:
        """The draft as one text."""
        return " ".join(claim.text for claim in self.claims)


@dataclass(frozen=True)
class Proposal:
    """One operation on a group of memories, with its reason and its numbers."""

    # sha256 of operation, tenant, sorted source hashes, prompt hash and writer.
    id: str
    operation: Operation
    tenant: str
    sources: tuple[str, ...]
    source_hashes: tuple[str, ...]
    # The sources that will be superseded; the rest stay active.
    leaving: tuple[str, ...]
    # The source that stays and takes in the rest: the survivor of a merge, or a derived memory
    # that grows.
    survivor: str | None
    # Names that most of the sources mention.
    entities: tuple[str, ...]
    min_similarity: float
    mean_similarity: float
    reason: str
    # The resulting text; in a merge, that of the survivor.
    draft: Draft
    # Whether a model grouped the sources and wrote the text.
    by_model: bool = False
    # Whether a person wrote the text.
    by_person: bool = False
    # Whether protected memories may leave, too.
    include_protected: bool = False
    # What the model omitted, and why.
    left_out: tuple[LeftOut, ...] = ()

    @property
    def keeps_text(self) -> bool:
        """Whether no text changes: the survivor stays verbatim."""
        return self.operation != "synthesize" and self.survivor is not None


@dataclass(frozen=True)
class Window:
    """Near memories, which a model is shown together, once, to propose groups.

    Lists are in the order in which the memories are shown.
    """

    # sha256 of the tenant, the prompts, and the texts.
    id: str
    tenant: str
    memories: tuple[str, ...]
    content_hashes: tuple[str, ...]
    # The hashes of new texts without neighbors, which count as shown.
    alone: tuple[str, ...]
    trusts: tuple[float, ...]
    # The ids of memories that may be superseded.
    may_leave: frozenset[str]
    # The ids of derived memories.
    derived: frozenset[str]
    # Pairs that must not be joined, since a person separated them.
    apart: frozenset[tuple[str, str]]
    operations: frozenset[Operation]
    # The keys of remembered decisions, which are not proposed again.
    decided: frozenset[str]
    # The estimated tokens of the question and the answer.
    prompt_tokens: int
    answer_tokens: int
    include_protected: bool = False

    @property
    def tokens(self) -> int:
        """The estimated tokens of question and answer."""
        return self.prompt_tokens + self.answer_tokens


@dataclass(frozen=True)
class Refusal:
    """Two near memories that a guard keeps apart."""

    operation: Operation
    sources: tuple[str, str]
    guard: str
    why: str
    tenant: str


# The slots of conflicts whose values are the texts themselves.
SLOTS_OF_TEXTS = ("denial", "order", "statement")


@dataclass(frozen=True)
class Conflict:
    """Two memories with conflicting values of one property, and why neither replaces the other."""

    # The earlier one first.
    sources: tuple[str, str]
    tenant: str
    # The property.
    slot: str
    # The earlier and the later value.
    values: tuple[str, str]
    why: str

    @property
    def disagreement(self) -> str:
        """What differs: both values, unless they are the texts themselves, and why."""
        values = "" if self.slot in SLOTS_OF_TEXTS else f"{' vs. '.join(self.values)}; "
        return f"{values}{self.why}"


@dataclass(frozen=True)
class Undecided:
    """Memories that a model would be shown in one window, if there were one."""

    sources: tuple[str, ...]
    # The mean similarity of the pairs that join them.
    similarity: float
    # The estimated tokens of the question and the answer.
    prompt_tokens: int
    answer_tokens: int
    # The nearest pairs, with their similarity.
    examples: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class Suspicion:
    """A memory that contains instructions to its reader, and is not consolidated."""

    memory: str
    tenant: str
    # The first such sentence, verbatim.
    said: str


@dataclass(frozen=True)
class TooLong:
    """A memory that is too long to be read, and is not consolidated."""

    memory: str
    tenant: str
    characters: int


@dataclass(frozen=True)
class Dense:
    """A memory that stays verbatim, and is not shown to a model."""

    memory: str
    tenant: str
    # From 0 to 1.
    score: float
    # The features that make it dense.
    why: str


@dataclass(frozen=True)
class Plan:
    """Everything that a run will do, in order."""

    proposals: tuple[Proposal, ...] = ()
    refused: tuple[Refusal, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    suspicious: tuple[Suspicion, ...] = ()
    too_long: tuple[TooLong, ...] = ()
    # Ids of memories whose text does not match its hash.
    damaged: tuple[str, ...] = ()
    dense: tuple[Dense, ...] = ()
    # What a model would be asked, if there were one.
    undecided: tuple[Undecided, ...] = ()
    # What a model is asked; () without one.
    windows: tuple[Window, ...] = ()
    # Ids of merges that are not proposed again: undone, declined or rejected.
    held_back: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.proposals and not self.windows

    @property
    def digest(self) -> str:
        """The sha256 of the plan's proposals and windows."""
        parts: list[object] = [[p.id, p.sources, p.leaving, p.survivor] for p in self.proposals]
        if self.windows:
            parts.append([[window.id, window.memories] for window in self.windows])
        return content_hash(json_text(parts))


@dataclass(frozen=True)
class Usage:
    """The usage of a model. `cost_usd` is None if a price is unknown."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, usage: Usage) -> Usage:
        """Return the sum; an unknown cost makes the sum unknown."""
        costs = self.cost_usd, usage.cost_usd
        return Usage(
            self.calls + usage.calls,
            self.cached + usage.cached,
            self.prompt_tokens + usage.prompt_tokens,
            self.completion_tokens + usage.completion_tokens,
            None if None in costs else sum(cost or 0.0 for cost in costs),
        )


State = Literal[
    "planned", "applied", "rejected", "declined", "failed", "stale", "pending", "skipped"
]


@dataclass(frozen=True)
class AskedWindow:
    """A window and the state of its question: `applied` if it was answered."""

    window: Window
    state: State
    why: str | None = None
    usage: Usage = field(default_factory=Usage)
    # The conflicts that the model named.
    conflicts: tuple[Conflict, ...] = ()
    # Why groups of the answer did not become proposals.
    turned_down: tuple[str, ...] = ()


@dataclass(frozen=True)
class Savings:
    """The tokens of a proposal's memories, before and after."""

    # The tokens of all sources.
    tokens_before: int
    # The tokens of the sources that stay and the new text. None if the proposal was not applied.
    tokens_after: int | None
    # The trust of the result; None if the proposal was not applied.
    trust: float | None


@dataclass(frozen=True)
class Result:
    """A proposal and its state, from the check of its draft to the report of the run."""

    proposal: Proposal
    # `planned` once the draft was checked and may be applied.
    state: State
    why: str | None = None
    # The id of the new memory; None if nothing was inserted.
    derived: str | None = None
    worth: Savings | None = None
    # The counts before and after it, without what others changed; None if it was not applied, and
    # will not be.
    counts: tuple[Counts, Counts] | None = None
    # Its share of the model's usage.
    usage: Usage = field(default_factory=Usage)
    # The model's name, and the hash of the model and its prompts; None without a model.
    model: str | None = None
    model_key: str | None = None
    # Its place in the run: the survivor of a merge may go into a later proposal.
    place: int = 0
    # The name of the embedding model, and the draft's vector as the file stores it. None if no text
    # is written, or it was not embedded.
    vector: tuple[str, bytes] | None = None
    # Why a kept proposal is damaged and cannot be applied; then `proposal` only has what the
    # ledger's columns hold.
    fault: str | None = None


def derived_trust(trusts: Iterable[float]) -> float:
    """Return the trust of a memory derived from memories with these trusts; it never rises."""
    return round(max(0.0, max(trusts) - TRUST_LOSS), 4)


def method_key(operation: Operation) -> str:
    """Return the key that identifies the rules version for drafts made without a model."""
    return content_hash(f"{_RULES} {operation}")


def proposal_id(
    operation: Operation, tenant: str, hashes: tuple[str, ...], prompt_hash: str, writer: str
) -> str:
    """Return the key of a decision about these texts by this writer."""
    parts = [operation, tenant, sorted(hashes), prompt_hash, writer]
    return content_hash(json_text(parts))[:32]
