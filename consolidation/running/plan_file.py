"""Plan files: written by a dry run, edited by a person, read by `apply`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from slowwave.consolidation.proposals import Proposal, Result, Usage
from slowwave.store.errors import StoreError, file_errors
from slowwave.store.opening import read_text
from slowwave.store.records import content_hash, json_text
from slowwave.store.sidecar import drafted, link_into_place

from .kept_proposal import from_json, to_json

FORMAT = 1
_ABOUT = "Remove each proposal that must not be applied, then run: slowwave review apply FILE PLAN"


def write_plan(path: Path, results: Sequence[Result], texts: Mapping[str, str]) -> None:
    """Write the planned proposals of a dry run to a new file, readable only by its owner.

    texts: the text of each source by its id, for the person who edits it. Raises `StoreError`, also
    if the file exists.
    """
    entries = []
    for result in results:
        if result.state == "planned":
            proposal = result.proposal
            content = to_json(replace(result, usage=Usage(), place=0))
            contents = [texts.get(memory_id) for memory_id in proposal.sources]
            # First what a person reads, then what is applied.
            readable = _readable_part(proposal, contents)
            entries.append({**readable, "kept": content, "seal": _seal(content)})
    plan = {"format": FORMAT, "about": _ABOUT, "proposals": entries}
    text = json.dumps(plan, ensure_ascii=False, indent=2)
    if os.path.lexists(path):
        raise StoreError(f"{path} already exists.", "Choose another path for the plan.")
    with file_errors("write", path), drafted(path, f"{text}\n", 0o600) as draft:
        link_into_place(draft, path)


def read_plan(path: Path) -> list[Result]:
    """Return the proposals of a plan file.

    Raises `StoreError` if it is not a plan, or if a proposal was changed: its seal, which anybody
    can compute, only detects accidents.
    """
    try:
        with file_errors("read", path):
            plan = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not valid JSON: {error}.") from error
    entries = plan.get("proposals") if isinstance(plan, dict) else None
    if not isinstance(entries, list) or plan.get("format") != FORMAT:
        raise StoreError(
            f"{path} is not a plan.", "Write one with: maintain --dry-run --plan-out PATH"
        )
    return [_read_entry(entry, number, path) for number, entry in enumerate(entries, start=1)]


def _readable_part(proposal: Proposal, contents: Sequence[str | None]) -> dict[str, Any]:
    """Return the readable part of an entry. contents: the texts of the sources."""
    return {
        "id": proposal.id,
        "operation": proposal.operation,
        "reason": proposal.reason,
        "sources": [
            {"content": content, "goes": memory_id in proposal.leaving}
            for memory_id, content in zip(proposal.sources, contents, strict=True)
        ],
        "draft": proposal.draft.text,
    }


def _read_entry(entry: object, number: int, path: Path) -> Result:
    fields = entry if isinstance(entry, dict) else {}
    try:
        result = from_json(fields.get("kept"))
    except ValueError as error:
        raise StoreError(f"Proposal {number} of {path} cannot be read: {error}.") from error
    if fields.get("seal") != _seal(to_json(result)) or not _is_consistent(fields, result.proposal):
        raise StoreError(
            f"Proposal {number} of {path} was changed since the dry run wrote it.",
            "A plan's proposals can be removed but not changed; edit them with 'slowwave review "
            "edit FILE'.",
        )
    # Drafts of a plan are embedded when it is applied.
    return replace(result, vector=None)


def _is_consistent(fields: Mapping[str, Any], proposal: Proposal) -> bool:
    """Whether the readable part of an entry matches the proposal that is applied."""
    sources = fields.get("sources")
    if not isinstance(sources, list) or len(sources) != len(proposal.sources):
        return False
    contents = [source.get("content") if isinstance(source, dict) else None for source in sources]
    readable = {name: value for name, value in fields.items() if name not in ("kept", "seal")}
    if readable != _readable_part(proposal, contents):
        return False
    # The text is None if the source was gone when the plan was written.
    return all(
        content is None or _has_hash(content, planned)
        for content, planned in zip(contents, proposal.source_hashes, strict=True)
    )


def _has_hash(content: object, planned: str) -> bool:
    try:
        return isinstance(content, str) and content_hash(content) == planned
    except UnicodeEncodeError:
        # An unpaired surrogate, which JSON can contain and a memory cannot.
        return False


def _seal(content: Mapping[str, Any]) -> str:
    return content_hash(json_text(content))
