"""A plan as a file: written by a dry run, thinned out by a person, and carried out then."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from slowwave.consolidation.proposals import Proposal, Result
from slowwave.store.errors import StoreError
from slowwave.store.opening import read_text
from slowwave.store.records import content_hash, json_text

from .kept_proposal import KeptProposal, as_kept, read_kept

FORMAT = 1
_ABOUT = (
    "Remove each proposal that must not be carried out, then run: slowwave review apply FILE PLAN"
)


def write_plan(
    path: Path,
    results: Sequence[Result],
    texts: Mapping[str, str],
    model: str | None,
    model_key: str | None,
) -> None:
    """Write what a dry run planned; `texts` are those of the sources, for a person to read.

    It holds what memories say: only its owner can read it. Raises `StoreError`, also if something
    is there already.
    """
    entries = [
        _entry(KeptProposal(one.proposal, model=model, model_key=model_key), texts)
        for one in results
        if one.state == "planned"
    ]
    plan = {"format": FORMAT, "about": _ABOUT, "proposals": entries}
    text = json.dumps(plan, ensure_ascii=False, indent=2)
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except FileExistsError:
        raise StoreError(f"{path} exists already.", "Name another place for the plan.") from None
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error


def read_plan(path: Path) -> list[KeptProposal]:
    """Return the proposals that are left in a plan.

    Raises `StoreError` if it is none, or if somebody changed one of them by accident: a seal that
    anybody can compute proves no more.
    """
    try:
        plan = json.loads(read_text(path))
    except OSError as error:
        raise StoreError(f"Cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise StoreError(f"{path} is not valid JSON: {error}.") from error
    entries = plan.get("proposals") if isinstance(plan, dict) else None
    if not isinstance(entries, list) or plan.get("format") != FORMAT:
        raise StoreError(f"{path} is not a plan.", "maintain --dry-run --plan-out writes one.")
    return [_checked(one, number, path) for number, one in enumerate(entries, start=1)]


def _entry(kept: KeptProposal, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a proposal with what a person reads in front of what is carried out."""
    proposal, whole = kept.proposal, as_kept(kept)
    contents = [texts.get(one) for one in proposal.sources]
    return {**_shown(proposal, contents), "kept": whole, "seal": _seal(whole)}


def _shown(proposal: Proposal, contents: Sequence[str | None]) -> dict[str, Any]:
    """Return what a person reads of a proposal; contents: of its sources."""
    return {
        "id": proposal.id,
        "operation": proposal.operation,
        "reason": proposal.reason,
        "sources": [
            {"content": content, "goes": one in proposal.leaving}
            for one, content in zip(proposal.sources, contents, strict=True)
        ],
        "draft": proposal.draft.text,
    }


def _checked(entry: object, number: int, path: Path) -> KeptProposal:
    found = entry if isinstance(entry, dict) else {}
    try:
        kept = read_kept(found.get("kept"))
    except ValueError as error:
        raise StoreError(f"Proposal {number} of {path} cannot be read: {error}.") from error
    if found.get("seal") != _seal(as_kept(kept)) or not _shows(found, kept.proposal):
        raise StoreError(
            f"Proposal {number} of {path} is not what the dry run wrote.",
            "Proposals can be taken out of a plan, not changed: 'slowwave review' can edit them.",
        )
    # What a plan writes is embedded when it is applied.
    return replace(kept, vector=None)


def _shows(found: Mapping[str, Any], proposal: Proposal) -> bool:
    """Whether an entry shows a person what is carried out, and nothing else."""
    sources = found.get("sources")
    if not isinstance(sources, list) or len(sources) != len(proposal.sources):
        return False
    contents = [one.get("content") if isinstance(one, dict) else None for one in sources]
    shown = {name: value for name, value in found.items() if name not in ("kept", "seal")}
    if shown != _shown(proposal, contents):
        return False
    # Of a source that had gone when the plan was written nothing is shown.
    return all(
        content is None or _has_hash(content, planned)
        for content, planned in zip(contents, proposal.source_hashes, strict=True)
    )


def _has_hash(content: object, planned: str) -> bool:
    try:
        return isinstance(content, str) and content_hash(content) == planned
    except UnicodeEncodeError:
        # Half a character, which JSON can hold and no memory does.
        return False


def _seal(whole: Mapping[str, Any]) -> str:
    return hashlib.sha256(json_text(whole).encode()).hexdigest()
