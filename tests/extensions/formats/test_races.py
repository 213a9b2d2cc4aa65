"""An agent that writes at any step of a run: nothing is lost, also after an undo."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from agents_files import edit_text, format_of, make_file, texts_in
from builders import NOW, a_run
from format_writers import WRITERS
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from nights import execute

from slowwave.consolidation.proposals import Draft, Proposal, Result
from slowwave.consolidation.running.apply import apply_proposal
from slowwave.consolidation.running.run_in_file import RunInFile
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.formats.base import Change, Format, OpenFile, Written
from slowwave.extensions.formats.known_formats import format_named
from slowwave.extensions.formats.mirror.mirror import Mirror
from slowwave.extensions.formats.place import MirroredPlace
from slowwave.extensions.formats.vector_model import EmbeddingModel
from slowwave.store.errors import ChangedSince
from slowwave.store.file import open_reading, open_writing
from slowwave.store.memories import read_memories
from slowwave.store.opening import is_database
from slowwave.store.records import Claim, Memory, timestamp
from slowwave.store.undo.undo import undo_runs
from slowwave.store.vectors import to_blob

_FACT = re.compile(r"Shed (\d+)")
_SEPARATOR = "\n§\n"
# Where an agent may write, for each of two nights.
_STEPS = ("pulled", "planned", "applied", "opening", "prepared", "written")


def fact_of_shed(fact: int, note: int) -> str:
    return f"Shed {fact} stores a tuba, as note {note:03} says."


def facts_in(texts: list[str]) -> set[str]:
    return {fact for text in texts for fact in _FACT.findall(text)}


def rewritten(name: str, path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Rewrite a text file completely, as its agent does; change: of its texts."""
    text = path.read_text("utf-8")
    if name == "mcp-server-memory":
        entity = json.loads(text)
        path.write_text(
            json.dumps(entity | {"observations": change(entity["observations"])}), "utf-8"
        )
    elif name == "hermes":
        path.write_text(_SEPARATOR.join(change(text.split(_SEPARATOR) if text else [])), "utf-8")
    else:
        head, _, bullets = text.partition("\n\n")
        changed = change([line.removeprefix("- ") for line in bullets.splitlines()])
        path.write_text(f"{head}\n\n{''.join(f'- {line}' + chr(10) for line in changed)}", "utf-8")


def add(name: str, path: Path, text: str) -> None:
    digest = sha256(text.lower().encode()).hexdigest()
    if path.is_dir():
        front = f"name: {digest}\ndescription: a shed\nmetadata:\n  type: project"
        (path / f"{digest[:12]}.md").write_text(f"---\n{front}\n---\n\n{text}\n", "utf-8")
    elif name == "mcp-memory-service":
        columns = "content_hash, content, created_at"
        execute(path, f"INSERT INTO memories ({columns}) VALUES (?, ?, 1)", digest, text)
    elif is_database(path):
        columns, value = "prefix, key, value, created_at", json.dumps({"content": text}).encode()
        # As the package does: a row that was edited since may have the key.
        sql = f"INSERT OR REPLACE INTO store ({columns}) VALUES ('memories', ?, ?, '2026-02-20')"
        execute(path, sql, digest, value)
    else:
        rewritten(name, path, lambda texts: [*texts, text])


def delete(name: str, path: Path, text: str) -> None:
    if path.is_dir():
        for part in path.glob("*.md"):
            if text in part.read_text("utf-8") and part.name != "MEMORY.md":
                part.unlink()
    elif name == "mcp-memory-service":
        execute(path, "UPDATE memories SET deleted_at = 1 WHERE content = ?", text)
    elif is_database(path):
        sql = "DELETE FROM store WHERE prefix = 'memories' AND instr(CAST(value AS text), ?)"
        execute(path, sql, text)
    else:
        rewritten(name, path, lambda texts: [each for each in texts if each != text])


