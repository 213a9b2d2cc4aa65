"""What only the index and the descriptions of a Claude Code folder say, which no run loses.

A model reads the texts of files. What their lines of the index, or their descriptions, say beyond
these stays in the index, also where the file is merged into another.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from slowwave.consolidation.facts.lookup import has_specifics
from slowwave.consolidation.facts.specifics import find_specifics
from slowwave.consolidation.text.tokens import split_sentences
from slowwave.store.records import content_hash

from .base import Change, Image
from .claude_code_files import File, listed_name, says, states
from .claude_code_index import MAX_HOOK, hook_in, hook_of, index_line, with_hook

# Precedes a sentence with a value that a run has replaced.
_BEFORE = "Before - "


def revised(text: str, old: str, new: str) -> str:
    """Return a line's text or a description for a new text of its file.

    It is unchanged while it is true. old: the texts that the new one replaces.
    """
    if says(new, text):
        return text
    unsaid = _unsaid(text, old, new)
    if unsaid and not _is_outdated(text, old, new):
        return text
    return " ".join([hook_of(new, max(len(text), MAX_HOOK)), *unsaid])


def revised_lines(lines: Iterable[str], name: str, old: str, new: str) -> Iterator[str]:
    """Yield the lines of an index for a new text of a file, none of them twice."""
    own: set[str] = set()
    for line in lines:
        if listed_name(line) == name:
            before = hook_in(line)
            after = revised(before, old, new)
            line = line if after == before else with_hook(line, after)
            if line.strip() in own:
                continue
            own.add(line.strip())
        yield line


def carry(
    change: Change,
    files: Mapping[str, File],
    written: Mapping[str, File],
    gone: Collection[str],
    lines: list[str],
) -> dict[str, list[str]]:
    """Have lines of removed files list their successors if they say more; return these lines.

    They are hashes, by removed memory. files: those before the change, by key; written:
    those after it, by memory; gone: the names of those to remove.
    """
    replaced: dict[str, list[File]] = defaultdict(list)
    for removal in change.removals:
        if removal.successor is not None:
            replaced[removal.successor.memory].append(files[removal.key])
    carried_lines = {}
    for removal in change.removals:
        successor, file = removal.successor, files[removal.key]
        if successor is not None and file.name in gone and not removal.is_forgotten:
            remaining = written.get(successor.memory) or files[successor.key or ""]
            carried = _carry(lines, file, remaining, bodies(replaced[successor.memory]))
            carried_lines[removal.memory] = [content_hash(line.rstrip()) for line in carried]
    return carried_lines


def inherited(change: Change) -> dict[str, list[str]]:
    """Return the carried lines of replaced memories, by memory."""
    gone = [image for successor in change.inheriting for image in successor.replaces.items()]
    return {memory: (image or {}).get("carried", []) for memory, image in gone}


def undone(change: Change) -> set[str]:
    """Return the lines that were carried from memories that are active again."""
    now, images = inherited(change), [new.image or {} for new in change.put]
    before = [pair for image in images for pair in image.get("inherited", {}).items()]
    return {line for memory, lines in before if memory not in now for line in lines}


def without(lines: Iterable[str], carried: Collection[str]) -> list[str]:
    """Return lines without carried ones, which are hashes."""
    return [line for line in lines if content_hash(line.rstrip()) not in carried]


def restore_lines(lines: list[str], images: Sequence[Image], lost: Collection[str]) -> None:
    """Restore the lines of removed files where they were, or below the same line as before.

    lost: the hashes of lines that are not restored.
    """
    names = {image["name"] for image in images}
    carried = {line for image in images for line in image.get("carried", ())}
    lines[:] = without(
        (line for line in lines if listed_name(line) not in names), carried | {*lost}
    )
    own = [(image["place"], image["line"], image["above"]) for image in images if image["line"]]
    again = [(*place, []) for image in images for place in image.get("again", ())]
    for place, line, above in sorted(own + again):
        near = next((line_above for line_above in reversed(above) if line_above in lines), None)
        same = [position for position, line in enumerate(lines, start=1) if line == near]
        # Without any of the lines above it, it is the first.
        position = min(same, key=lambda index: abs(index - place), default=0 if above else place)
        lines[position:position] = without([line], lost)
    # An agent may have added lines below one without a line break.
    if lines and any(image.get("unended") == lines[-1].rstrip("\r\n") for image in images):
        lines[-1] = lines[-1].rstrip("\r\n")


def bodies(files: Sequence[File]) -> str:
    """Return the texts of files as one."""
    return "\n\n".join(file.body for file in files)


def _carry(lines: list[str], gone: File, successor: File, old: str) -> list[str]:
    """Point index lines of a removed file that state more at its successor; return them.

    If the successor is not listed, one line does so in any case. The first also gets what only the
    description states. old: the texts that the successor replaces. What the removed file states,
    too, is left to the checks of these texts.
    """
    own = [line for line in lines if listed_name(line) == successor.name]
    position = lines.index(own[-1]) if own else len(lines[:-1])
    carried: list[str] = []

    def unsaid(text: str, *more: str) -> str:
        if states(gone.body, text):
            return ""
        staying = [successor.content.decode(), *own, *carried, *more]
        return " ".join(_unsaid(text, old, successor.body, staying))

    for place, line in enumerate(lines):
        if listed_name(line) == gone.name:
            position, hook, is_listed = place, hook_in(line), bool(own or carried)
            text = unsaid(hook)
            old_title, stem = _title(line), gone.name.removesuffix(".md")
            # A title that is the name of the removed file would lead nowhere.
            is_name = old_title.removesuffix(".md") == stem
            title = _title(next(iter(own), index_line(successor))) if is_name else old_title
            if text or not is_listed or unsaid(title, re.sub("[-_.]", " ", stem)):
                link = f"[{title}]({successor.name})"
                linked = line.replace(f"[{old_title}]({gone.name})", link, 1)
                new_hook = text if text and is_listed else hook
                if more := unsaid(gone.description, hook):
                    joint = " " if new_hook.endswith(".") else "; "
                    new_hook = more if says(more, new_hook) else f"{new_hook}{joint}{more}"
                lines[place] = linked if new_hook == hook else with_hook(linked, new_hook)
                carried.append(lines[place])
    if text := unsaid(gone.description):
        carried.append(with_hook((carried + own or [index_line(successor)])[0], text))
        lines.insert(position, carried[-1])
    return carried


def _title(line: str) -> str:
    return line.partition("](")[0][len("- [") :]


def _unsaid(text: str, old: str, new: str, staying: Sequence[str] = ()) -> Sequence[str]:
    """Return the sentences of a text that neither the old texts nor the new one say.

    staying: other texts that stay.
    """
    sentences = split_sentences("\n\n".join([old, new, *staying]))
    return [
        f"{_BEFORE}{sentence}" if _is_outdated(sentence, old, new) else sentence
        for sentence in split_sentences(text.replace(_BEFORE, f"\n{_BEFORE}"))
        if not any(says(stated, sentence.removeprefix(_BEFORE)) for stated in sentences)
    ]


def _is_outdated(text: str, old: str, new: str) -> bool:
    """Whether a text has a value that the new text has replaced, and does not mark it as such."""
    return not text.startswith(_BEFORE) and any(
        has_specifics(old, specific.words) and not has_specifics(new, specific.words)
        for specific in find_specifics(text)
        if specific.kind not in ("name", "opening")
    )
