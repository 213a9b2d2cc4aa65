"""What a plan is made of, and what becomes of it. All of it frozen: decided once, then shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from slowwave.store.records import json_text

from .thresholds import TRUST_LOSS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Operation = Literal["merge", "synthesize", "extract", "update"]
OPERATIONS: tuple[Operation, ...] = ("merge", "synthesize", "extract", "update")
# Who worded a claim that a person wrote; else it is the name of a model.
BY_PERSON = "human"
# Goes up whenever the rules change by which a plan's own drafts are made.
_RULES = "extractive/1"


@dataclass(frozen=True, eq=False)
class Source:
    """A memory as a writer sees it. `vector`: float32, shape (d,), unit length."""

    id: str
    text: str
    observed_at: str
    vector: NDArray[np.float32]


@dataclass(frozen=True)
class Claim:
    """One statement of a draft, with the ids of the memories that it was made from."""

    text: str
    sources: tuple[str, ...]
    # The model that wrote it, or `BY_PERSON`, and the model that read it against its sources; None
    # where it says word for word what a source says.
    written_by: str | None = None
    checked_by: str | None = None


@dataclass(frozen=True)
class LeftOut:
    """Words of a memory that a draft leaves out on purpose."""

    memory: str
    words: str
    # `said elsewhere`, `trivia` or `outdated`.
    why: str


@dataclass(frozen=True)
class Draft:
    """The text that a writer returned, as claims that cite sources."""

    claims: tuple[Claim, ...]

    @property
    def text(self) -> str:
        """The draft as one text."""
        return " ".join(claim.text for claim in self.claims)


@dataclass(frozen=True)
class Proposal:
    """One operation on one candidate, with its reasons and its numbers."""

    # sha256 of operation, tenant, sorted source hashes, prompt hash and writer.
    id: str
    operation: Operation
    tenant: str
    sources: tuple[str, ...]
    source_hashes: tuple[str, ...]
    # The sources that will be superseded; the others stay active.
    leaving: tuple[str, ...]
    # The one of the sources that stays and takes the others in: of a merge that needs no judgement,
    # or a memory made before that grows.
    survivor: str | None
    # Names of what most of the sources are about.
    topics: tuple[str, ...]
    min_similarity: float
    mean_similarity: float
    reason: str
    # What will stand in the file: what was composed or written, or the text that stays in a merge.
    draft: Draft
    # Whether a model grouped the sources, and wrote what is new of the text.
    by_model: bool = False
    # Whether a person worded it.
    by_person: bool = False
    # Whether it waits for a model's answer: it is carried out if that leaves its sources as they
    # are.
    waits: bool = False
    # Whether human, pinned and core memories may leave, too, since the user asked for that.
    include_protected: bool = False
    # What the model that wrote the draft left out, and why.
    left_out: tuple[LeftOut, ...] = ()

    @property
    def keeps_text(self) -> bool:
        """Whether no text changes: one of the memories replaces the others, word for word."""
        return self.operation != "synthesize" and self.survivor is not None


@dataclass(frozen=True)
class Window:
    """Memories near each other, which a model is shown together, once.

    What it says of them becomes proposals. Lists go by the order in which they are shown.
    """

    # sha256 of the tenant, of the instructions to the model, and of the texts.
    id: str
    tenant: str
    memories: tuple[str, ...]
    content_hashes: tuple[str, ...]
    # Texts with nothing near them: they are shown, now or later, only with something new.
    alone: tuple[str, ...]
    trusts: tuple[float, ...]
    # Those that may be superseded.
    may_leave: frozenset[str]
    # Those that an earlier consolidation made.
    derived: frozenset[str]
    # Pairs that nobody may join, since a person took them apart.
    apart: frozenset[tuple[str, str]]
    operations: frozenset[Operation]
    # The keys of decisions that hold: what was rejected or undone is not proposed again.
    decided: frozenset[str]
    # The keys of what is not to be done this time, though a model may say it: it is asked the same.
    excluded: frozenset[str]
    # What the question and the answer will take, estimated.
    prompt_tokens: int
    answer_tokens: int
    # As of a proposal.
    include_protected: bool = False

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.answer_tokens


@dataclass(frozen=True)
class Refusal:
    """Two memories near each other that must stay two, and which guard says so."""

    operation: Operation
    sources: tuple[str, str]
    guard: str
    why: str
    tenant: str


@dataclass(frozen=True)
class Conflict:
    """Two memories that give one thing two values, and why neither of them replaces the other."""

    # The earlier one first.
    sources: tuple[str, str]
    tenant: str
    # What they disagree about.
    slot: str
    # The earlier and the later value.
    values: tuple[str, str]
    why: str


@dataclass(frozen=True)
class Undecided:
    """Memories that a model would be shown in one question, where there is no model."""

    sources: tuple[str, ...]
    tenant: str
    # The mean of the pairs that lie near each other.
    similarity: float
    # What writing and checking would take, estimated.
    tokens: int
    # Its nearest pairs, with their similarity.
    examples: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class Suspicion:
    """A memory that gives orders to its reader; it stays as it is, and goes into nothing."""

    memory: str
    tenant: str
    # The first sentence that does, as it stands.
    said: str


@dataclass(frozen=True)
class TooLong:
    """A memory that is longer than a night reads; it stays as it is."""

    memory: str
    tenant: str
    characters: int


@dataclass(frozen=True)
class Dense:
    """A memory that is meant to the letter: it stays word for word, and is shown to no model."""

    memory: str
    tenant: str
    # From 0 to 1.
    score: float
    # What it shows by.
    why: str


@dataclass(frozen=True)
class Plan:
    """Everything that a run will do, in the order in which it will do it."""

    proposals: tuple[Proposal, ...]
    refused: tuple[Refusal, ...]
    conflicts: tuple[Conflict, ...] = ()
    suspicious: tuple[Suspicion, ...] = ()
    too_long: tuple[TooLong, ...] = ()
    # Ids of memories whose text is no longer what it was.
    damaged: tuple[str, ...] = ()
    dense: tuple[Dense, ...] = ()
    # What a model would be asked, where there is none.
    undecided: tuple[Undecided, ...] = ()
    # What a model is to be asked; nothing without one.
    windows: tuple[Window, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        return not self.proposals and not self.windows

    @property
    def digest(self) -> str:
        """The sha256 of the plan: two plans with the same one do, and ask, the same."""
        parts: list[object] = [
            [one.id, one.sources, one.leaving, one.survivor] for one in self.proposals
        ]
        if self.windows:
            parts.append([[one.id, one.memories] for one in self.windows])
        return hashlib.sha256(json_text(parts).encode()).hexdigest()


def join_plans(plans: Iterable[Plan]) -> Plan:
    """Return the plans of several tenants as one."""
    all_of = list(plans)
    return Plan(
        *(
            tuple(one for plan in all_of for one in getattr(plan, part.name))
            for part in fields(Plan)
        )
    )


@dataclass(frozen=True)
class Usage:
    """What was asked of a model. `cost_usd` is None where a price is unknown."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; an unknown cost makes the sum unknown."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.calls + other.calls,
            self.cached + other.cached,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