@dataclass
class Agent:
    """An agent that writes to its file as planned, and knows which facts the file must have."""

    name: str
    path: Path
    # What it does at each step of each night: an action and a number that chooses the memory.
    plan: dict[tuple[int, str], tuple[str, int]]
    night: int = 0
    facts: set[str] = field(default_factory=set)
    former: list[str] = field(default_factory=list)
    # The texts that it wrote and has not removed, and those that it removed and did not rewrite.
    own: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    # The texts that it wrote again after a night replaced them: an undo may keep or remove them.
    retold: set[str] = field(default_factory=set)
    # What it removed since a run has read the file.
    removed_meanwhile: set[str] = field(default_factory=set)
    written: int = 100

    def reach(self, step: str) -> None:
        """Run what is planned for a step, once."""
        action, number = self.plan.get((self.night, step), ("", 0))
        if not action:
            return
        del self.plan[self.night, step]
        before = texts_in(self.name, self.path)
        self.former = sorted({*self.former, *before})
        self.written += 1
        self._act(action, number, before)
        after = texts_in(self.name, self.path)
        now = facts_in(after)
        self.facts = (self.facts - (facts_in(before) - now)) | now
        lost, new = {*before} - {*after}, {*after} - {*before}
        self.own = self.own - lost | new
        self.removed = self.removed - new | lost
        self.removed_meanwhile |= lost
        if action == "retell":
            self.retold |= new

    def _act(self, action: str, number: int, before: list[str]) -> None:
        gone = [text for text in self.former if text not in before]
        if action == "retell" and gone and self.name != "mcp-memory-service":
            add(self.name, self.path, gone[number % len(gone)])
        elif action in ("delete", "edit") and before:
            text, new = before[number % len(before)], fact_of_shed(self.written, self.written)
            if action == "edit" and self.name not in ("mcp-memory-service", "langgraph, vectors"):
                edit_text(self.path, text, new)
            else:
                delete(self.name, self.path, text)
                if action == "edit":
                    add(self.name, self.path, new)
        else:
            add(self.name, self.path, fact_of_shed(self.written, self.written))


class _Interrupted(OpenFile):
    """An open file before whose commit the agent writes."""

    def __init__(self, inner: OpenFile, agent: Agent) -> None:
        self._inner, self._agent = inner, agent
        self.records, self.is_unfinished = inner.records, inner.is_unfinished

    def prepare(self, change: Change) -> Written:
        return self._inner.prepare(change)

    def commit(self) -> None:
        self._agent.reach("prepared")
        try:
            self._inner.commit()
        finally:
            self.has_written = self._inner.has_written


def interrupted(format: Format, agent: Agent) -> Format:
    """Return a format like another, whose agent writes while its files are open."""
    kind: Any = type(format)

    @contextmanager
    def opened(self: Any, path: Path, writes: bool) -> Iterator[OpenFile]:
        if writes:
            agent.reach("opening")
        with kind.opened(self, path, writes) as file:
            # Nobody else writes to a database before the commit.
            yield _Interrupted(file, agent) if writes and not is_database(path) else file

    wrapped: Format = type(kind.__name__, (kind,), {"opened": opened})()
    return wrapped


def proposed(number: int, memories: list[Memory], is_merge: bool) -> Result:
    """Return a checked proposal that joins memories: into one of them, or into a new text."""
    facts = sorted(facts_in([memory.content for memory in memories]))
    text = f"{', '.join(f'Shed {fact}' for fact in facts)}: a tuba each, as night {number} says."
    ids = tuple(memory.id for memory in memories)
    proposal = Proposal(
        id=f"proposal-{number}",
        operation="merge" if is_merge else "synthesize",
        tenant=memories[0].tenant,
        sources=ids,
        source_hashes=tuple(memory.content_hash for memory in memories),
        leaving=ids[1:] if is_merge else ids,
        survivor=ids[0] if is_merge else None,
        entities=(),
        min_similarity=1,
        mean_similarity=1,
        reason="",
        draft=Draft((Claim(memories[0].content if is_merge else text, ids),)),
        by_model=not is_merge,
    )
    return Result(proposal, "checked", vector=("none", to_blob(_encode()([text])[0])))


@cache
def _encode() -> Callable[[list[str]], Any]:
    embedder = SentenceEmbedder()
    encoded: dict[str, Any] = {}

    def encode(texts: list[str]) -> Any:
        (text,) = texts
        if text not in encoded:
            encoded[text] = embedder.encode(texts)
        return encoded[text]

    return encode


