"""What a person's or an agent's word on a memory changed, and memories near a new text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slowwave.cli.terminal.output import Output, clean, with_file
from slowwave.cli.terminal.wording import shortened_for_stdout

if TYPE_CHECKING:
    from slowwave.consolidation.recall.similar import Similar
    from slowwave.consolidation.running.corrections import Correction
    from slowwave.store.file import MemoryFile
    from slowwave.store.lineage import Relative
    from slowwave.store.places import Place
    from slowwave.store.records import Memory

_VERBS = {"correct": "Corrected", "pin": "Pinned", "unpin": "Unpinned", "keep": "Kept"}
_BOTH_RIGHT = "Both are right: this conflict is not listed again."


def make_correction(
    command: str,
    place: Place,
    do: Callable[[MemoryFile], Correction],
    dry_run: bool,
    output: Output,
) -> None:
    """Correct the file, or only a copy of it, and report what was done."""
    if not dry_run:
        place.refuse_changes()
    correction = place.dry_run(do) if dry_run else place.change(do)
    # The run of a dry run is in no file.
    fields = correction_as_json(correction) | ({"run": None} if dry_run else {})
    output.show(_correction_as_text(correction, dry_run))
    output.result(command, file=str(place.named), dry_run=dry_run, **fields)
    if fields["secrets"]:
        output.note(secrets_as_text(fields["secrets"]))


def correction_as_json(correction: Correction) -> dict[str, Any]:
    """Return what was done, the memories that it concerns, and the kinds of secret in a text."""
    from slowwave.consolidation.ingest.secrets import kinds_of_secrets

    text = correction.memory.content if correction.memory and correction.way == "correct" else ""
    return {
        "action": correction.way,
        "run": correction.run_id,
        "memory": None if correction.memory is None else _named(correction.memory),
        "left": list(map(_named, correction.removed)),
        "derived": [
            {**_named(derived), "operation": derived.operation} for derived in correction.derived
        ],
        "similar": list(map(similar_as_json, correction.similar)),
        "secrets": list(kinds_of_secrets(text)),
    }


def _correction_as_text(correction: Correction, dry_run: bool) -> str:
    """Return the same for a person, with how to undo it."""
    lines = [_BOTH_RIGHT] if correction.way == "both" else []
    if correction.memory is not None:
        lines.append(f"{_VERBS[correction.way]}: {_line(correction.memory)}")
    verb = "Retracted" if correction.memory is None else "Superseded"
    lines += [f"{verb}: {_line(memory)}" for memory in correction.removed]
    if correction.derived:
        lines.append("Derived from it and still active, so check them:")
        lines += [f"  {_line(derived)}" for derived in correction.derived]
    lines += map(similar_as_text, correction.similar)
    if dry_run:
        lines.insert(0, "Dry run: nothing was changed.")
    else:
        lines.append(with_file(f"Undo it with: slowwave undo FILE {correction.run_id}"))
    return "\n".join(lines)


def similar_as_json(similar: Similar) -> dict[str, Any]:
    """Return a memory that repeats or contradicts a new text."""
    return {**_named(similar.memory), "relation": similar.relation, "why": similar.why}


def similar_as_text(similar: Similar) -> str:
    """Return the same as a line."""
    verb = "Repeats" if similar.relation == "duplicate" else "Contradicts"
    return f"{verb} {_line(similar.memory)} ({clean(similar.why)})"


def secrets_as_text(kinds: Sequence[str]) -> str:
    """Return the kinds of secret in a new text as a warning."""
    return f"It is stored unchanged, and seems to contain a secret: {', '.join(kinds)}."


def _named(memory: Memory | Relative) -> dict[str, Any]:
    return {"id": memory.id, "content": memory.content}


def _line(memory: Memory | Relative) -> str:
    return f"{clean(memory.id)}  {shortened_for_stdout(memory.content)}"
