"""Check drafts by program, those of a person too.

The structure is checked first, then each value, name, identifier, path, URL, quotation and code
span of the text (`facts/`). A model checks the rest. The model is shown the faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from slowwave.consolidation.facts.lookup import find_missing, find_unsupported
from slowwave.consolidation.facts.specifics import find_specifics
from slowwave.consolidation.proposals import Proposal, Source
from slowwave.consolidation.text.injection import commands
from slowwave.consolidation.thresholds import WIDE_SIMILARITY
from slowwave.store.records import UNDATED

_MIN_LEAVING = 2
# A text that lacks more values than this, and most of them, does not replace its memories. Of the
# 411 drafts in the recordings of fixtures/quality, none lacks more than two.
_MAX_MISSING = 2
# What is copied from a note in Markdown, never written.
_PART = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=fence)[ \t]*$"
    r"|(?P<link>\[\[[^\]\n]+\]\]|\[[^\]\n]*\]\([^)\s]+\))"
    r"|^(?P<heading>#{1,6}[ \t]+\S[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)


def find_faults(proposal: Proposal, sources: Sequence[Source]) -> list[str]:
    """Return the faults of a proposal's draft, as sentences; [] if it may be written.

    sources: the proposal's, in any order.
    """
    text = proposal.draft.text
    if proposal.keeps_text:
        survivor = next((source for source in sources if source.id == proposal.survivor), None)
        if survivor is None or survivor.text != text:
            return ["the memory that stays does not say what the draft says"]
        return list(_structure_faults(proposal, sources))
    if not text.strip():
        return ["the text is empty"]
    return [
        *_structure_faults(proposal, sources),
        *find_text_faults(text, sources),
        *find_form_faults(proposal, sources),
        *_value_faults(proposal, sources),
    ]


def find_text_faults(text: str, sources: Sequence[Source]) -> list[str]:
    """Return the faults of any text, as sentences.

    They are facts that are in no source, broken letters, and orders to the reader.
    """
    faults = [fault.why for fault in find_unsupported(text, sources)]
    # What is left of a letter that a model wrote as half a surrogate pair.
    if "\ufffd" in text and not any("\ufffd" in source.text for source in sources):
        faults.append("it has a broken letter, <U+FFFD>")
    if commands(text):
        faults.append("it gives orders to its reader")
    return faults


def find_dropped(proposal: Proposal, sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """Yield the facts that a merge without a new text drops, as (memory id, sentence)."""
    if proposal.keeps_text and proposal.operation == "merge":
        staying = [
            replace(source, observed_at=UNDATED)
            for source in sources
            if source.id not in proposal.leaving
        ]
        for source in sources:
            if source.id in proposal.leaving:
                for fact in find_unsupported(source.text, staying):
                    yield source.id, f'lost: "{fact.words}" ({fact.kind}) is not in the text'


def find_form_faults(proposal: Proposal, sources: Sequence[Source]) -> Iterator[str]:
    """Yield the faults of a draft's form, as sentences; none without a note among its sources.

    A text has only headings, links and fenced code of its sources. It has all links and fenced code
    of the notes that it replaces, unless the model lists them as left out.
    """
    notes = [source for source in sources if source.is_note]
    if not notes:
        return
    text = proposal.draft.text
    written = dict(_parts(text))
    for part, kind in written.items():
        if not any(part in _plain(source.text) for source in sources):
            yield f'"{part}" ({kind}) is in none of the cited memories'
    omitted = _plain(" ".join(left_out.words for left_out in proposal.left_out))
    for note in notes:
        for part, kind in _parts(note.text):
            is_kept = part in written or kind == "heading" or part in omitted
            if note.id in proposal.leaving and not is_kept:
                yield f'the text lacks "{part}" ({kind}) of a memory that it replaces'


def find_hints(proposal: Proposal, sources: Sequence[Source]) -> list[tuple[str, str]]:
    """Return values of sources that a draft lacks, as (memory id, words).

    They are hints for the checking model, not faults: most are other spellings. What the writer
    left out on purpose is not included.
    """
    if proposal.keeps_text:
        return []
    omitted: dict[str, str] = {}
    for left_out in proposal.left_out:
        omitted[left_out.memory] = f"{omitted.get(left_out.memory, '')} {left_out.words}"
    return [
        (hint.source, hint.words)
        for hint in find_missing(proposal.draft.text, sources)
        if hint.words not in omitted.get(hint.source, "")
    ]


def is_shorter(proposal: Proposal, sources: Sequence[Source]) -> bool:
    """Whether a proposal shortens the file: fewer memories or characters, never more."""
    length_of = {source.id: len(source.text) for source in sources}
    lengths = [length_of[memory_id] for memory_id in proposal.leaving]
    if proposal.keeps_text:
        return bool(lengths)
    if proposal.survivor is not None:
        lengths.append(length_of[proposal.survivor])
    written = len(proposal.draft.text)
    if proposal.operation == "extract" and len(lengths) < _MIN_LEAVING:
        return False
    return written < sum(lengths) or (written == sum(lengths) and len(lengths) > 1)


def _structure_faults(proposal: Proposal, sources: Sequence[Source]) -> list[str]:
    faults = []
    if not proposal.by_person and not is_shorter(proposal, sources):
        is_new_rule = proposal.operation == "extract" and proposal.survivor is None
        faults.append(
            "the rule covers fewer than two memories, so it would replace too little"
            if is_new_rule and len(proposal.leaving) < _MIN_LEAVING
            else f"the text has {len(proposal.draft.text)} characters, which is not shorter than "
            "the memories that it replaces"
        )
    is_update = proposal.operation == "update"
    if is_update and not _are_connected(sources):
        faults.append("the memories of an update share no name and do not lie near each other")
    replaces_value = is_update or any(omitted.why == "outdated" for omitted in proposal.left_out)
    undated = [source.id for source in sources if source.observed_at == UNDATED]
    if replaces_value and undated:
        which = "the memories" if len(undated) == len(sources) else " and ".join(undated)
        faults.append(f"{which} have no dates: nothing shows which value is the newer one")
    return faults


def _value_faults(proposal: Proposal, sources: Sequence[Source]) -> Iterator[str]:
    """Yield a fault if most values of the memories that leave are missing from the text.

    An update need not have those that it lists as outdated.
    """
    leaving = [source for source in sources if source.id in proposal.leaving]
    values = {hint.words.lower() for hint in find_missing("", leaving)}
    outdated = " ".join(
        omitted.words
        for omitted in proposal.left_out
        if proposal.operation == "update" and omitted.why == "outdated"
    )
    missing = [
        hint.words
        for hint in find_missing(proposal.draft.text, leaving)
        if hint.words not in outdated
    ]
    if len(missing) > max(_MAX_MISSING, len(values) / 2):
        yield (
            f"the text lacks {len(missing)} of the {len(values)} values of the memories that it "
            f"replaces: {', '.join(missing)}"
        )


def _are_connected(sources: Sequence[Source]) -> bool:
    """Whether common names or near vectors connect all sources."""
    names = [
        {
            specific.words.lower()
            for specific in find_specifics(source.text)
            if specific.kind != "number"
        }
        for source in sources
    ]
    reached = {0}
    pairs = [
        (first, second)
        for first, second in combinations(range(len(sources)), 2)
        if not names[first].isdisjoint(names[second])
        or float(sources[first].vector @ sources[second].vector) >= WIDE_SIMILARITY
    ]
    for _ in sources:
        reached |= {end for pair in pairs if not reached.isdisjoint(pair) for end in pair}
    return len(reached) == len(sources)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the links, headings and fenced blocks of a text, each with its kind."""
    for match in _PART.finditer(text):
        # The last group that took part; within a fence that is its mark.
        yield _plain(match[0]).lstrip("# "), match.lastgroup or ""


def _plain(text: str) -> str:
    return " ".join(text.split())
