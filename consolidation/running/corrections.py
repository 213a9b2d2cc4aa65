"""Corrections by a person or an agent: correct, pin or retract memories, or settle a conflict.

Each is a run with one applied proposal and journaled rows, so that undo restores every row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from operator import attrgetter, methodcaller
from types import MappingProxyType
from typing import Any, Literal

from slowwave.consolidation.proposals import derived_trust, method_key
from slowwave.consolidation.recall.similar import Similar, find_similar
from slowwave.consolidation.writing.writer import AGENT
from slowwave.store.errors import StoreError
from slowwave.store.exchange import memory_from_text
from slowwave.store.file import MemoryFile
from slowwave.store.ledger import DECIDED, Decision, record_decision
from slowwave.store.lineage import Relative, read_active_derived
from slowwave.store.memories import find_id, read_active, read_memories
from slowwave.store.proposal_changes import ProposalChanges
from slowwave.store.records import LAYERS, Memory, content_hash, json_text, timestamp
from slowwave.store.shared_tenant import refuse_unpublished
from slowwave.store.shown_to_model import BOTH_RIGHT

from .apply import all_sessions, joined_columns
from .run_in_file import RunInFile

By = Literal["human", "agent"]
Way = Literal["correct", "pin", "unpin", "retract", "keep", "both"]

# What a correction depends on: if an agent changes it meanwhile, nothing is corrected.
_state_of = attrgetter("content", "status", "tenant", "is_protected")
_NO_LETTERS = re.compile(r"[\W_]+")
# The trust in what a person states.
_PERSONS_TRUST = 1.0
_WHO: Mapping[By, str] = {"human": "a person", "agent": "an agent"}
_DID: Mapping[Way, str] = {
    "correct": "corrected it",
    "pin": "pinned it",
    "unpin": "unpinned it",
    "retract": "retracted it as wrong",
    "keep": "resolved a conflict in its favor",
    "both": "found both right",
}


@dataclass(frozen=True)
class Correction:
    """What a correction changed."""

    way: Way
    run_id: str
    # The new, the pinned or the kept memory, as it is now; None if there is none.
    memory: Memory | None
    # The memories that were superseded or retracted, as they were.
    removed: tuple[Memory, ...] = ()
    # The active memories derived from those, nearest first.
    derived: tuple[Relative, ...] = ()
    # The active memories that a new text repeats or contradicts.
    similar: tuple[Similar, ...] = ()


@dataclass(frozen=True)
class Corrector:
    """Applies the corrections of a person or an agent to the memories of one file.

    A memory that leaves does so with its copies: active ones with the same text, however written,
    or with an introduction such as "User said that". The methods raise `StoreError`, with nothing
    changed: also if a memory is not active, or if an agent would supersede, retract or unpin a
    memory that is human, pinned or core.
    """

    # Open for writing under the maintenance lock.
    file: MemoryFile
    now: datetime
    by: By = "human"
    # Only memories of this tenant; None means all.
    tenant: str | None = None

    def correct(self, ids: Sequence[str], text: str) -> Correction:
        """Supersede memories by a new one with this text. ids: of any length, or unique prefixes.

        The first decides the kind of the new memory. A person's correction has full trust;
        an agent's, that of a memory derived from what it supersedes. The text of damaged memories
        is accepted as right: they get its hash.
        """
        wrong = self._find_wrong(ids)
        if all(memory.content == text for memory in wrong):
            right = {"content_hash": content_hash(text)}
            damaged = [memory for memory in wrong if memory.content_hash not in right.values()]
            if not damaged:
                why = f"Memory {wrong[0].id} already has this text."
                raise StoreError(why, "Nothing was changed.")
            accept = methodcaller("update", "memories", [{"id": m.id} for m in damaged], right)
            return self._apply("correct", damaged, accept, memory=damaged[0])
        new_memory, leaving = self._new_memory(wrong, text), {memory.id for memory in wrong}
        candidates = find_similar(self.file, new_memory.tenant, text, timestamp(self.now))
        similar = tuple(candidate for candidate in candidates if candidate.memory.id not in leaving)

        def write(changes: ProposalChanges) -> None:
            changes.add_memory(new_memory)
            self._supersede(changes, new_memory, wrong)

        correction = self._apply("correct", wrong, write, memory=new_memory, removed=wrong)
        return replace(correction, similar=similar)

    def pin(self, memory_id: str, pinned: bool = True) -> Correction:
        """Pin or unpin a memory: no run supersedes or archives a pinned one."""
        (memory,) = self._find([memory_id])
        way: Way = "pin" if pinned else "unpin"
        if memory.pinned == pinned:
            is_now = "pinned already: no run can" if pinned else "not pinned: runs can"
            what = f"Memory {memory.id} is {is_now} supersede or archive it."
            raise StoreError(what, "There is nothing to change.")
        if not pinned:
            self._refuse_protected([memory])
        columns = {"pinned": int(pinned), "updated_at": timestamp(self.now)}
        changed = replace(memory, pinned=pinned)
        return self._apply(
            way, [memory], lambda changes: changes.update_memory(memory.id, columns), memory=changed
        )

    def retract(self, memory_id: str) -> Correction:
        """Archive a memory, because it is wrong and nothing replaces it."""
        wrong = self._find_wrong([memory_id])
        columns = {"status": "archived", "updated_at": timestamp(self.now)}

        def write(changes: ProposalChanges) -> None:
            for memory in wrong:
                changes.update_memory(memory.id, columns)

        return self._apply("retract", wrong, write, removed=wrong)

    def keep(self, kept_id: str, rivals: Sequence[str]) -> Correction:
        """Supersede the rivals of a memory by it: memories that contradict it."""
        survivor = self._find([kept_id, *rivals])[0]
        wrong = [memory for memory in self._find_wrong(rivals) if memory.id != survivor.id]
        write = partial(self._supersede, successor=survivor, wrong=wrong)
        return self._apply("keep", [survivor, *wrong], write, memory=survivor, removed=wrong)

    def allow(self, pairs: Sequence[tuple[str, str]]) -> Correction:
        """Record that both memories of each pair are right: they are no longer a conflict."""
        memories = self._find([memory_id for pair in pairs for memory_id in pair])
        hash_of = {memory.id: memory.content_hash for memory in memories}
        texts = [[hash_of[earlier], hash_of[later]] for earlier, later in pairs]
        return self._apply("both", memories, lambda _: None, numbers={BOTH_RIGHT: texts})

    def _find(self, ids: Sequence[str]) -> list[Memory]:
        """Return active memories of one tenant, each once, in the order of their ids."""
        whole_ids = dict.fromkeys(find_id(self.file, prefix, self.tenant) for prefix in ids)
        memory_by_id = {memory.id: memory for memory in read_memories(self.file, list(whole_ids))}
        memories = [memory_by_id[memory_id] for memory_id in whole_ids]
        for memory in memories:
            refuse_unpublished(memory.tenant)
            if memory.status != "active":
                by = f" by memory {memory.superseded_by}" if memory.superseded_by else ""
                raise StoreError(
                    f"Memory {memory.id} is not active: it is {memory.status}{by}.",
                    "Nothing was changed. Specify an active memory.",
                )
            if memory.tenant != memories[0].tenant:
                raise StoreError(
                    f"Memories {memories[0].id} and {memory.id} belong to different tenants.",
                    "Nothing was changed. Correct them individually.",
                )
        return memories

    def _find_wrong(self, ids: Sequence[str]) -> list[Memory]:
        """Return memories that may leave, with their copies."""
        memories = self._find(ids)
        named_ids = {memory.id for memory in memories}
        wrong = {memory.content: _letters(memory.content) for memory in memories}
        copies = [
            memory
            for memory in read_active(self.file, memories[0].tenant, timestamp(self.now))
            if memory.id not in named_ids and _is_copy(memory.content, wrong)
        ]
        self._refuse_protected([*memories, *copies])
        return [*memories, *copies]

    def _refuse_protected(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            if self.by == "agent" and memory.is_protected:
                raise StoreError(
                    f"Memory {memory.id} is human, pinned or core: an agent may not change it.",
                    "Nothing was changed. 'slowwave correct FILE MEMORY' may change it.",
                )

    def _new_memory(self, wrong: Sequence[Memory], text: str) -> Memory:
        """Return the memory that replaces these. Raises `InvalidLine` for an impossible text.

        It is not derived: nights read it as something that was observed.
        """
        now, sessions, columns = timestamp(self.now), all_sessions(wrong), joined_columns(wrong)
        trusts = [memory.trust for memory in wrong]
        ends = columns["expires_at"]
        return memory_from_text(
            text,
            {
                "tenant": wrong[0].tenant,
                "kind": wrong[0].kind,
                "layer": max((memory.layer for memory in wrong), key=LAYERS.index),
                "origin": self.by,
                "trust": _PERSONS_TRUST if self.by == "human" else derived_trust(trusts),
                "importance": columns["importance"],
                "pinned": any(memory.pinned for memory in wrong),
                "tags": columns["tags"],
                "metadata": {"sessions": sessions} if sessions else {},
                "expires_at": ends if ends is not None and ends > now else None,
            },
            self.now,
        )

    def _supersede(
        self, changes: ProposalChanges, successor: Memory, wrong: Sequence[Memory]
    ) -> None:
        hashes = json_text(sorted(memory.content_hash for memory in wrong))
        changes.add_lineage(successor.id, wrong, "update")
        changes.supersede(wrong, successor.id)
        changes.add_derivation(
            successor.id,
            {
                "operation": "update",
                "writer": "human" if self.by == "human" else "model",
                "model": AGENT if self.by == "agent" else None,
                "prompt_hash": method_key("update"),
                "inputs_hash": content_hash(hashes),
                "claims": "[]",
                "prompt_tokens": 0,
                "completion_tokens": 0,
                "cost_usd": 0.0,
            },
        )

    def _apply(
        self,
        way: Way,
        about: Sequence[Memory],
        write: Callable[[ProposalChanges], None],
        *,
        memory: Memory | None = None,
        removed: Sequence[Memory] = (),
        numbers: Mapping[str, Any] = MappingProxyType({}),
    ) -> Correction:
        """Apply a correction in a run of its own, and record it as an applied proposal.

        about: the memories that it concerns, as they were read. memory, removed: as in
        `Correction`. numbers: recorded with the proposal.
        """
        ids, tenant = tuple(concerned.id for concerned in about), about[0].tenant
        run = RunInFile(self.file, self.now, {"tenant": [tenant], DECIDED: way})
        now = timestamp(self.now)
        memory_id = None if memory is None else memory.id
        decision = Decision(
            run_id=run.id,
            # A key of its own for each run: the same correction may be made again.
            key=content_hash(json_text([run.id, ids]))[:32],
            operation="update",
            tenant=tenant,
            sources=ids,
            survivor=memory_id if memory_id in ids else None,
            derived=None if memory_id in ids else memory_id,
            state="applied",
            draft=None if memory is None else memory.content,
            reason=f"{_WHO[self.by]} {_DID[way]}",
            why=None,
            numbers=dict(numbers),
            decided_at=now,
        )
        removed_ids = [removed_memory.id for removed_memory in removed]
        derived = {
            relative.id: relative
            for removed_id in removed_ids
            for relative in read_active_derived(self.file, removed_id)
            if relative.id not in removed_ids
        }
        with run.recorded([tenant], [decision.state]) as file, file.transaction():
            self._refuse_changed(about)
            write(ProposalChanges(file, run.id, decision.key, now))
            record_decision(file, decision)
        return Correction(way, run.id, memory, tuple(removed), tuple(derived.values()))

    def _refuse_changed(self, memories: Sequence[Memory]) -> None:
        """Raise `StoreError` if an agent changed one of the memories since it was read."""
        now = {memory.id: memory for memory in read_memories(self.file, [m.id for m in memories])}
        for memory in memories:
            current = now.get(memory.id)
            if current is None or _state_of(current) != _state_of(memory):
                raise StoreError(
                    f"Memory {memory.id} has changed since.",
                    "Nothing was changed. Run it again.",
                )


def _is_copy(text: str, wrong: Mapping[str, str]) -> bool:
    """Whether a text is a wrong one written differently. wrong: their letters, by text."""
    letters = _letters(text)
    similar_texts = [
        wrong_text
        for wrong_text, end in wrong.items()
        if text == wrong_text or letters.endswith(end) or end.endswith(letters)
    ]
    if not similar_texts or text in similar_texts:
        return bool(similar_texts)
    # Imported late: it loads dictionaries.
    from slowwave.consolidation.comparison.normal_form import normal_form

    return normal_form(text) in map(normal_form, similar_texts)


def _letters(text: str) -> str:
    """Return the letters and digits of a text; an introduction only comes before them."""
    return _NO_LETTERS.sub("", text.casefold()) or text