def a_night(mirror: Mirror, agent: Agent, groups: list[tuple[bool, int, int]]) -> None:
    """Run a night over the file. groups: (is a merge, first memory, number of memories)."""
    with mirror.held(NOW):
        agent.removed_meanwhile.clear()
        agent.reach("pulled")
        run_id = a_run(mirror.state, f"run-{agent.night}", NOW)
        with open_reading(mirror.state) as file:
            memories = list(read_memories(file, status="active"))
        results = []
        # Rows that the agent wrote have no vectors: a run only merges them.
        can_add = mirror.format.no_new_texts_reason(mirror.path) is None
        for number, (is_merge, start, size) in enumerate(groups):
            first = memories[start % max(1, len(memories)) :][:1]
            facts = facts_in([memory.content for memory in first])
            # A merge of other facts would lose them.
            alike = [each for each in memories if not is_merge or facts_in([each.content]) <= facts]
            chosen = [*first, *(each for each in alike if each not in first)][:size]
            memories = [each for each in memories if each not in chosen]
            if len({each.tenant for each in chosen}) == 1 < len(chosen) and (is_merge or can_add):
                results.append(proposed(100 * agent.night + number, chosen, is_merge))
        agent.reach("planned")
        for result in results:
            with open_writing(mirror.state) as file, file.transaction():
                run = RunInFile(file, NOW, {})
                run.id = run_id
                apply_proposal(file, run, result)
            agent.reach("applied")
        mirror.settle(NOW)
        for state, *texts in proposals_of(mirror, run_id):
            assert state == "stale" or agent.removed.isdisjoint(texts), texts
            assert state == "applied" or not agent.removed_meanwhile.isdisjoint(texts), texts
        agent.reach("written")


def proposals_of(mirror: Mirror, run_id: str) -> list[list[str]]:
    """Return the state of each proposal of a run, and the texts of its sources."""
    with open_reading(mirror.state) as file:
        rows = file.conn.execute(
            "SELECT p.state, (SELECT json_group_array(content) FROM memories WHERE id IN "
            "(SELECT value FROM json_each(p.sources))) FROM proposals p WHERE p.run_id = ?",
            [run_id],
        ).fetchall()
    return [[state, *json.loads(texts)] for state, texts in rows]


def undo_nights(mirror: Mirror, nights: int) -> bool:
    """Undo the runs of all nights, the latest first; return whether none was refused."""
    place, is_undone = MirroredPlace(mirror.path, mirror), True
    for night in reversed(range(nights)):
        try:
            place.change(lambda file, run=f"run-{night}": undo_runs(file, [run], timestamp(NOW)))
        except ChangedSince:
            is_undone = False
    return is_undone


_ACTIONS = st.tuples(st.sampled_from(["delete", "edit", "add", "retell"]), st.integers(0, 9))
_GROUPS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 9), st.integers(2, 4)), min_size=1, max_size=4
)
_ALL_TWICE = ([(False, 0, 2)], [(False, 0, 2)])


@pytest.mark.parametrize("name", WRITERS)
def test_no_write_at_any_step_is_lost(name: str, rounds: Callable[[int, int], int]) -> None:
    @settings(max_examples=rounds(3, 300), suppress_health_check=list(HealthCheck), database=None)
    @given(
        facts=st.lists(st.integers(1, 3), min_size=2, max_size=8),
        plan=st.dictionaries(
            st.tuples(st.integers(0, 1), st.sampled_from(_STEPS)), _ACTIONS, min_size=1, max_size=4
        ),
        nights=st.tuples(_GROUPS, _GROUPS),
    )
    @example([1, 1, 2], {(0, "planned"): ("edit", 1)}, ([(True, 0, 2)], []))
    @example([1, 1, 2], {(0, "applied"): ("delete", 1)}, ([(True, 0, 2)], []))
    @example([1, 1, 2], {(0, "applied"): ("edit", 0)}, ([(True, 0, 2)], []))
    @example([1, 1], {(0, "pulled"): ("edit", 0), (0, "planned"): ("edit", 0)}, _ALL_TWICE)
    @example([1, 1, 2], {(0, "prepared"): ("delete", 1)}, ([(True, 0, 2)], []))
    @example([1, 1], {(1, "pulled"): ("delete", 0)}, ([(True, 0, 2)], [(False, 0, 2)]))
    def race(
        facts: list[int],
        plan: dict[tuple[int, str], tuple[str, int]],
        nights: tuple[list[tuple[bool, int, int]], ...],
    ) -> None:
        with TemporaryDirectory() as folder:
            texts = tuple(fact_of_shed(fact, index) for index, fact in enumerate(facts))
            path = make_file(name, Path(folder) / "memories", texts)
            agent = Agent(name, path, dict(plan), facts=facts_in(list(texts)), own={*texts})
            format = interrupted(format_named(format_of(name)), agent)
            format.model = EmbeddingModel("gte", _encode())
            mirror = Mirror(path, format, Path(folder) / "mirror.db")
            for agent.night, groups in enumerate(nights):
                a_night(mirror, agent, groups)
                assert facts_in(texts_in(name, path)) == agent.facts
            mirror.settle(NOW)
            assert facts_in(texts_in(name, path)) == agent.facts
            is_undone = undo_nights(mirror, len(nights))
            left = {*texts_in(name, path)} - agent.retold
            is_right = left == agent.own - agent.retold
            assert is_right if is_undone else agent.removed.isdisjoint(left)

    race()