State = Literal[
    "planned", "applied", "rejected", "declined", "failed", "stale", "pending", "skipped"
]


@dataclass(frozen=True)
class VerifiedProposal:
    """A proposal with its draft checked: to be applied, or the state and why it is not."""

    proposal: Proposal
    state: State
    why: str | None = None
    # Its share of what was asked of a model.
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class AskedWindow:
    """A window and what became of the question: `applied` if it was answered."""

    window: Window
    state: State
    why: str | None = None
    usage: Usage = field(default_factory=Usage)
    # What the model says cannot both be true.
    conflicts: tuple[Conflict, ...] = ()
    # Why groups of the answer were turned down of which no proposal tells: they are none.
    turned_down: tuple[str, ...] = ()


@dataclass(frozen=True)
class Savings:
    """What a proposal is worth: the text that it is about, before and after."""

    # Of all its sources.
    tokens_before: int
    # Of those that stay and of what is written. None where nothing came of the proposal.
    tokens_after: int | None
    # Of what results; None where nothing came of the proposal.
    trust: float | None


@dataclass(frozen=True)
class Result:
    """A proposal and what became of it."""

    proposal: Proposal
    state: State
    why: str | None = None
    # The memory that was made; of what stays, `proposal.survivor` tells.
    derived: str | None = None
    worth: Savings | None = None


def group_numbers(conflicts: Sequence[Conflict]) -> list[int]:
    """Return each conflict the number of its group: those that share a memory have one.

    Groups are numbered from 1 in the order in which they first come.
    """
    parents: dict[str, str] = {}

    def first_of(one: str) -> str:
        while parents.setdefault(one, one) != one:
            parents[one] = parents[parents[one]]
            one = parents[one]
        return one

    for conflict in conflicts:
        one, other = map(first_of, conflict.sources)
        parents[one] = other
    numbers: dict[str, int] = {}
    return [numbers.setdefault(first_of(one.sources[0]), len(numbers) + 1) for one in conflicts]


def derived_trust(trusts: Iterable[float]) -> float:
    """Return the trust of what is made of memories with these: it never rises by derivation."""
    return round(max(0.0, max(trusts) - TRUST_LOSS), 4)


def method_key(operation: Operation) -> str:
    """Return the hash of the rules by which a plan's own drafts are made."""
    return hashlib.sha256(f"{_RULES} {operation}".encode()).hexdigest()


def proposal_id(
    operation: Operation, tenant: str, hashes: tuple[str, ...], prompt_hash: str, writer: str
) -> str:
    """Return the key under which a decision on these texts by this writer is remembered."""
    parts = [operation, tenant, sorted(hashes), prompt_hash, writer]
    return hashlib.sha256(json_text(parts).encode()).hexdigest()[:32]
