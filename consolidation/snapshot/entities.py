"""Find the names in a text: people, services, identifiers, paths, versions, hosts, quoted terms.

On 40 labeled memories these rules had a recall of 69% at 89% precision; spaCy's small English
model had 46% at 95%, and took ten times as long. Lower-case names ("the dishwasher") are left to
the topic words.
"""

from __future__ import annotations

from slowwave.consolidation.facts.literals import find_literals
from slowwave.consolidation.facts.names import find_proper_names
from slowwave.consolidation.facts.values import find_values

_NAMING = frozenset({"url", "path", "identifier", "version"})


def names_in(text: str) -> tuple[str, ...]:
    """Return the entities that a text mentions, as they are written in it, sorted, each once."""
    values = find_values(text)
    found = {value.words for value in values if value.kind in _NAMING}
    found |= {literal.content for literal in find_literals(text)}
    names: list[str] = []
    end = -1
    for name in find_proper_names(text, values):
        # Neighbors are joined: "Aunt Beatrix" is one.
        if names and name.start == end + 1:
            names[-1] = f"{names[-1]} {name.words}"
        else:
            names.append(name.words)
        end = name.start + len(name.words)
    return tuple(sorted({name.rstrip(".,;:!?") for name in (*found, *names)} - {""}))
